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
    """A statistic (``value``) with the lower and the upper end of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tested:
    """A statistic with its bootstrap interval, and the p-value of a test whether it differs from 0.
    """

    interval: Interval
    p: float


def around(value: float, drawn: Floats) -> Interval:
    """A statistic with its 95 % percentile interval.

    ``drawn`` contains the statistic's value in each bootstrap resample, at least one value.
    """
    return Interval(value, *percentiles(drawn))


def share_interval(hits: ArrayLike) -> Interval:
    """The mean of numbers with its 95 % bootstrap percentile interval. ``hits`` are the numbers; if
    they are 0 and 1, the mean is the share of ones.

    Raises:
        InputError: there is no value.
    """
    values = np.asarray(hits, np.float64)
    if not len(values):
        raise InputError("a mean needs at least one value")
    mean = float(values.mean())
    return Interval(mean, *(bootstrap_interval(list(values)) or (mean, mean)))
