"""Finds dates and times of day. A date is a range of days, so that "July 1968" contains "7 July
1968". Days are numbered as by :meth:`datetime.date.toordinal`."""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

from q2_metric.english.values.value import Value
from q2_metric.english.values.words import SMALL_NUMBERS

_MONTH = (r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
          r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?")
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d{3}|20\d\d)"
_WRITTEN = re.compile(
    rf"\b(?:(?:the )?{_DAY}(?: day)?(?: of)?[ -]{_MONTH}(?:,?[ -]{_YEAR}\b)?"
    rf"|{_MONTH}[ -](?:the )?{_DAY}\b(?:,? ?{_YEAR}\b)?(?![:\d])|{_MONTH},?(?: of)?[ -]{_YEAR}\b)",
    re.IGNORECASE)
_TO = r" ?(?:-|–|—|to|until|till|through|and) ?(?:the )?"
_SPAN = re.compile(
    rf"\b(?:the )?({_DAY}){_TO}({_DAY})(?: of)?[ -]({_MONTH})(?:,?[ -]({_YEAR})\b)?"
    rf"|\b({_MONTH}) (?:the )?({_DAY}){_TO}({_DAY})\b(?:,? ({_YEAR})\b)?(?![:\d])", re.IGNORECASE)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_FIGURES = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\d/-])")
_DECADE = re.compile(r"\b(?:the )?(?:(1\d{2}|20\d)|['’]?(\d))0['’]?s\b", re.IGNORECASE)
_CENTURY = re.compile(r"[ -]centur(?:y|ies)\b(?: (bce?))?", re.IGNORECASE)
_ERA = re.compile(r"\b(\d{1,4}) ?(b\.?c\.?(?:e\.?)?)(?!\w)", re.IGNORECASE)
_BARE_YEAR = re.compile(rf"(?<![\w.,£$€-])({_YEAR})(?![\w%]|[.,:]\d|-\d)")
_YEARLESS = -1_000_000
"""Days without a year are numbered from here, so that they equal no day with a year."""
_FULL = range(1, 9999)
"""The years that Python's calendar covers."""
_CLOCK = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-4])(?:(?::|h)([0-5]\d)(?::[0-5]\d)?)?"
    r"(?:[ \u00a0]{0,7}([ap])\.?m\b(?:\.(?= [a-z]))?)?(?![\d:]|[.,]\d)", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(?<![\d:.])\b(?:(half|(?:a )?quarter) (past|to)|(five|ten|twenty(?:-five)?) (past)"
    r"|(five|ten|twenty(?:-five)?|\d{1,2}) minutes (past|to|after|before)) "
    r"(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9])\b"
    r"(?![:\d])(?:[ \u00a0]([ap])\.?m\b(?:\.(?= [a-z]))?)?", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:at |until |till |from |by )?(noon|midday|midnight)\b", re.IGNORECASE)
_OCLOCK = re.compile(r"\b(?:(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
                     r"(?: o['’]clock| ([ap])\.?m\b(?:\.(?= [a-z]))?)|(1?\d) ?o['’]clock)",
                     re.IGNORECASE)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)
_WEEK = re.compile(
    r"\b(mon|tue|wed|thu|fri|sat|sun)(?:[a-z]{0,5}days?|s|r|rs|nes)?\b\.? ?(?:-|–|—|to|through|till"
    r"|until)(?: and including)? ?(mon|tue|wed|thu|fri|sat|sun)(?:[a-z]{0,5}days?|s|r|rs|nes)?\b",
    re.IGNORECASE)
_NAMED_DAYS = re.compile(r"\b(?:(weekdays)|(weekends?)|(?:every day(?: of the week)?"
                         r"|(?:seven|7) days a week))\b", re.IGNORECASE)
_SPOKEN_NUMBERS = SMALL_NUMBERS | {
    "half": 30, "quarter": 15, "a quarter": 15, "twenty": 20, "twenty-five": 25}
NOON = 720


def dates_in(text: str) -> Iterator[Value]:
    """Yields days, months, decades and years before our era; not plain years or centuries."""
    for match in _ISO.finditer(text):
        yield from _days(match, [_day(int(match[1]), int(match[2]), int(match[3]))])
    for match in _FIGURES.finditer(text):
        one, two, year = int(match[1]), int(match[3]), int(match[4])
        yield from _days(match, [_day(year, two, one), _day(year, one, two)])
    for match in _SPAN.finditer(text):
        month, years = match[3] or match[5], match[4] or match[8] or ""
        ends = [list(_in_words(f"{day} {month} {years}", match))
                for day in (match[1] or match[6], match[2] or match[7])]
        if all(ends) and ends[0][0].low < ends[1][0].low:
            yield replace(ends[0][0], high=ends[1][0].high)
    for match in _WRITTEN.finditer(text):
        yield from _in_words(match[0], match)
    for match in _DECADE.finditer(text):
        if match[1] or match[2] in "23456789":
            first = int(match[1] or f"19{match[2]}") * 10
            yield _years(*match.span(), first, first + 9)
    for match in _ERA.finditer(text):
        yield _years(*match.span(), -int(match[1]), -int(match[1]))


