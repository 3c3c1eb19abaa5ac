"""What a question asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """The words of a clause that a question asks for (``bits``), and how: ``wh`` has the question
    words ("how many types"), ``after`` a text at the end ("besides red"). ``subject``: they are the
    subject, so that the word order stays. ``echo``: ``wh`` stands in their place ("The symptoms of
    what are recurring?")."""

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False
