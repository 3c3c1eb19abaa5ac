"""Finds the unit or currency of a number, and converts quantities to a base unit."""

from __future__ import annotations

import re
from typing import NamedTuple

from q2_metric.english.lexicon import STORED
from q2_metric.english.values.words import MAGNITUDES
from q2_metric.text.normalise import words


class Unit(NamedTuple):
    """A value v in this unit is v * factor + shift in the base unit of its dimension.

    >>> UNITS["km"].in_base(3)
    3000.0
    """

    dimension: str
    factor: float
    shift: float = 0.0

    def in_base(self, value: float) -> float:
        return value * self.factor + self.shift


def _unit(measure: str) -> Unit:
    dimension, *numbers = measure.split()
    return Unit(dimension, *map(float, numbers))


UNITS = {name: _unit(measure) for measure, names in STORED["units"].items()
         for name in names.split()}
"""By all spellings of their names."""
UNITS |= {f"{name}s": unit for name, unit in list(UNITS.items()) if len(name) > 3}
_POWERS = {"square": 2, "sq": 2, "cubic": 3}
_LETTERS = words("m g l h s ha min")
"""They are units only in lower case: "3 m" is a length, "3 M" is not."""
_UNIT = re.compile(
    r"(?:-|[ \u00a0\u202f]{0,8})(?:(square|sq|cubic)\.?[ -])?(?:(?:degrees?|deg)[ ])?"
    r"(°[ ]?[CF]\b|[℃℉]|km/h|m/s|k?m[²³]|k?m[23]\b|[A-Za-zµ\u03bc]+)", re.IGNORECASE)
CURRENCIES = {name: code.upper() for code, names in STORED["currencies"].items()
              for name in names.split()}
CURRENCIES |= {f"{name}s": code for name, code in list(CURRENCIES.items()) if len(name) > 3}
_SIGN = re.compile(r"(?:\b(?:US|C|A|R)\$|[$€£¥₹₩₽₺₪]|\b(?:USD|EUR|GBP|JPY|CHF|NOK|SEK|DKK|INR|CNY"
                   r"|CAD|AUD|PLN))[ \u00a0]?$")
_AFTER = re.compile(r"(?:-|[ \u00a0]{0,8})([$€£¥₹₩₽₺₪]|(?:(?:US|American)[ ])?[A-Za-z]+)")
_SHORT = re.compile(r"[mb]\b|(?-i:[ ][MB])\b", re.IGNORECASE)
"""Only for a number with a currency sign: "$3m", "$3 M"."""
_OF_WEIGHT = re.compile(r"[ -]?(?:of|in weight)\b")


def unit_after(text: str, end: int) -> tuple[Unit, int] | None:
    """The unit of a number that ends at ``end``, and the end of its name."""
    match = _UNIT.match(text, end)
    if match is None:
        return None
    name = match[2].replace(" ", "").replace("\u03bc", "µ")  # the Greek letter looks like it
    lower = name.lower()
    if (lower not in UNITS or (lower in _LETTERS and name != lower)
            or (lower == "second" and match[0].startswith("-"))):
        return None
    unit = UNITS[lower]
    if match[1]:
        power = _POWERS[match[1].lower()]
        unit = Unit(f"{unit.dimension}**{power}", unit.factor**power)
    return unit, match.end()


def currency_around(text: str, start: int, end: int) -> tuple[str, int, int, float] | None:
    """The currency's code, the start and end of number and currency together, and the factor of a
    letter after the number (1e6 in "$3m", else 1.0). ``None`` without a currency."""
    if sign := _SIGN.search(text, max(0, start - 5), start):
        short = _SHORT.match(text, end)
        times = MAGNITUDES[short[0].strip().lower()] if short else 1.0
        name = sign[0].strip().lower()
        return CURRENCIES[name], sign.start(), short.end() if short else end, times
    if after := _AFTER.match(text, end):
        name = after[1].lower().removeprefix("us ").removeprefix("american ")
        weighs = name.startswith("pound") and _OF_WEIGHT.match(text, after.end())
        if name in CURRENCIES and not weighs:
            return CURRENCIES[name], start, after.end(), 1.0
    return None
