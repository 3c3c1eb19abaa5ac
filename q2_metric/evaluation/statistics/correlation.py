"""Correlations between scores and people's ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.intervals import Tested, around
from q2_metric.evaluation.statistics.values import Bools, Floats, Places, scipy_stats
from q2_metric.metrics.bootstrap import resampled


def spearman(first: ArrayLike, second: ArrayLike) -> Tested:
    return _correlation(scipy_stats().spearmanr, first, second)


def kendall(first: ArrayLike, second: ArrayLike) -> Tested:
    """Kendall's τ-b."""
    return _correlation(scipy_stats().kendalltau, first, second)


def pearson(first: ArrayLike, second: ArrayLike) -> Tested:
    return _correlation(scipy_stats().pearsonr, first, second)


def _correlation(
    measure: Callable[..., Any], first: ArrayLike, second: ArrayLike
) -> Tested:
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(x) != len(y) or len(x) < 3:
        raise InputError(f"a correlation needs at least 3 pairs; there are {len(x)} and {len(y)} "
                         "values")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError("a correlation is undefined if all values are equal")

    def varied(rows: Places) -> Bools:
        both: Bools = (np.ptp(x[rows], axis=1) > 0) & (np.ptp(y[rows], axis=1) > 0)
        return both

    def each(rows: Places) -> Floats:
        return np.array([measure(x[drawn], y[drawn]).statistic for drawn in rows], np.float64)

    result = measure(x, y)
    drawn = resampled(len(x), each, usable=varied)
    return Tested(around(float(result.statistic), drawn), float(result.pvalue))