def year(text: str, start: int, end: int) -> Value | None:
    """The year that is written from ``start`` to exactly ``end``."""
    match = _BARE_YEAR.match(text, start)
    if match is None or match.end() != end:
        return None
    return replace(_years(start, end, int(match[1]), int(match[1])), unit="year")


def century(text: str, start: int, end: int, number: float) -> Value | None:
    """The century of a ``number`` that ends at ``end``, if the word "century" follows."""
    match = _CENTURY.match(text, end)
    if match is None or not 1 <= number <= 21:
        return None
    last = int(number) * 100
    if match[1]:
        return _years(start, match.end(), -last, -last + 99)
    # Usage differs for the last year of a century: 1300 can belong to the 13th and to the 14th.
    low = float(date(last - 99, 1, 1).toordinal())
    high = float(date(last - 1, 12, 31).toordinal())
    return Value("date", low, high, start, match.end(), unit="century",
                 near=(low - 366, high + 366))


def _years(start: int, end: int, first: int, last: int) -> Value:
    """Outside Python's calendar, each year is taken to have 365.25 days."""
    low = float(date(first, 1, 1).toordinal()) if first in _FULL else first * 365.25
    high = float(date(last, 12, 31).toordinal()) if last in _FULL else last * 365.25 + 365
    return Value("date", low, high, start, end)


def _days(match: re.Match[str], readings: Sequence[float | None]) -> Iterator[Value]:
    """The date "04/03/2021" can be in March or in April. It gets both days as its wider range."""
    days = [day for day in readings if day is not None]
    if "/" not in match[0]:  # 4.3.2021 has the day first
        days = days[:1]
    if days:
        near = None if days[0] == days[-1] else (min(days), max(days))
        yield Value("date", days[0], days[0], *match.span(), near=near)


def _day(year: int, month: int, day: int) -> float | None:
    try:
        return float(date(year, month, day).toordinal())
    except ValueError:
        return None


def _in_words(written: str, match: re.Match[str]) -> Iterator[Value]:
    from dateutil import parser

    plain = re.sub(r"\b(?:the|of|day)\b|(?<=\d)(?:st|nd|rd|th)\b", " ", written.lower())
    try:
        readings = [parser.parse(plain, default=datetime(*given))
                    for given in ((2000, 1, 1), (2004, 1, 2))]
    except (ValueError, OverflowError):
        return
    one, two = readings
    last = one if one.day == two.day else one.replace(day=monthrange(one.year, one.month)[1])
    found = Value("date", float(one.toordinal()), float(last.toordinal()), *match.span())
    yield found if one.year == two.year else yearless(found)


def plain_year(value: Value) -> Value:
    """The year as a number, such as 1200."""
    number = float(date.fromordinal(int(value.low)).year)
    return replace(value, kind="number", low=number, high=number, unit="", near=None)


def yearless(value: Value) -> Value:
    """As in "4 May 2021" → "4 May"."""
    if value.unit == "yearless":
        return value
    days = [date.fromordinal(max(1, int(place))) for place in (value.low, value.high)]
    low, high = (float(_YEARLESS + day.month * 31 + day.day) for day in days)
    return replace(value, low=low, high=high, unit="yearless")


def weekdays_in(text: str) -> Iterator[Value]:
    """Yields the days of the week and ranges of them. Monday is 0."""
    for match in _WEEK.finditer(text):
        first, last = map(_weekday, match.groups())
        yield _of_week(match, first, last if first <= last else last + 7)
    for match in _NAMED_DAYS.finditer(text):
        yield _of_week(match, 5 if match[2] else 0, 4 if match[1] else 6)
    for match in _WEEKDAY.finditer(text):
        yield _of_week(match, _weekday(match[1]), _weekday(match[1]))


def _weekday(name: str) -> int:
    return _DAYS.index(name[:3].lower())


def _of_week(match: re.Match[str], first: int, last: int) -> Value:
    return Value("weekday", float(first), float(last), *match.span())


def clocks_in(text: str) -> Iterator[Value]:
    """Yields the times of day, in minutes after midnight."""
    for match in _SPOKEN.finditer(text):
        aside, way = (group.lower() for group in match.groups()[:-2] if group)
        past = _number(aside) if way in ("past", "after") else -_number(aside)
        yield _clock(match, (_number(match[7]) * 60 + past) % 1440, match[8])
    for match in _OCLOCK.finditer(text):
        yield _clock(match, _number(match[1] or match[3]) * 60, match[2])
    for match in _CLOCK.finditer(text):
        if match[2] is None and match[3] is None:
            continue
        hour, half = int(match[1]), match[3]
        if half is None and (hour > 12 or match[1][0] == "0"):
            half = "p" if 12 < hour < 24 else "a"
        elif hour > 12:
            continue
        yield _clock(match, hour * 60 + int(match[2] or 0), half)
    for match in _NAMED.finditer(text):
        place = 0.0 if match[1].lower() == "midnight" else float(NOON)
        yield Value("clock", place, place, *match.span(1))


def _number(word: str) -> int:
    return _SPOKEN_NUMBERS.get(word.lower()) or int(word)


def _clock(match: re.Match[str], minutes: int, half: str | None) -> Value:
    if half:
        minutes = minutes % NOON + (NOON if half.lower() == "p" else 0)
    return Value("clock", float(minutes), float(minutes), *match.span(), folded=half is None)
