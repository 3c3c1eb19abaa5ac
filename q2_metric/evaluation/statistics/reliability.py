"""Reliability curves and calibration errors: can scores be read as probabilities?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.values import Floats


@dataclass(frozen=True, slots=True)
class Bin:
    """``n`` scores in [low, high): their mean, and the share of consistent responses."""

    low: float
    high: float
    n: int
    score: float
    consistent: float


N_BINS = 10
"""Bins of equal width on [0, 1], as in the code of SCALE's authors."""


def reliability(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> list[Bin]:
    """The bins that contain a score; the last one includes 1.

    Raises:
        InputError: a score is outside [0, 1]; :func:`min_max` maps scores into it.
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
    """The expected calibration error, in [0, 1] (Naeini, Cooper and Hauskrecht, AAAI 2015)."""
    filled = reliability(truth, scores, bins=bins)
    n = sum(bin_.n for bin_ in filled)
    if not n:
        raise InputError("a calibration error needs at least one response")
    return float(sum(bin_.n * abs(bin_.consistent - bin_.score) for bin_ in filled) / n)


def min_max(scores: ArrayLike) -> Floats:
    """The scores mapped linearly to [0, 1], as SCALE's authors do; equal scores become 0.5."""
    values = np.asarray(scores, np.float64)
    width = np.ptp(values) if len(values) else 0.0
    if width == 0:
        return np.full(len(values), 0.5)
    stretched: Floats = (values - values.min()) / width
    return stretched
