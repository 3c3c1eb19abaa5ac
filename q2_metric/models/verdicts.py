"""Combines the verdicts on the windows of a long premise."""

from collections.abc import Sequence

from q2_metric.types import Verdict

OVERLAP = 0.25
"""Share of a window that the next window repeats, if a premise is too long for one window."""


def best_verdicts(items: Sequence[int], verdicts: Sequence[Verdict], count: int) -> list[Verdict]:
    """For each premise, the verdict of the window with the highest P(entailment).

    ``items`` are the windows' premises. A premise without a window has no verdict in the result.
    """
    best: dict[int, Verdict] = {}
    for item, verdict in zip(items, verdicts, strict=True):
        if item not in best or verdict.entailment > best[item].entailment:
            best[item] = verdict
    return [best[item] for item in range(count) if item in best]
