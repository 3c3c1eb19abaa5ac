"""Combines the verdicts on the windows of a long premise."""

from collections.abc import Iterable

from q2_metric.types import Verdict

OVERLAP = 0.25
"""Share of a window that the next window repeats, if a premise is too long for one window."""


def best_verdicts(windows: Iterable[tuple[int, Verdict]]) -> list[Verdict]:
    """For each premise, the verdict of the window with the highest P(entailment). ``windows`` are
    the premises' numbers, in order, and verdicts."""
    best: dict[int, Verdict] = {}
    for item, verdict in windows:
        if item not in best or verdict.entailment > best[item].entailment:
            best[item] = verdict
    return list(best.values())
