"""Reliability curves and calibration errors. They show whether scores can be read as probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.values import Floats


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability curve, for the scores in [low, high).

    ``n`` responses have a score in the bin. ``score`` is their mean score, and ``consistent`` is
    the share of them that people found consistent.
    """

    low: float
    high: float
    n: int
    score: float
    consistent: float


N_BINS = 10
"""Default number of bins of equal width on [0, 1], as in the code of SCALE's authors."""


def reliability(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> list[Bin]:
    """A reliability curve: the bins of equal width on [0, 1] that contain at least one response.

    The last bin includes the score 1. Scores outside [0, 1] are an error; :func:`min_max` maps them
    to [0, 1]. ``truth`` is true for each response that people found consistent.
    """
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise InputError("a reliability curve needs scores in [0, 1]")
    places = np.minimum((values * bins).astype(int), bins - 1)
    filled = []
    for i in range(bins):
        inside = places == i
        if inside.any():
            filled.append(
                Bin(
                    i / bins,
                    (i + 1) / bins,
                    int(inside.sum()),
                    float(values[inside].mean()),
                    float(labels[inside].mean()),
                )
            )
    return filled


def ece(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> float:
    """The expected calibration error, in [0, 1] (Naeini, Cooper and Hauskrecht, AAAI 2015).

    The error of a bin is the distance between its responses' mean score and the share of them that
    people found consistent (``truth``). The result is the mean error of the bins, weighted by the
    number of responses in each bin.
    """
    filled = reliability(truth, scores, bins=bins)
    n = sum(bin_.n for bin_ in filled)
    if not n:
        raise InputError("a calibration error needs at least one response")
    return float(sum(bin_.n * abs(bin_.consistent - bin_.score) for bin_ in filled) / n)


def min_max(scores: ArrayLike) -> Floats:
    """The scores mapped linearly to [0, 1]. SCALE's authors do so before they compute the expected
    calibration error.

    If all scores are equal, each becomes 0.5.
    """
    values = np.asarray(scores, np.float64)
    width = np.ptp(values) if len(values) else 0.0
    if width == 0:
        return np.full(len(values), 0.5)
    stretched: Floats = (values - values.min()) / width
    return stretched

