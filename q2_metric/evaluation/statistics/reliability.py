"""Are scores probabilities? Reliability curves and calibration errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.values import Floats


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability curve: responses in it, their mean score, share consistent."""

    low: float
    high: float
    n: int
    score: float
    consistent: float


N_BINS = 10
"""Of the reliability curve, equally wide on [0, 1] (the code of SCALE's authors)."""


def reliability(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> list[Bin]:
    """Bins of equal width on [0, 1] that hold a response; the last includes 1.

    Scores outside [0, 1] are refused: see :func:`min_max`.
    """
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise InputError("a reliability curve needs scores in [0, 1]")
    places = np.minimum((values * bins).astype(int), bins - 1)
    found = []
    for i in range(bins):
        inside = places == i
        if inside.any():
            found.append(
                Bin(
                    i / bins,
                    (i + 1) / bins,
                    int(inside.sum()),
                    float(values[inside].mean()),
                    float(labels[inside].mean()),
                )
            )
    return found


def ece(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> float:
    """Expected calibration error, in [0, 1]: |share consistent - mean score| by bin, weighted.

    Naeini, Cooper and Hauskrecht (AAAI 2015), with bins of equal width.
    """
    found = reliability(truth, scores, bins=bins)
    n = sum(one.n for one in found)
    if not n:
        raise InputError("a calibration error needs at least one response")
    return float(sum(one.n * abs(one.consistent - one.score) for one in found) / n)


def min_max(scores: ArrayLike) -> Floats:
    """The scores stretched to [0, 1], as SCALE's authors do before an ECE; all equal: 0.5."""
    values = np.asarray(scores, np.float64)
    width = np.ptp(values) if len(values) else 0.0
    if width == 0:
        return np.full(len(values), 0.5)
    stretched: Floats = (values - values.min()) / width
    return stretched

