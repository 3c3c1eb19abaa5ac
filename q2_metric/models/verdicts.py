"""Joining the verdicts of a long premise's windows."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.types import Verdict

OVERLAP = 0.25
"""Share of a window that the next one repeats, where a premise is too long for one."""


def best_verdicts(items: Sequence[int], verdicts: Sequence[Verdict], count: int) -> list[Verdict]:
    """For each of ``count`` items the verdict with the highest P(entailment)."""
    best: list[Verdict | None] = [None] * count
    for item, verdict in zip(items, verdicts, strict=True):
        known = best[item]
        if known is None or verdict.entailment > known.entailment:
            best[item] = verdict
    return [verdict for verdict in best if verdict is not None]
