"""The words of a clause that a question asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """The words of a clause that a question asks for, and how the question asks for them.

    Attributes:
        wh: the question words, such as "how many types of guitar".
        bits: the words that are removed from the clause, as a bit mask over word positions.
        subject: whether they are the clause's subject, so that the question keeps its word order.
        after: text at the end of the question ("besides red").
        echo: whether the question words stand in the place of the removed words ("The symptoms of
            what are recurring?") instead of at the start.
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
