"""The type of a value in a text."""

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "number", "ordinal", "share", "money", "quantity", "date", "weekday", "clock", "code"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text, such as "about 3 km", as a range of numbers.

    Attributes:
        kind: only values of the same kind are compared.
        low: in the kind's base unit: days for a date or a decade, minutes after midnight for a time
            of day, 0 to 6 for Monday to Sunday.
        high: equals ``low`` if the value is exact.
        start: character offset in the text, as ``end``.
        unit: the currency, the dimension of a quantity, or the digits of a code; "" if not stated.
        near: the wider range that words beside the value allow: (270, 330) for "about 300" and
            (300, inf) for "more than 300"; ``None`` without such words.
        step: the size of the last written digit in base units: 100,000 for "2.1 million".
        folded: true for a time of day that can be before or after noon ("at 8").
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
    def open_ended(self) -> bool:
        """As in "more than 300"."""
        return self.near is not None and math.inf in map(abs, self.near)
