"""Finds numbers in digits, and with text2num in words."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from q2_metric.english.values.value import Value

_GROUP = r"[,\u00a0\u202f\u2009' ]"
DIGITS = re.compile(
    rf"(?<![\w.])(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:\.\d+)?|\d{{1,3}}(?:\.\d{{3}}){{2,}}"
    r"|\d+(?:\.\d+)?|\.\d+)(?![\d])")
"""As in "1,250", "1 250", "1.250.000", "3.5"."""
MAGNITUDES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
              "lakh": 1e5, "crore": 1e7, "dozen": 12, "mn": 1e6, "mln": 1e6, "bn": 1e9,
              "tn": 1e12, "mio": 1e6, "k": 1e3, "m": 1e6, "b": 1e9}
_MAGNITUDE = re.compile(r"(?:-|[ \u00a0]{0,8})(hundred|thousand|million|billion|trillion|lakh"
                        r"|crore|dozen|mn|mln|mio|bn|tn|k)\b|(?<=\d)(?-i:([MB]))\b", re.IGNORECASE)
"""A letter, as in "7B", only behind a digit: "3 M" may be metres."""
MOST_MAGNITUDES = 4
"""Of words such as "million" in one number."""
_HALF = re.compile(r"[ -]and[ -]a[ -](half|quarter)\b|[ \u00a0]?([½¼¾⅓⅔])", re.IGNORECASE)
_SCALED = re.compile(r"\b(?:(half|quarter)[ -])?an?[ -](hundred|thousand|million|billion|trillion"
                     r"|dozen)\b", re.IGNORECASE)
SMALL_NUMBERS = {word: number for number, word in enumerate(
    "one two three four five six seven eight nine ten eleven twelve".split(), 1)}
_TOKEN = re.compile(r"[A-Za-z]+|[^\sA-Za-z]")
_ORDINAL = re.compile(r"(?<![\w.])(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_MANY = frozenset({"dozens", "hundreds", "thousands", "millions", "billions"})
"""Without a number before them, they have no exact value."""
_PRONOUN = frozenset({"the", "no", "this", "that", "each", "every", "any", "some", "which",
                      "another", "only", "anyone", "everyone", "a"})
_NUMBER_WORD = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen(?:th)?"
    r"|twent(?:y|ieth)|thirt(?:y|ieth)|fort(?:y|ieth)|fift(?:y|ieth)|sixt(?:y|ieth)"
    r"|sevent(?:y|ieth)|eight(?:y|ieth)|ninet(?:y|ieth)|hundred(?:th)?s?|thousand(?:th)?s?"
    r"|million(?:th)?s?|billion|trillion|first|second|third|fourth|fifth|sixth|seventh|eighth"
    r"|ninth|tenth|eleventh|twelfth|dozens?)\b", re.IGNORECASE)


class Number(NamedTuple):
    """``step`` is the size of the last written digit: 100,000 for "2.1 million". ``ordinal`` is
    true for "13th", and ``worded`` for a number in words."""

    value: float
    start: int
    end: int
    step: float = 1.0
    ordinal: bool = False
    worded: bool = False


Found = TypeVar("Found", Number, Value)


class _NumberToken(str):
    """The protocol that text2num requires."""

    def text(self) -> str:
        return str(self)

    def nt_separated(self, previous: object) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return False


@functools.lru_cache(maxsize=64)
def numbers_in(text: str) -> tuple[Number, ...]:
    """In order. A magnitude such as "million" is part of its number.

    >>> [n.value for n in numbers_in("Twenty-five of 1.25 million, half a dozen, the 13th")]
    [25.0, 1250000.0, 6.0, 13.0]
    """
    return tuple(apart(text, (_scaled, _ordinals, _in_digits, _in_words)))


def apart(text: str, makers: Iterable[Callable[[str], Iterator[Found]]]) -> list[Found]:
    """What the makers find, in order and without overlaps: an earlier find keeps its place."""
    found: list[Found] = []
    taken = [False] * (len(text) + 1)
    for make in makers:
        for one in make(text):
            if not any(taken[one.start : one.end]):
                found.append(one)
                taken[one.start : one.end] = [True] * (one.end - one.start)
    return sorted(found, key=lambda one: one.start)


def _scaled(text: str) -> Iterator[Number]:
    """As in "a dozen", "half a million", "a hundred"."""
    for match in _SCALED.finditer(text):
        if _NUMBER_WORD.match(text, match.end() + 1) or _MAGNITUDE.match(text, match.end()):
            continue  # "a hundred and five": text2num reads this from "hundred" on
        part = {"half": 0.5, "quarter": 0.25}.get((match[1] or "").lower(), 1.0)
        value = part * MAGNITUDES[match[2].lower()]
        yield Number(value, match.start(), match.end(), value, worded=True)


def _ordinals(text: str) -> Iterator[Number]:
    for match in _ORDINAL.finditer(text):
        yield Number(float(match[1]), *match.span(), ordinal=True)


def _in_digits(text: str) -> Iterator[Number]:
    for match in DIGITS.finditer(text):
        plain = re.sub(r"[^\d.]", "", match[0])
        plain = plain if plain.count(".") < 2 else plain.replace(".", "")
        value, step = float(plain), 10.0 ** -len(plain.partition(".")[2])
        value, step, end = _times_magnitude(text, value, step, match.end())
        yield Number(value, match.start(), end, step)


def _times_magnitude(text: str, value: float, step: float, end: int) -> tuple[float, float, int]:
    """Value, step and end of a number with "million" or "and a half" after it."""
    if half := _HALF.match(text, end):
        part = {"half": 0.5, "½": 0.5, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}.get(
            (half[1] or half[2]).lower(), 0.25)
        value, step, end = value + part, part, half.end()
    for _ in range(MOST_MAGNITUDES):
        magnitude = _MAGNITUDE.match(text, end)
        if magnitude is None:
            break
        factor = MAGNITUDES[(magnitude[1] or magnitude[2]).lower()]
        value, step, end = value * factor, step * factor, magnitude.end()
    return value, step, end


def _in_words(text: str) -> Iterator[Number]:
    if not _NUMBER_WORD.search(text):
        return
    from text_to_num import find_numbers

    tokens = list(_TOKEN.finditer(text))
    for one in find_numbers([_NumberToken(token[0]) for token in tokens], "en", 0.0):
        first, last = tokens[one.start], tokens[one.end - 1]
        words = text[first.start() : last.end()].lower()
        before = tokens[one.start - 1][0].lower() if one.start else ""
        after = tokens[one.end][0].lower() if one.end < len(tokens) else ""
        if (any(map(str.isdigit, words)) or words in _MANY
                or (words == "second" and before in ("a", "per", "each", "every"))
                or (words == "one" and (before in _PRONOUN
                                        or after in ("of", "another", "'", "’")))):
            continue
        value, end = float(one.value), last.end()
        if not one.is_ordinal:
            value, _, end = _times_magnitude(text, value, 1.0, end)
        yield Number(value, first.start(), end, 1.0, one.is_ordinal, worded=True)
