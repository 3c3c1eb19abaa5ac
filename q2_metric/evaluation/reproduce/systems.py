"""Simulates dialogue systems of known quality, from labelled responses (Q², section 5)."""

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import SEED, Interval, around, scipy_stats

SHARES = (0.05, 0.10, 0.15, 0.20, 0.25)
"""The simulated systems' shares of inconsistent responses (Q², section 5.1)."""
SIZE = 350
"""Responses of each system."""
ROBUSTNESS = (0, 0.05, 0.1, 0.15, 0.2, 0.25, *(i / 10 for i in range(3, 11)))
"""The shares in Q², arXiv v1, figures 4 and 5: steps of 0.1, and of 0.05 to 0.25."""
ROBUSTNESS_SIZE = 400
REPEATS = 1000
"""How often the responses of each system are drawn."""


def system_correlation(
    consistent: ArrayLike, inconsistent: ArrayLike, repeats: int = REPEATS
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
    quality = -np.asarray(SHARES)
    correlations = np.empty(repeats)
    for repeat in range(repeats):
        rows = rng.integers(0, len(good), SIZE)
        systems = np.empty(len(SHARES))
        for i, share in enumerate(SHARES):
            values = good[rows]
            spoilt = rng.choice(SIZE, round(share * SIZE), replace=False)
            values[spoilt] = bad[rows[spoilt]]
            systems[i] = values.mean()
        level = np.ptp(systems) == 0
        correlations[repeat] = 0.0 if level else scipy_stats().spearmanr(quality, systems).statistic
    return around(float(correlations.mean()), correlations)


def robustness(consistent: ArrayLike, inconsistent: ArrayLike) -> list[Interval]:
    """The mean score of simulated systems, for each share in :data:`ROBUSTNESS`."""
    good, bad = np.asarray(consistent, np.float64), np.asarray(inconsistent, np.float64)
    if not len(good) or not len(bad):
        raise InputError("robustness needs consistent and inconsistent responses")
    rng = np.random.default_rng(SEED)
    points = []
    for share in ROBUSTNESS:
        spoilt = round(share * ROBUSTNESS_SIZE)
        sums = rng.choice(bad, (REPEATS, spoilt)).sum(axis=1)
        sums += rng.choice(good, (REPEATS, ROBUSTNESS_SIZE - spoilt)).sum(axis=1)
        points.append(around(float((sums / ROBUSTNESS_SIZE).mean()), sums / ROBUSTNESS_SIZE))
    return points
