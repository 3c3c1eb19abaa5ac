"""The gap that a question leaves in its clause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap that a question leaves in its clause, and how the question asks for it.

    ``bits`` is the set of words that the question takes out of the clause. The question word ``wh``
    comes first. If the gap is the ``subject``, the word order stays. ``after`` is put at the end
    ("besides red"). With ``echo``, the question word stands in the gap ("The symptoms of what are
    recurring?").
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
