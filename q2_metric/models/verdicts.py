"""Combines the verdicts on the windows of a long premise."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.types import Verdict

OVERLAP = 0.25
"""Share of a window that the next window repeats, if a premise needs several."""


def best_verdicts(items: Sequence[int], verdicts: Sequence[Verdict], count: int) -> list[Verdict]:
    """The verdict with the highest P(entailment), for each of ``count`` items.

    ``items[i]`` is the item to which ``verdicts[i]`` belongs. An item without a verdict is left
    out.
    """
    best: list[Verdict | None] = [None] * count
    for item, verdict in zip(items, verdicts, strict=True):
        known = best[item]
        if known is None or verdict.entailment > known.entailment:
            best[item] = verdict
    return [verdict for verdict in best if verdict is not None]
