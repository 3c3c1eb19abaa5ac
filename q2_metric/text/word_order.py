"""Detects shuffled English words by how likely each word is after the word before.

A response could consist of the knowledge's words in random order. Such a response would overlap
with the knowledge completely and state nothing. The test is the likelihood ratio of two models of a
text. In the first model, each word depends on the word before, as in English. In the second model,
words are independent of each other, as after a shuffle. Words are replaced by classes, so that the
topic does not matter. A function word is a class of its own. Any other word is represented by its
ending.
``python -m tools.training.word_order`` makes the table of log ratios (``word_order.tsv``).
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from importlib.resources import files
from itertools import pairwise

TABLE = "word_order.tsv"
ENDINGS = ("ing", "ed", "ly", "s", "er", "ion", "al", "y")
BREAK = "|"
"""The class of punctuation, and of the start and the end of a text."""
CLIP = 4.0
"""Maximum absolute value of a log ratio, in nats. A single rare pair of words is then not enough to
call a text shuffled."""
STEP = 0.1
"""Difference between two neighbouring values of log ratios in the table. Each value is written as
one character."""

LEAST = 8
"""A text with fewer pairs of neighbouring words than this never counts as shuffled."""
SUM, MEAN = -6.0, -0.3
"""A text counts as shuffled if the sum of its log ratios is below ``SUM`` and their mean below
``MEAN``, in nats. Lists of names, headlines and other languages have low sums, but means near 0."""

_WORD = re.compile(r"[^\W_]+(?:['&/.-][^\W_]+)*|[.,;:!?…–—]+|-+(?!\w)")
_NO_WORD = re.compile(r"(?<!\S)\S*(?:://|www\.|@)\S*|(?<!\w)[\"“‘']\w+[\"”’'](?!\w)")
"""Matches an address, or a single word in quotes, as in: the word "the"."""
CONTRACTED = re.compile(r"(?:n't|'(?:s|m|re|ve|ll|d|t))$")
"""Matches the end of a contraction: "n't" in "isn't", "'s" in "it's"."""


def in_no_order(text: str) -> bool:
    """Whether the words of an English text are in random order.

    False for short texts, because they contain too little evidence.

    Args:
        text: in lower case, with contractions in one piece ("it's").

    >>> in_no_order("the 1889 it paris in is opened the in tower and of symbol a paris")
    True
    >>> in_no_order("it is the tower in paris, opened in 1889 and a symbol of paris")
    False
    """
    ratios = _ratios(text)
    return len(ratios) >= LEAST and sum(ratios) < SUM and sum(ratios) / len(ratios) < MEAN


def classes(text: str, known: Container[str]) -> list[str | None]:
    """The class of each word of a lower-case text, and of each break between words.

    Each word in ``known`` is a class of its own. Any other word has the class of its ending, such
    as "-ing". A word that may stand anywhere has no class (``None``): a number, a single letter, an
    address, a word in quotes, or a word alone between two breaks, as in a list. Breaks are
    punctuation, and the start and the end of the text.
    """
    row: list[str | None] = [BREAK]
    for word in _WORD.findall(_NO_WORD.sub(" 0 ", text)):
        word_class = _class(word, known)
        if word_class != BREAK or row[-1] != BREAK:
            row.append(word_class)
        if word_class == BREAK and row[-3:-2] == [BREAK]:
            row[-2] = None
    return row if row[-1] == BREAK else [*row, BREAK]


def _class(word: str, known: Container[str]) -> str | None:
    if not word[0].isalnum():
        return BREAK
    if word in known:
        return word
    if len(word) == 1 or any(letter.isdigit() for letter in word):
        return None
    if CONTRACTED.search(word):
        return "-'"
    return "-" + next((end for end in ENDINGS if word.endswith(end) and len(word) > len(end) + 1),
                      "")


def _ratios(text: str) -> list[float]:
    """For each pair of neighbouring words, log P(second | first) - log P(second).

    P is the probability of a word's class in English. The class of a function word is the word
    itself; the class of another word is its ending (:func:`classes`). Pairs in which a word has no
    class are left out. A number is negative if the second class is less likely after the first
    class than elsewhere.
    """
    table = _table()
    return [table[one][other] for one, other in pairwise(classes(text, table))
            if one is not None and other is not None]


@cache
def _table() -> dict[str, dict[str, float]]:
    """For each pair of word classes, log P(second | first) - log P(second), clipped to ±``CLIP``.

    The outer key is the class of the first word, the inner key that of the word after it.
    """
    text = files(__package__).joinpath(TABLE).read_text(encoding="ascii")
    rows = [line.split("\t") for line in text.splitlines()]
    names = [name for name, _ in rows]
    return {name: dict(zip(names, map(_number, numbers), strict=True)) for name, numbers in rows}


def letter(number: float) -> str:
    """The character with which the table writes a log ratio."""
    return chr(round((max(-CLIP, min(CLIP, number)) + CLIP) / STEP) + ord("!"))


def _number(written: str) -> float:
    return (ord(written) - ord("!")) * STEP - CLIP
