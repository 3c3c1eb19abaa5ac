"""Finds the unit or currency of a number. Units have a table of their own, because the library pint
needs 0.2 s to start, and reads "cats" as a unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from q2_metric.text.normalise import words


@dataclass(frozen=True, slots=True)
class Unit:
    """A value v in the unit is v * factor + shift in the base unit of its dimension, such as
    "length2" for areas."""

    dimension: str
    factor: float
    shift: float = 0.0


_YEAR = 365.25 * 86_400
_NAMES: Mapping[str, Mapping[float, str]] = {
    "length": {0.001: "mm millimetre millimeter", 0.01: "cm centimetre centimeter",
               1: "m metre meter", 1000: "km kilometre kilometer kms", 0.0254: "inch",
               0.3048: "ft foot", 0.9144: "yd yard", 1609.344: "mi mile", 1852: "nmi",
               9.4607304725808e15: "lightyear"},
    "length2": {1: "m² m2", 1e4: "ha hectare", 4046.8726: "acre", 1e6: "km² km2"},
    "length3": {1e-6: "ml millilitre milliliter", 1e-5: "cl centilitre centiliter",
                0.001: "l litre liter", 1: "m³ m3"},
    "mass": {1e-6: "mg milligram milligramme", 0.001: "g gram gramme",
             1: "kg kilo kilogram kilogramme kgs", 1000: "tonne", 907.18474: "ton",
             0.028349523125: "oz ounce", 0.45359237: "lb lbs"},
    "time": {0.001: "ms millisecond", 1: "s sec second secs", 60: "min minute mins",
             3600: "h hr hour hrs", 86_400: "day", 604_800: "week", 1_209_600: "fortnight",
             _YEAR / 12: "month", _YEAR: "year yr yrs", 10 * _YEAR: "decade",
             100 * _YEAR: "century"},
    "temperature": {1: "kelvin"},
    "power": {1: "watt", 1e3: "kw kilowatt", 1e6: "mw megawatt", 1e9: "gw gigawatt",
              745.69987: "hp horsepower"},
    "energy": {1: "joule", 4.184: "cal calorie", 4184: "kcal kilocalorie", 3.6e6: "kwh",
               3.6e9: "mwh"},
    "voltage": {1: "volt"},
    "frequency": {1: "hz hertz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz gigahertz"},
    "data": {1: "byte", 1e3: "kb kilobyte", 1e6: "mb megabyte", 1e9: "gb gigabyte",
             1e12: "tb terabyte"},
    "speed": {1: "m/s", 1 / 3.6: "km/h kph kmh", 0.44704: "mph", 1852 / 3600: "knot"},
    "pressure": {1e5: "bar"},
    "force": {1: "newton"},
}
UNITS = {
    spelling: Unit(dimension, factor)
    for dimension, units in _NAMES.items() for factor, spellings in units.items()
    for spelling in spellings.split()
} | {
    **dict.fromkeys(("°c", "℃", "celsius", "centigrade"), Unit("temperature", 1, 273.15)),
    **dict.fromkeys(("°f", "℉", "fahrenheit"), Unit("temperature", 5 / 9, 459.67 * 5 / 9)),
}
UNITS |= {f"{name}s": unit for name, unit in list(UNITS.items()) if len(name) > 3}
UNITS |= {"feet": UNITS["foot"], "inches": UNITS["inch"], "centuries": UNITS["century"],
          "days": UNITS["day"]}
_POWERS = {"square": 2, "sq": 2, "cubic": 3}
_LETTERS = words("m g l h s ha min")
"""They are units only in lower case: "3 m" is a length, "3 M" is not."""
_UNIT = re.compile(
    r"(?:-|[ \u00a0\u202f]{0,8})(?:(square|sq|cubic)\.?[ -])?(?:(?:degrees?|deg)[ ])?"
    r"(°[ ]?[CF]\b|[℃℉]|km/h|m/s|k?m[²³]|k?m[23]\b|[A-Za-z]+)", re.IGNORECASE)

_CURRENCIES = {
    "USD": "$ us$ usd dollar buck", "EUR": "€ eur euro", "GBP": "£ gbp quid", "JPY": "¥ jpy yen",
    "INR": "₹ inr rupee", "CHF": "chf franc", "NOK": "nok", "SEK": "sek", "DKK": "dkk",
    "KRW": "₩ krw won", "RUB": "₽ rub rouble ruble", "CNY": "cny rmb yuan renminbi",
    "CAD": "c$ cad", "AUD": "a$ aud", "KRONE": "kr krone kroner krona kronor", "PLN": "pln zloty",
    "BRL": "r$ brl", "TRY": "₺ lira", "ILS": "₪ shekel", "PESO": "peso", "BTC": "bitcoin btc",
}
CURRENCIES = {name: code for code, names in _CURRENCIES.items() for name in names.split()}
CURRENCIES |= {f"{name}s": code for name, code in list(CURRENCIES.items()) if len(name) > 3}
_SIGN = re.compile(r"(?:\b(?:US|C|A|R)\$|[$€£¥₹₩₽₺₪]|\b(?:USD|EUR|GBP|JPY|CHF|NOK|SEK|DKK|INR|CNY"
                   r"|CAD|AUD|PLN))[ \u00a0]?$")
_AFTER = re.compile(r"(?:-|[ \u00a0]{0,8})([$€£¥₹₩₽₺₪]|(?:(?:US|American)[ ])?[A-Za-z]+)")
_SHORT = re.compile(r"([mb])\b", re.IGNORECASE)
SHORT = {"m": 1e6, "b": 1e9}
"""Only for a number with a currency sign: "$3m"."""


def unit_after(text: str, end: int) -> tuple[Unit, int] | None:
    """The unit of a number that ends at ``end``, and the end of its name.

    >>> unit_after("3 square km", 1)
    (Unit(dimension='length2', factor=1000000, shift=0.0), 11)
    """
    match = _UNIT.match(text, end)
    if match is None:
        return None
    name = match[2].replace(" ", "")
    lower = name.lower()
    if lower not in UNITS or (lower in _LETTERS and name != lower):
        return None
    if lower == "second" and match[0].startswith("-"):
        return None
    unit = UNITS[lower]
    if match[1]:
        power = _POWERS[match[1].lower()]
        unit = Unit(f"{unit.dimension}{power}", unit.factor**power)
    return unit, match.end()


def currency_around(text: str, start: int, end: int) -> tuple[str, int, int, float] | None:
    """The currency's code, the start and end of number and currency together, and the factor of a
    letter after the number (1e6 in "$3m", else 1.0). ``None`` without a currency."""
    sign = _SIGN.search(text, max(0, start - 5), start)
    if sign:
        short = _SHORT.match(text, end)
        times = SHORT[short[1].lower()] if short else 1.0
        name = sign[0].strip().lower()
        return CURRENCIES[name], sign.start(), short.end() if short else end, times
    after = _AFTER.match(text, end)
    if after:
        name = after[1].lower().removeprefix("us ").removeprefix("american ")
        if name in ("pound", "pounds") and not re.match(r"[ -]?(?:of|in weight)\b",
                                                        text[after.end():]):
            return "GBP", start, after.end(), 1.0
        if name in CURRENCIES and name not in ("c$", "a$"):
            return CURRENCIES[name], start, after.end(), 1.0
    return None
