"""Paired significance tests of two systems, as sacrebleu computes them (its ``significance.py``).

A system is an array of sufficient statistics, (rows, statistics). A :data:`Measure` computes the
score of a set of rows from the sums of their statistics. Both tests draw with one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from q2_metric.metrics.bootstrap import SEED, percentiles, resampled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Measure = Callable[[Floats], Floats]
    """Sums of statistics, (sets, statistics) -> scores, (sets,)."""

TRIALS = 10_000
"""Trials of the approximate randomisation (sacrebleu's default)."""

_AT_ONCE = 1 << 20
"""Swaps of rows that are drawn at a time."""

_EQUAL = 1e-12
"""Differences of scores that differ by less are equal but for rounding."""


def mean(sums: Floats) -> Floats:
    """The :data:`Measure` of rows with the statistics [value, 1]."""
    values: Floats = sums[:, 0] / sums[:, 1]
    return values


def paired(
    first: Floats, second: Floats, measure: Measure, *, tests: bool = True
) -> tuple[tuple[float, float] | None, float | None, float | None]:
    """Compares two systems on the same rows. Without ``tests``, computes only the interval.

    Returns the 95 % bootstrap percentile interval of the difference of two scores, second minus
    first (``None`` below two rows), and two two-sided p-values (``None``: not tested). The first is
    that of paired bootstrap resampling (Koehn, EMNLP 2004) as in sacrebleu, which is too small; the
    second that of paired approximate randomisation (Riezler and Maxwell, 2005).

    Unlike sacrebleu, a trial with exactly the observed difference counts as extreme (Noreen, 1989),
    so that a system does not differ from itself.
    """
    import numpy as np

    if len(first) < 2:
        return None, None, None
    observed = abs(float((measure(second.sum(0)[None]) - measure(first.sum(0)[None]))[0]))
    drawn = resampled(len(first), lambda rows: (
        measure(second[rows].sum(axis=1)) - measure(first[rows].sum(axis=1))))
    if not tests:
        return percentiles(drawn), None, None
    sizes = np.abs(drawn)
    swapped = np.abs(_swapped(first, second, measure))
    return (percentiles(drawn), _p_value(sizes - sizes.mean(), observed),
            _p_value(swapped, observed))


def score_interval(rows: Floats, measure: Measure) -> tuple[float, float]:
    """The 95 % bootstrap percentile interval of the score of at least one row."""
    return percentiles(resampled(len(rows), lambda drawn: measure(rows[drawn].sum(axis=1))))


def _swapped(first: Floats, second: Floats, measure: Measure) -> Floats:
    """The differences if the two responses of random rows are exchanged."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    # NumPy draws 32 booleans from one random number: 32 trials at a time give sacrebleu's draws.
    step = max(32, _AT_ONCE // len(first) // 32 * 32)
    differences = []
    for start in range(0, TRIALS, step):
        keep = rng.integers(2, size=(min(step, TRIALS - start), len(first)), dtype=bool)
        one = keep.astype(np.float64) @ (first - second) + second.sum(0)
        differences.append(measure(first.sum(0) + second.sum(0) - one) - measure(one))
    return np.concatenate(differences)


def _p_value(drawn: Floats, observed: float) -> float:
    return (int((drawn >= observed - _EQUAL).sum()) + 1) / (len(drawn) + 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for several comparisons (Holm, 1979); ``None`` is no comparison.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(tested):
        highest = max(highest, min(1.0, p * (len(tested) - rank)))
        adjusted[i] = highest
    return adjusted
