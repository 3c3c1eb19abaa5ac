"""Detects English words that are in no order, as a shuffle or an untrained model leaves them. A
logistic regression judges the pairs of neighbouring words. Words are replaced by classes, so that
the topic does not matter. ``python -m tools.training.word_order`` makes the table of words and
weights (``word_order.tsv``)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from q2_metric.english.lexicon import rows_of

TABLE = "word_order.tsv"
STOP, COMMA, MARK, MARKS = ".", ",", "|", "+"
"""Classes of breaks: the end of a sentence, other pauses, other marks, several in a row."""
NUMBER, AGAIN, LISTED, LETTER, NAME, NEW_NAME, MIXED = "0", "=", "?", "*", "^", "^^", "^a"
"""Classes of words: with a digit, repeated, in a list, of one letter, with a capital (in the table
or not), with a capital inside."""
ENDINGS = ("ing", "ed", "ly", "s", "er", "ion", "al", "y", "")
RUN = "@"
"""Stands before each function word that follows three function words, and likewise for clusters."""
CLIP = 4.0
"""Maximum absolute value of a weight: a single pair of words is then not enough."""
STEP = 0.1
"""The table writes each weight as one character."""
BOUND = 3.4
"""Sentences are in no order if their weights add up to more."""
EACH = 0.05
"""Their mean weight must be above this, too: each row of a long list is a little odd."""
ORDERED = -4.0
"""A sentence below this is in order, whatever the other sentences are."""
LEAST = 8
"""Fewer pairs of neighbouring words than this are always in order."""
LONG_RUN = 3
LONGEST = 1000
"""Characters that are read of a sentence."""
_TOKEN = re.compile(r"[^\W_]+(?:['&/.-][^\W_]+)*|[.!?…]+|[^\w\s]|_")
_NO_WORD = re.compile(r"(?<!\S)\S*(?:://|www\.|@)\S*|(?<!\w)[\"“‘']\w+[\"”’'](?!\w)")
"""An address, or a single word in quotes, as in: the word "the"."""
CONTRACTED = re.compile(r"(?:n't|'(?:s|m|re|ve|ll|d|t))$")
"""The end of "isn't" or "it's"."""
_TWICE = frozenset(("had", "that"))
"""As in "he had had it", "I know that that is so"."""
_CAPITAL_INSIDE = re.compile(r"[^\W\d_A-Z][A-Z]")
_BREAKS = frozenset((STOP, COMMA, MARK, MARKS))
_BREAK_AT = {**dict.fromkeys(".!?…", STOP), **dict.fromkeys(",:;", COMMA)}


def in_order(sentences: Iterable[str]) -> bool:
    """Whether the words of some of the sentences (in their case, with contractions like "it's") are
    in an order that English may have.

    True for a few words and for other languages, because they contain too little evidence. False
    without any sentence.

    >>> in_order(["the 1889 it paris in is opened the in tower and of symbol a paris"])
    False
    >>> in_order(["it is the tower in paris, opened in 1889 and a symbol of paris"])
    True
    """
    table = _table()
    rows: list[list[str]] = []
    weights = 0.0
    for sentence in sentences:
        rows.append(classes(sentence, table.words))
        weight = sum(table.weight(*pair) for pair in pairs(rows[-1]))
        if weight < ORDERED:
            return True
        weights += weight
    size = sum(map(len, rows)) - len(rows)
    odd = weights > max(BOUND, EACH * size)
    return bool(rows) and (size < LEAST or not odd or not is_english(rows))


def is_english(rows: Iterable[Sequence[str]]) -> bool:
    """Whether at least a third of the words are in the table; names and numbers are not."""
    names = [name for row in rows for name in row]
    known = sum(name[0].isalpha() or name[0] == "#" for name in names)
    return known > 0 and 2 * known >= sum(name[0] in "-^0?*" for name in names)


def classes(sentence: str, words: Mapping[str, str]) -> list[str]:
    """The class of each word of a sentence, and of each break between words.

    One to three words between two breaks, as in a list, may be in any order (:data:`LISTED`) unless
    one is a function word. ``words`` has the classes of frequent words in lower case.
    """
    row, before = [STOP], ["", ""]
    for token in _TOKEN.findall(_NO_WORD.sub(" 0 ", sentence[:LONGEST])):
        if not token[0].isalnum():
            name = _BREAK_AT.get(token[0], MARK)
            if row[-1] not in _BREAKS:
                row.append(name)
            elif len(row) > 1 and MARK not in (name, row[-1]):
                row[-1] = MARKS
            elif name == STOP:
                row[-1] = STOP
            continue
        word = token.lower()
        name = _class(token, words, (len(row) > 1 and row[-1] == STOP) or len(row) == 1)
        again = word == before[1] or (word == before[0] and not name[0].isalpha())
        row.append(AGAIN if again and word not in _TWICE and name != NUMBER else name)
        before = [before[1], word]
    ends = [i for i, name in enumerate([*row, STOP]) if name in (*_BREAKS, NUMBER)]
    for start, end in pairwise(ends):
        if 2 <= end - start <= 4 and not any(name[0].isalpha() for name in row[start + 1 : end]):
            row[start + 1 : end] = [LISTED] * (end - start - 1)
    return row if row[-1] in _BREAKS else [*row, STOP]


def _class(word: str, words: Mapping[str, str], first: bool) -> str:
    """``first``: whether the word begins a sentence."""
    plain = word.lower()
    if any(letter.isdigit() for letter in word):
        return NUMBER
    if len(word) == 1 and plain not in words:
        return LISTED if word.isupper() else LETTER
    if _CAPITAL_INSIDE.search(word):
        return MIXED
    if word[0].isupper() and not first and plain[:2] not in ("i", "i'"):
        return NAME if plain in words else NEW_NAME
    if plain in words:
        return words[plain]
    if CONTRACTED.search(plain):
        return "-'"
    return "-" + next(end for end in ENDINGS if plain.endswith(end) and len(plain) > len(end) + 1)


def pairs(row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields neighbouring classes, and ``(RUN, class)`` for each class in a long run."""
    run, kind = 0, ""
    for one, other in pairwise(row):
        yield one, other
        same = "a" if other[0].isalpha() else other[0] if other[0] == "#" else ""
        run, kind = run + 1 if same and same == kind else 1, same
        if run > LONG_RUN and same:
            yield RUN, other


class WordOrderTable(NamedTuple):
    """The class of each frequent word, the column of each class, and for each class the weights of
    the classes after it, one character each."""

    words: Mapping[str, str]
    columns: Mapping[str, int]
    rows: Mapping[str, str]

    def weight(self, one: str, other: str) -> float:
        """Positive weights speak against order."""
        return (ord(self.rows[one][self.columns[other]]) - ord("!")) * STEP - CLIP


@cache
def _table() -> WordOrderTable:
    """A line has a class, its weights and the words of a cluster."""
    lines = rows_of(TABLE)
    words = {word: name for name, _, found in lines for word in found.split()}
    return WordOrderTable(words, {name: i for i, (name, _, _) in enumerate(lines)},
                          {name: weights for name, weights, _ in lines})
