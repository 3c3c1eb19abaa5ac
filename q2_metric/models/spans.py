"""Combines what a model says about the windows of a long text: a reader's spans, and verdicts."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from q2_metric.types import Answer, Verdict

Pairs = Sequence[tuple[str, str]]
"""(premise, claim) pairs, or (question, text) pairs."""
OVERLAP = 0.25
"""Share of a window that the next window repeats, if a premise is too long for one window."""


class Best(NamedTuple):
    """The tokens ``first`` to ``last``, both included. ``rival`` is the score of the best other
    span (-inf if there is no other)."""

    first: int
    last: int
    score: float
    rival: float


def best_span(
    start: NDArray[Any], end: NDArray[Any], longest: int, allowed: Sequence[bool] | None = None
) -> Best:
    """The span with the highest ``start[first] + end[last]``, in the number type of the logits.

    Of equal spans, the shortest is chosen, then the earliest; without a span, the score is -inf.
    ``start`` and ``end`` are the logits of at least one token, ``allowed`` says at which tokens a
    span may begin or end, and ``longest`` is its maximum number of tokens, at least 1.

    >>> best_span(np.array([9.0, 0, 2]), np.array([0.0, 5, 1]), 30, [False, True, True])
    Best(first=1, last=1, score=5.0, rival=3.0)
    """
    count = len(start)
    longest = min(longest, count)
    starts = np.array(start)
    ends = np.full(count + longest - 1, -np.inf, dtype=starts.dtype)
    ends[:count] = end
    if allowed is not None:
        banned = ~np.asarray(allowed, dtype=bool)
        starts[banned] = ends[:count][banned] = -np.inf
    # Row ``extra`` has the scores of the spans of ``extra + 1`` tokens.
    scores = starts + np.lib.stride_tricks.sliding_window_view(ends, count)
    extra, first = divmod(int(scores.argmax()), count)
    score = float(scores[extra, first])
    scores[extra, first] = -np.inf
    if score == -np.inf:
        return Best(0, 0, score, score)
    return Best(first, first + extra, score, float(scores.max()))


Window = tuple[Best, int, int, float]
"""The best span of a window, its characters [start, end) in the whole text, and the window's score
of "no answer"."""


def decide(
    text: str, windows: Sequence[Window], threshold: float = 0.0
) -> tuple[Answer | None, float]:
    """The answer in a text, from its windows (at least one), and the lead over the second best.

    The best span of all windows is compared with the lowest score of "no answer" in any window. It
    is the answer if its score is higher by more than ``threshold``. All scores are in logits.
    """
    (best, start, end, _), *others = sorted(windows, key=lambda window: -window[0].score)
    score = best.score - min(null for *_, null in windows)
    if not score > threshold:
        return None, abs(score)
    rival = max([best.rival, *(other.score for other, *_ in others)])
    return Answer(text[start:end], start, score), min(score, best.score - rival)


def best_verdicts(windows: Iterable[tuple[int, Verdict]]) -> list[Verdict]:
    """For each premise, the verdict of the window with the highest P(entailment). ``windows`` are
    the premises' numbers, in order, and verdicts."""
    best: dict[int, Verdict] = {}
    for item, verdict in windows:
        if item not in best or verdict.entailment > best[item].entailment:
            best[item] = verdict
    return list(best.values())
