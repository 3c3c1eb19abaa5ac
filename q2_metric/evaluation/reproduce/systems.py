"""Simulates dialogue systems of known quality, from labelled responses (Q², section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import SEED, Interval, around, scipy_stats


@dataclass(frozen=True, slots=True)
class Simulation:
    """``shares`` are the systems' shares of inconsistent responses, in [0, 1]. The ``size``
    responses of each system are drawn ``repeats`` times."""

    shares: tuple[float, ...]
    size: int
    repeats: int = 1000


SYSTEMS = Simulation((0.05, 0.10, 0.15, 0.20, 0.25), size=350)
"""Q², section 5.1."""

ROBUSTNESS = Simulation((0, 0.05, 0.1, 0.15, 0.2, 0.25, *(i / 10 for i in range(3, 11))), size=400)
"""Q², arXiv v1, figures 4 and 5: steps of 0.1, and of 0.05 to 0.25."""


def system_correlation(
    consistent: ArrayLike, inconsistent: ArrayLike, drawn: Simulation = SYSTEMS
) -> Interval:
    """Spearman's correlation between the mean scores of simulated systems and their quality.

    As in the authors' code (sys_level.py), all systems of a repeat have the same contexts, drawn
    with replacement. A repeat in which all systems have equal scores counts as 0. The result is the
    mean over the repeats, with the 2.5th and 97.5th percentiles.
    """
    good, bad = np.asarray(consistent, np.float64), np.asarray(inconsistent, np.float64)
    if len(good) != len(bad) or not len(good):
        raise InputError(f"there are {len(good)} consistent and {len(bad)} inconsistent responses; "
                         "each context needs one of both")
    rng = np.random.default_rng(SEED)
    quality = -np.asarray(drawn.shares)
    correlations = np.empty(drawn.repeats)
    for repeat in range(drawn.repeats):
        rows = rng.integers(0, len(good), drawn.size)
        systems = np.empty(len(drawn.shares))
        for i, share in enumerate(drawn.shares):
            values = good[rows]
            spoilt = rng.choice(drawn.size, round(share * drawn.size), replace=False)
            values[spoilt] = bad[rows[spoilt]]
            systems[i] = values.mean()
        level = np.ptp(systems) == 0
        correlations[repeat] = 0.0 if level else scipy_stats().spearmanr(quality, systems).statistic
    return around(float(correlations.mean()), correlations)


def robustness(
    consistent: ArrayLike, inconsistent: ArrayLike, drawn: Simulation = ROBUSTNESS
) -> list[Interval]:
    """The mean score of simulated systems, for each share of inconsistent responses."""
    good, bad = np.asarray(consistent, np.float64), np.asarray(inconsistent, np.float64)
    if not len(good) or not len(bad):
        raise InputError("robustness needs consistent and inconsistent responses")
    rng = np.random.default_rng(SEED)
    points = []
    for share in drawn.shares:
        spoilt = round(share * drawn.size)
        sums = rng.choice(bad, (drawn.repeats, spoilt)).sum(axis=1)
        sums += rng.choice(good, (drawn.repeats, drawn.size - spoilt)).sum(axis=1)
        points.append(around(float((sums / drawn.size).mean()), sums / drawn.size))
    return points
