"""Finds the unit or currency of a number, and converts quantities with the library pint."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from q2_metric.text.normalise import words

if TYPE_CHECKING:
    from pint import UnitRegistry

_NAMES = {
    "mm": "mm millimetre millimeter", "cm": "cm centimetre centimeter", "m": "m metre meter",
    "km": "km kilometre kilometer kms", "inch": "inch", "foot": "ft foot", "yard": "yd yard",
    "mile": "mi mile", "nautical_mile": "nmi", "light_year": "lightyear",
    "mg": "mg milligram milligramme", "g": "g gram gramme", "kg": "kg kilo kilogram kilogramme kgs",
    "tonne": "tonne", "ton": "ton", "ounce": "oz ounce", "pound": "lb lbs",
    "ml": "ml millilitre milliliter", "centiliter": "cl centilitre centiliter",
    "liter": "l litre liter", "hectare": "ha hectare", "acre": "acre",
    "km**2": "km² km2", "m**2": "m² m2", "m**3": "m³ m3",
    "second": "s sec second secs", "ms": "ms millisecond", "minute": "min minute mins",
    "hour": "h hr hour hrs", "day": "day", "week": "week", "fortnight": "fortnight",
    "month": "month", "year": "year yr yrs", "ten_years": "decade", "century": "century",
    "degC": "°c ℃ celsius centigrade", "degF": "°f ℉ fahrenheit", "kelvin": "kelvin",
    "W": "watt", "kW": "kw kilowatt", "MW": "mw megawatt", "GW": "gw gigawatt",
    "kWh": "kwh", "MWh": "mwh", "V": "volt", "Hz": "hz hertz", "kHz": "khz", "MHz": "mhz",
    "GHz": "ghz gigahertz", "B": "byte", "kB": "kb kilobyte", "MB": "mb megabyte",
    "GB": "gb gigabyte", "TB": "tb terabyte", "km/h": "km/h kph kmh", "mile/hour": "mph",
    "m/s": "m/s", "knot": "knot", "horsepower": "hp horsepower", "calorie": "cal calorie",
    "kcal": "kcal kilocalorie", "bar": "bar", "newton": "newton", "joule": "joule",
}
UNITS = {spelling: unit for unit, spellings in _NAMES.items() for spelling in spellings.split()}
UNITS |= {f"{name}s": unit for name, unit in list(UNITS.items()) if len(name) > 3}
UNITS |= {"feet": "foot", "inches": "inch", "centuries": "century", "days": "day"}
_SQUARE = {"square": "({})**2", "sq": "({})**2", "cubic": "({})**3"}
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


def unit_after(text: str, end: int) -> tuple[str, int] | None:
    """The unit of a number that ends at ``end``, in pint's spelling, and the end of its name."""
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
    return (_SQUARE[match[1].lower()].format(unit) if match[1] else unit), match.end()


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


@functools.cache
def _registry() -> UnitRegistry[float]:
    from pint import UnitRegistry

    registry: UnitRegistry[float] = UnitRegistry(autoconvert_offset_to_baseunit=True)
    registry.define("ten_years = 10 * year")  # pint's own "decade" is a logarithmic unit
    return registry


@functools.cache
def _line(unit: str) -> tuple[str, float, float]:
    """(dimension, factor, shift): a value v in the unit is v * factor + shift in the base unit."""
    registry = _registry()
    zero = registry.Quantity(0.0, unit).to_base_units()
    one = registry.Quantity(1.0, unit).to_base_units()
    shift = float(zero.magnitude)
    return str(one.dimensionality), float(one.magnitude) - shift, shift


def in_base(value: float, unit: str) -> tuple[str, float]:
    """The dimension of the unit, and the value in its base unit.

    >>> in_base(3.0, "km")
    ('[length]', 3000.0)
    """
    dimension, factor, shift = _line(unit)
    return dimension, value * factor + shift


def step_in_base(step: float, unit: str) -> float:
    """A difference has no shift, unlike a temperature."""
    return step * _line(unit)[1]
