"""Finds the values in a text."""

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

from q2_metric.english.lexicon import MONTHS
from q2_metric.english.values.times import century, clocks_in, dates_in, weekdays_in, year
from q2_metric.english.values.units import UNITS, currency_around, unit_after
from q2_metric.english.values.value import Value
from q2_metric.english.values.words import SMALL_NUMBERS, Number, apart, numbers_in

_CODE = re.compile(
    r"\+\d[\d ()/-]{6,}\d|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\bv?\d+\.\d+\.\d+\b"
    r"|\b\d+(?:[ -]\d+){3,}\b|\b\d+(?:\.\d+)?(?:\^|e)[+-]?\d+\b"
    r"|\b(?=\w*\d)(?=\w*[A-Z])[A-Z\d]{5,}\b")
"""Telephone numbers, network addresses, versions and powers ("10^6") are not read as amounts."""
_PERCENT = re.compile(r"[ \u00a0]{0,8}(?:%|(?:percent(?:age points?)?|per cent|pct)\b)",
                      re.IGNORECASE)
_OUT_OF = re.compile(r" (?:out of(?: every)?|in(?: every)?) $", re.IGNORECASE)
_FRACTIONS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5,
              "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100}
_FRACTION = re.compile(
    r"\b(one|a|two|three|four|five|six|seven|eight|nine)[ -]"
    r"(half|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|hundredth)(s?)\b"
    r"(?! (?:past|to|after|place|time|century|day|year|floor|man|party"
    rf"|of (?:{MONTHS}))\b)(?:( of)\b)?",
    re.IGNORECASE)
_NOUN = re.compile(r"[ -]\w")
_HALF = re.compile(r"(?<!first )(?<!second )(?<!other )(?<!-)\bhalf\b"
                   r"(?![- ](?:past|an?|hour|dozen|million|way|time|brother|sister|marathon|\d))",
                   re.IGNORECASE)
_A_TIME = re.compile(
    r"(?:^|(?<=for )|(?<=in )|(?<=within )|(?<=after )|(?<=about )|(?<=than )|(?<=takes )"
    r"|(?<=took )|(?<=lasts )|(?<=lasted )|(?<=almost )|(?<=nearly )|(?<=over )|(?<=by )"
    r"|(?=half an))(half )?an? (second|minute|hour|day|week|month|year|decade|century)"
    r"\b( and a half)?(?! (?:later|ago|before|after))", re.IGNORECASE)
_SLASHED = re.compile(r"(?<![\d/.-])([1-9])/([2-9]|10)(?![\d/])")
_SIGNS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅕": 0.2}
_ABOUT = re.compile(r"\b(?:about|around|approximately|approx\.?|roughly|circa|c\.|ca\.?|some|nearly"
                    r"|almost|close to|just under|just over|a little over|a little under"
                    r"|slightly (?:over|under|more than|less than)|an estimated|estimated"
                    r"|in the region of)[ ]?$|[~≈][ ]?$", re.IGNORECASE)
_MORE = re.compile(r"(?:\b(?:over|more than|greater than|above|upwards of|in excess of|exceeding"
                   r"|at least|no fewer than|no less than|a minimum of|as many as)|[>≥])[ ]?$",
                   re.IGNORECASE)
_LESS = re.compile(r"(?:\b(?:under|less than|fewer than|below|at most|up to|no more than"
                   r"|a maximum of)|[<≤])[ ]?$", re.IGNORECASE)
_BELOW = re.compile(r"almost|nearly|under|less|close", re.IGNORECASE)
_ABOVE = re.compile(r"just over|little over|slightly (?:over|more)", re.IGNORECASE)
_OR_MORE = re.compile(r" or (more|over|above|less|fewer|under|below)\b|\+(?!\w)", re.IGNORECASE)
_SIGN = re.compile(r"(?:((?<![\w\d])[-−–]|\b(?:minus|negative)[ ])|\bplus[ ])$", re.IGNORECASE)
_TO = re.compile(r"[ ]?(?:-|–|—|to|until|till|through|and)[ ]?", re.IGNORECASE)
ALLOWED = 0.1
"""With this share, "about 300" allows 270 to 330."""


