"""Chooses the best answer span from a reader's logits. Start and end are chosen together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Best(NamedTuple):
    """The best span: the tokens ``first`` to ``last``, both included.

    ``score`` is the sum of the span's start logit and end logit. ``rival`` is the score of the best
    other span (-inf if there is no other).
    """

    first: int
    last: int
    score: float
    rival: float


def best_span(
    start: NDArray[Any], end: NDArray[Any], longest: int, allowed: Sequence[bool] | None = None
) -> Best:
    """The answer span of tokens ``first`` to ``last`` with the highest score.

    The score is ``start[first] + end[last]``, computed in the number type of the logits. If several
    spans have the highest score, the shortest is chosen, and of equally short ones the earliest. If
    no span is possible, the score is -inf.

    Args:
        start: for each token, the logit that the answer starts with it, (tokens,). There must be
            at least one token.
        end: for each token, the logit that the answer ends with it, (tokens,).
        longest: maximum tokens of a span.
        allowed: (tokens,). It is true for the tokens at which a span may begin or end; ``None``
            allows all tokens.

    >>> import numpy as np
    >>> best_span(np.array([9.0, 0, 2]), np.array([0.0, 5, 1]), 30, [False, True, True])
    Best(first=1, last=1, score=5.0, rival=3.0)
    """
    import numpy as np

    count = len(start)
    longest = min(longest, count)
    if not longest:
        return Best(0, 0, float("-inf"), float("-inf"))
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
