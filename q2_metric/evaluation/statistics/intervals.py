"""Statistics with their 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.values import Floats
from q2_metric.metrics.bootstrap import bootstrap_interval, percentiles


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tested:
    """``p`` tests whether the statistic differs from 0."""

    interval: Interval
    p: float


def around(value: float, drawn: Floats) -> Interval:
    """A statistic with the 95 % percentile interval of its bootstrap resamples ``drawn``."""
    return Interval(value, *percentiles(drawn))


def share_interval(hits: ArrayLike) -> Interval:
    """The mean of numbers, at least one, with its 95 % bootstrap percentile interval."""
    values = np.asarray(hits, np.float64)
    if not len(values):
        raise InputError("a mean needs at least one value")
    mean = float(values.mean())
    return Interval(mean, *(bootstrap_interval(list(values)) or (mean, mean)))
