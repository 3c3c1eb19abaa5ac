"""Bootstrap resampling, with one seed and one procedure for all confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

N_BOOTSTRAP = 1000
"""Number of resamples for an interval (sacrebleu's default)."""
SEED = 12345
"""Seed of all resampling (sacrebleu's default). The same scores always give the same interval."""
LEVEL = 0.95
_DRAWS_AT_ONCE = 1 << 20
"""8 MB of random item indices. A resample with more items than this is drawn alone."""


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % percentile interval of the mean; ``None`` below two values."""
    if len(values) < 2:
        return None
    import numpy as np

    pool = np.asarray(values, dtype=np.float64)
    return percentiles(resampled(len(pool), lambda rows: pool[rows].mean(axis=1)))


def resampled(
    size: int, measure: Callable[[Places], Floats], *,
    usable: Callable[[Places], NDArray[np.bool_]] | None = None,
) -> Floats:
    """Draws resamples; returns :data:`N_BOOTSTRAP` statistics (Efron and Tibshirani, 1993, §13.3).

    Args:
        measure: computes the statistic of each resample, from the indices of the drawn items in
            the shape (resamples, size).
        usable: says, from the same indices, for which resamples the statistic is defined. The
            other resamples are drawn again.
    """
    import numpy as np

    rng = np.random.default_rng(SEED)
    at_once = max(1, _DRAWS_AT_ONCE // size)
    measured: list[Floats] = []
    missing = N_BOOTSTRAP
    while missing > 0:
        rows = rng.integers(0, size, (min(at_once, missing), size))
        if usable is not None:
            rows = rows[usable(rows)]
        if len(rows):
            measured.append(measure(rows))
            missing -= len(rows)
    return np.concatenate(measured)


def percentiles(drawn: Floats) -> tuple[float, float]:
    """The 2.5th and the 97.5th percentile of at least one statistic."""
    import numpy as np

    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return float(low), float(high)