@functools.lru_cache(maxsize=4096)
def values_in(text: str) -> tuple[Value, ...]:
    """The values in a text, in order and without overlaps.

    >>> [(v.kind, v.low) for v in values_in("About 3 km for €2.5 million, half of it at 8 pm")]
    [('quantity', 3000.0), ('money', 2500000.0), ('share', 0.5), ('clock', 1200.0)]
    """
    if not any(map(str.isdigit, text)) and not _WORDED.search(text):
        return ()
    found = apart(text, (_codes, weekdays_in, _durations, _shares, clocks_in, dates_in, _numbers))
    return tuple(_hedged(text, value) for value in _ranges(text, found))


_WORDED = re.compile(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)|weekday|weekend|every day"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|twent|thirt|fort|fift"
    r"|an? (?:hour|day|week|month|year|decade|century|minute)|dozen|hundred|thousand|illion"
    r"|first|second|third|half|quarter|noon|midday|midnight|ninth|tenth|twelfth|[½¼¾⅓⅔⅕]",
    re.IGNORECASE)
"""Parts of words that occur in every value without digits."""


def _codes(text: str) -> Iterator[Value]:
    for match in _CODE.finditer(text):
        digits = re.sub(r"[^\w]", "", match[0]).lower()
        yield Value("code", 0.0, 0.0, *match.span(), unit=digits)


def _shares(text: str) -> Iterator[Value]:
    """As in "half of", "two thirds", "3/4", "two out of five"."""
    for match in _FRACTION.finditer(text):
        count, parts = SMALL_NUMBERS.get(match[1].lower(), 1), _FRACTIONS[match[2].lower()]
        adjective = match[1].lower() == "a" and not (match[3] or match[4]) and _NOUN.match(
            text, match.end())  # "a third attempt"
        if adjective or (match[3] == "s") != (count > 1):
            continue
        end = match.end() - len(match[4] or "")
        yield _share(count / parts, match.start(), end)
    for match in _HALF.finditer(text):
        yield _share(0.5, *match.span())
    for match in _SLASHED.finditer(text):
        if int(match[1]) < int(match[2]):
            yield _share(int(match[1]) / int(match[2]), *match.span())
    for place, character in enumerate(text):
        if character in _SIGNS and not text[max(0, place - 2) : place].strip().isdigit():
            yield _share(_SIGNS[character], place, place + 1)
    whole: Number | None = None
    for number in numbers_in(text):
        if whole and _OUT_OF.fullmatch(text[whole.end : number.start]):
            between, share = text[whole.end : number.start], whole.value / (number.value or 1)
            # "one in five" is a share, "two in 2010" is not.
            if share < 1 and ("out" in between or number.value <= 100):
                yield _share(share, whole.start, number.end)
        whole = None if number.ordinal else number


def _share(share: float, start: int, end: int, step: float = 0.01) -> Value:
    return Value("share", share, share, start, end, step=step)


def _numbers(text: str) -> Iterator[Value]:
    for number in numbers_in(text):
        value, start, end = number.value, number.start, number.end
        if not number.ordinal:
            value, start = _signed(text, value, start)
        if number.ordinal or (
                number.worded and century(text, number.start, number.end, number.value)):
            yield century(text, start, end, value) or Value("ordinal", value, value, start, end)
        elif percent := _PERCENT.match(text, end):
            yield _share(value / 100, start, percent.end(), number.step / 100)
        elif money := currency_around(text, start, end):
            currency, start, end, times = money
            value, start = _signed(text, value, start)
            yield Value("money", value * times, value * times, start, end, currency,
                        step=number.step * times)
        elif measured := unit_after(text, end):
            unit, end = measured
            base = unit.in_base(value)  # a difference has no shift, unlike a temperature
            yield Value("quantity", base, base, start, end, unit.dimension,
                        step=abs(number.step * unit.factor))
        else:
            yield year(text, start, end) or Value(
                "number", value, value, start, end, step=number.step)


