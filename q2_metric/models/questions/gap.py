"""What a question asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """What a question asks for.

    ``bits`` are the words that the question takes out of the clause. The question word ``wh``
    comes first; if the gap is the ``subject``, the word order stays. ``after`` comes last
    ("besides red"). With ``echo``, the question word stands in the gap ("The symptoms of what are
    recurring?").
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
