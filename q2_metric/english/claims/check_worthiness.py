"""Tells sentences that state something from refusals ("The minutes don't say."), chat and
announcements ("Here is what I found:"). A logistic regression over word n-grams does it;
``python -m tools.training.check_worthiness`` makes its table (``check_worthiness.tsv``)."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from q2_metric.english.lexicon import rows_of

TABLE = "check_worthiness.tsv"
LONGEST = 3
"""Number of words in the longest n-gram."""
BIAS, CAPITAL, DENIAL, NUMBER, UNKNOWN, WORD = (
    "#bias", "#capital", "#denial", "#number", "#unknown", "#word")
"""Features that count: 1, capitals inside the sentence, words that deny or regret, numbers, words
that are not in the table, and all words."""
MOST = {CAPITAL: 4, DENIAL: 1, NUMBER: 3, UNKNOWN: 8, WORD: 40}
"""A sentence counts as having at most so many of each."""
BOUND = 1.2
"""A text says nothing if its weights add up to more."""
PIECE = 0.5
"""And each of its pieces must be above this: "I don't know dogs, but cats sleep" says something."""
LEAST = 3
"""Pieces with fewer words are not judged alone."""
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d[\d.,:]*|[?!:;,.—–-]")
_DENIAL = re.compile(
    r"\b(?:not|no|nothing|none|nor|neither|never|cannot|unable|without|unfortunately|afraid|sorry"
    r"|unclear|unknown|unanswerable|insufficient|silent|lacks?)\b|n't\b", re.I)
_CUT = re.compile(r"(?:[,;:]|\s[–—-])\s+(?=\S)"
                  r"|\s(?=(?:but|because|although|though|however|except|that|and|so)\b)")


def says_nothing(text: str, table: Mapping[str, float] | None = None) -> bool:
    """Whether a text states nothing that could be checked. In doubt, it states something.

    ``text`` has its own case, and contractions like "it's". ``table`` has the weights of the
    n-grams, by default those of the package.

    >>> says_nothing("I'm afraid the minutes don't give her name.")
    True
    >>> says_nothing("The tower was built in 1889.")
    False
    """
    table = table or shipped()
    if weight(text, table) <= BOUND:
        return False
    cut = _CUT.split(text)
    pieces = [piece for piece in cut if len(piece.split()) >= LEAST]
    alone = pieces == cut[:1]  # only a short ending was cut off
    return alone or all(weight(piece, table) > PIECE for piece in pieces)


def weight(text: str, table: Mapping[str, float]) -> float:
    """The logit of "says nothing"."""
    return sum(table.get(name, 0.0) * value for name, value in features(text, table).items())


def features(text: str, known: Mapping[str, float]) -> dict[str, float]:
    """The n-grams of a text, and what it has of each count in :data:`MOST`, in [0, 1].

    ``known`` has the known words among its keys.
    """
    tokens = _TOKEN.findall(text)
    words = ["0" if token[0].isdigit() else token.lower() for token in tokens]
    row = ["^", *words, "$"]
    found = dict.fromkeys(grams(row), 1.0)
    counts = {
        CAPITAL: sum(token[0].isupper() and token != "I" and token[:2] != "I'"
                     for token in tokens[1:]),
        DENIAL: len(_DENIAL.findall(text)),
        NUMBER: words.count("0"),
        UNKNOWN: sum(word[0].isalpha() and word not in known for word in words),
        WORD: len(words)}
    return found | {BIAS: 1.0} | {
        name: min(count, MOST[name]) / MOST[name] for name, count in counts.items()}


def grams(row: list[str]) -> Iterator[str]:
    for size in range(1, LONGEST + 1):
        for at in range(len(row) - size + 1):
            yield " ".join(row[at : at + size])


@cache
def shipped() -> dict[str, float]:
    """A line has a weight and the n-grams that have it."""
    return {gram: float(weight) for weight, *found in rows_of(TABLE) for gram in found}
