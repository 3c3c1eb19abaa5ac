"""Finds the unit or currency of a number, and converts quantities to a base unit."""

from __future__ import annotations

import re
from typing import NamedTuple

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


_HOUR, _DAY, _YEAR = 3600.0, 86_400.0, 365.25 * 86_400
_FACTORS = {
    "length": {
        "mm millimetre millimeter": 1e-3, "cm centimetre centimeter": 1e-2, "m metre meter": 1.0,
        "km kilometre kilometer kms": 1e3, "inch": 0.0254, "ft foot": 0.3048,
        "yd yard": 0.9144, "mi mile": 1609.344, "nmi": 1852.0, "lightyear": 9460730472580800.0},
    # An acre of the US survey.
    "length**2": {"m² m2": 1.0, "km² km2": 1e6, "ha hectare": 1e4, "acre": 4046.8726},
    "length**3": {"m³ m3": 1.0, "ml millilitre milliliter": 1e-6, "cl centilitre centiliter": 1e-5,
                  "l litre liter": 1e-3},
    # A short ton.
    "mass": {"µg mcg microgram microgramme": 1e-9, "mg milligram milligramme": 1e-6,
             "g gram gramme": 1e-3, "tonne": 1e3,
             "kg kilo kilogram kilogramme kgs": 1.0, "lb lbs": 0.45359237, "ton": 907.18474,
             "oz ounce": 0.45359237 / 16},
    "time": {"µs microsecond": 1e-6, "ms millisecond": 1e-3, "s sec second secs": 1.0,
             "min minute mins": 60.0,
             "h hr hour hrs": _HOUR, "day": _DAY, "week": 7 * _DAY, "fortnight": 14 * _DAY,
             "month": _YEAR / 12, "year yr yrs": _YEAR, "decade": 10 * _YEAR,
             "century": 100 * _YEAR},
    "temperature": {"kelvin": 1.0},
    "power": {"watt": 1.0, "kw kilowatt": 1e3, "mw megawatt": 1e6, "gw gigawatt": 1e9,
              "hp horsepower": 745.6998715822701},
    "energy": {"joule": 1.0, "kj kilojoule": 1e3, "kwh": 3.6e6, "mwh": 3.6e9, "cal calorie": 4.184,
               "kcal kilocalorie": 4184.0},
    "voltage": {"volt": 1.0}, "pressure": {"bar": 1.0}, "force": {"newton": 1.0},
    "frequency": {"hz hertz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz gigahertz": 1e9},
    "information": {"byte": 1.0, "kb kilobyte": 1e3, "mb megabyte": 1e6, "gb gigabyte": 1e9,
                    "tb terabyte": 1e12},
    "speed": {"m/s": 1.0, "km/h kph kmh": 1e3 / _HOUR, "mph": 1609.344 / _HOUR,
              "knot": 1852 / _HOUR},
}
"""For each dimension, the spellings of its units and their size in the base unit."""
UNITS = {spelling: Unit(dimension, factor) for dimension, units in _FACTORS.items()
         for spellings, factor in units.items() for spelling in spellings.split()}
UNITS |= dict.fromkeys(words("°c ℃ celsius centigrade"), Unit("temperature", 1.0, 273.15))
UNITS |= dict.fromkeys(words("°f ℉ fahrenheit"), Unit("temperature", 5 / 9, 459.67 * 5 / 9))
UNITS |= {f"{name}s": unit for name, unit in list(UNITS.items()) if len(name) > 3}
UNITS |= {"feet": UNITS["foot"], "inches": UNITS["inch"], "centuries": UNITS["century"],
          "days": UNITS["day"]}
_POWERS = {"square": 2, "sq": 2, "cubic": 3}
_LETTERS = words("m g l h s ha min")
"""They are units only in lower case: "3 m" is a length, "3 M" is not."""
_UNIT = re.compile(
    r"(?:-|[ \u00a0\u202f]{0,8})(?:(square|sq|cubic)\.?[ -])?(?:(?:degrees?|deg)[ ])?"
    r"(°[ ]?[CF]\b|[℃℉]|km/h|m/s|k?m[²³]|k?m[23]\b|[A-Za-zµ\u03bc]+)", re.IGNORECASE)

_CURRENCIES = {
    "USD": "$ us$ usd dollar buck", "EUR": "€ eur euro", "GBP": "£ gbp quid pound",
    "JPY": "¥ jpy yen", "INR": "₹ inr rupee", "CHF": "chf franc", "NOK": "nok", "SEK": "sek",
    "DKK": "dkk", "KRW": "₩ krw won", "RUB": "₽ rub rouble ruble", "CNY": "cny rmb yuan renminbi",
    "CAD": "c$ cad", "AUD": "a$ aud", "KRONE": "kr krone kroner krona kronor", "PLN": "pln zloty",
    "BRL": "r$ brl", "TRY": "₺ lira", "ILS": "₪ shekel", "PESO": "peso", "BTC": "bitcoin btc",
}
CURRENCIES = {name: code for code, names in _CURRENCIES.items() for name in names.split()}
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
