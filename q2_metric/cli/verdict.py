"""Prints how many responses have unsupported claims, and marks claims by sign and colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from q2_metric.cli.safe import plain
from q2_metric.scoring.verdict import VerdictCounts

SIGNS: Mapping[str, tuple[str, str]] = {
    "supported": ("✓", "green"),
    "not found": ("✗", "red"),
    "contradicted": ("≠", "bold magenta"),
    "not checked": ("?", "dim"),
}
"""(Sign, colour) of a claim on the terminal."""

_LONGEST = 200
"""Characters of a claim or passage that are printed."""


def print_verdict(screen: Console, verdict: VerdictCounts) -> None:
    """Prints how many responses have an unsupported claim or fail, and the worst of them."""
    if not verdict.headline:
        return
    style = "bold red" if verdict.unsupported else "bold green"
    screen.print(Text(verdict.headline, style=style), soft_wrap=True)
    if verdict.criterion:
        screen.print(Text(verdict.criterion), soft_wrap=True)
    for worst in verdict.worst:
        sign, colour = SIGNS[worst.verdict]
        # A bare number before the text could be taken for a part of the text.
        row = f"row {worst.id}" if worst.id.isdecimal() else worst.id
        screen.print(Text(f"{sign} ", style=colour) + Text(plain(row), style="dim") +
                     Text(f"  {_short(worst.claim)}"), soft_wrap=True)
        if worst.source:
            words = "the sources say" if worst.decides else "nearest in the sources"
            screen.print(Text(f"  {words}: {_short(worst.source)}", style="dim"), soft_wrap=True)
    if verdict.citations:
        screen.print(Text(verdict.citations), soft_wrap=True)
    screen.print()


def _short(text: str) -> str:
    words = plain(" ".join(text.split()))
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def marked(response: str, claims: Sequence[Mapping[str, Any]]) -> Text:
    """The response with each claim in the colour of its verdict, followed by the verdict's sign.
    ``claims`` are those of an output row. A claim inside another is shown in its own colour."""
    text = Text(plain(response))
    # Sorted by (end, size): if two claims have the same end, the inner claim comes first.
    placed = sorted(claims, key=lambda claim: (claim["end"], claim["end"] - claim["start"]))
    for claim in sorted(placed, key=lambda claim: claim["start"] - claim["end"]):
        text.stylize(SIGNS[claim["verdict"]][1], claim["start"], claim["end"])
    signed = Text()
    pieces = text.divide([claim["end"] for claim in placed])
    for piece, claim in zip(pieces, placed, strict=False):
        signed.append_text(piece).append(*SIGNS[claim["verdict"]])
    return signed.append_text(pieces[-1])
