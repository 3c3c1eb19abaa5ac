"""The words of a clause that a question asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """The words of a clause that a question asks for, and how the question asks for them.

    Attributes:
        wh: the question words, such as "how many types of guitar".
        bits: the words that are removed from the clause, as a bit mask over word positions.
        subject: whether these words are the clause's subject. The question then keeps the clause's
            word order ("Who founded Ford?").
        after: text at the end of the question ("besides red").
        echo: whether the question words stand in the place of the removed words ("The symptoms of
            what are recurring?") instead of at the start.
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