def _signed(text: str, value: float, start: int) -> tuple[float, int]:
    """The value with the sign before it, and where the sign starts."""
    sign = _SIGN.search(text[max(0, start - 10) : start])
    return (-value if sign[1] else value, start - len(sign[0])) if sign else (value, start)


def _durations(text: str) -> Iterator[Value]:
    """As in "half an hour", "a decade"."""
    for match in _A_TIME.finditer(text):
        unit = UNITS[match[2].lower()]
        base = unit.in_base((0.5 if match[1] else 1.0) + (0.5 if match[3] else 0.0))
        yield Value("quantity", base, base, *match.span(), unit.dimension, step=base)


def _ranges(text: str, values: list[Value]) -> list[Value]:
    """As in "9 to 12", which becomes one value."""
    found: list[Value] = []
    for value in values:
        if found and (joined := _joined(text, found[-1], value)):
            found[-1] = joined
        else:
            found.append(value)
    return found


def _joined(text: str, one: Value, other: Value) -> Value | None:
    """As in "between 5 and 7"."""
    between = text[one.end : other.start]
    if not _TO.fullmatch(between) or one.low != one.high:
        return None
    if one.kind == "number" and other.kind == "share":
        one = replace(one, kind="share", low=one.low / 100, high=one.high / 100)
    if (one.high > other.low and other.kind != "quantity") or other.kind not in (
            "number", "money", "quantity", "share", "clock"):
        return None
    before = text[max(0, one.start - 9) : one.start].lower()
    if "and" in between and not before.endswith("between "):
        return None
    if one.kind == "number" and other.kind == "quantity":
        return None if before.endswith("from ") else _measured(text, one, other)
    if "to" in between and one.kind == "number" and not before.endswith(
            ("from ", "between ", "for ", "of ", "takes ")) and before.strip():
        return None  # "lost 3 to 1", "fell 5 to 20"
    if (one.kind, one.unit) == (other.kind, other.unit) or (
            one.kind == "number" and other.kind == "money"):
        return replace(other, low=one.low, start=one.start, folded=one.folded or other.folded)
    return None


def _measured(text: str, one: Value, other: Value) -> Value | None:
    """As in "2 to 4 days"."""
    number = next(iter(numbers_in(text[other.start : other.end])), None)
    if number is None or not number.step:
        return None
    factor = other.step / number.step
    low = other.low + (one.low - number.value) * factor
    return replace(other, low=low, start=one.start) if low < other.low else None


def _hedged(text: str, value: Value) -> Value:
    """Words such as "about" or "at least" widen the range."""
    if value.kind in ("code", "ordinal") or value.near:
        return value
    before = text[max(0, value.start - 24) : value.start]
    after = _OR_MORE.match(text, value.end)
    more = bool(_MORE.search(before)) or (
        after is not None and (after[1] or "more").lower() in ("more", "over", "above"))
    less = bool(_LESS.search(before)) or (after is not None and not more)
    about = _ABOUT.search(before)
    if value.kind in ("date", "clock"):
        if not about:
            return value
        aside = 15.0 if value.kind == "clock" else 1100.0
        return replace(value, near=(value.low - aside, value.high + aside))
    if about:
        reach = ALLOWED * max(abs(value.low), abs(value.high))
        below = 0.0 if _ABOVE.search(about[0]) else reach
        above = 0.0 if _BELOW.search(about[0]) else reach
        return replace(value, near=(value.low - below, value.high + above))
    if more or less:
        return replace(value, near=(value.low, math.inf) if more else (-math.inf, value.high))
    return value


def without_values(text: str) -> str:
    for value in reversed(values_in(text)):
        text = text[: value.start] + " " + text[value.end :]
    return text
