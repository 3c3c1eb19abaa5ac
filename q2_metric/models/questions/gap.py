"""What a question asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """What a question asks for.

    ``bits`` are the words that are taken out, ``wh`` is put first, with no inversion where
    ``subject`` is set. ``after`` is put last ("besides red"). With ``echo`` the question
    word takes the gap's place ("The symptoms of what are recurring?").
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
