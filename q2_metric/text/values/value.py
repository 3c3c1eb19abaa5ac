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
        kind: only values of one kind are compared.
        low, high: the bounds in the kind's base unit; equal if the value is exact. A date or a
            decade is a range of days. A weekday counts from Monday, which is 0.
        start, end: its characters in the text.
        unit: currency, dimension of a quantity, or digits of a code; "" if it is not stated.
        near: the wider range that the text's words allow: "about 300" has (270, 330), "more than
            300" (300, inf).
        step: the last written digit's place, in base units: 0.1 million for "2.1 million".
        folded: whether a time of day may be before or after noon.
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
        """The range that the text's words allow."""
        return self.near or (self.low, self.high)

    @property
    def open_ended(self) -> bool:
        """Whether the words set a bound on one side only ("more than 300")."""
        return self.near is not None and math.inf in map(abs, self.near)
