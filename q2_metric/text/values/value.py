"""The type of a value in a text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "number", "ordinal", "share", "money", "quantity", "date", "weekday", "clock", "code"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text, as a range of numbers.

    Attributes:
        kind: the kind of value. Only values of the same kind are compared.
        low, high: the bounds in the kind's base unit. They are equal if the value is exact. A date
            or a decade is a range of days. A weekday counts from Monday, which is 0.
        start, end: the value's character range in the text.
        unit: the currency, the dimension of a quantity, or the digits of a code; "" if not stated.
        near: the wider range that the text's words allow: "about 300" has (270, 330), "more than
            300" (300, inf).
        step: the size of the last written digit in base units: 0.1 million for "2.1 million".
        folded: true if the text does not say whether a time of day is before or after noon.
    """

    kind: Kind
    low: float
    high: float
    start: int
    end: int
    unit: str = ""
    near: tuple[float, float] | None = None
    step: float = 0.0
    folded: bool = False

    @property
    def reach(self) -> tuple[float, float]:
        """The range (low, high) that the text's words allow."""
        return self.near or (self.low, self.high)

    @property
    def open_ended(self) -> bool:
        """Whether the text sets a bound on one side only ("more than 300")."""
        return self.near is not None and math.inf in map(abs, self.near)
