"""The area under the ROC curve (AUC) of a metric, and the difference of two metrics' areas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.evaluation.statistics.intervals import Interval, Tested, around
from q2_metric.evaluation.statistics.values import (
    Bools,
    Floats,
    Places,
    checked,
    scipy_stats,
    sklearn_metrics,
)
from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED, resampled

_RANKED_AT_ONCE = 1 << 21
"""Scores that the permutation test ranks in one call (about 50 MB)."""


def roc_auc(truth: ArrayLike, scores: ArrayLike) -> float:
    """The area under the ROC curve, in [0, 1]; a tie counts as half right."""
    labels, values = checked(truth, scores)
    return float(sklearn_metrics().roc_auc_score(labels, values))


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """The area under the precision-recall curve as a step function, in [0, 1]."""
    labels, values = checked(truth, scores)
    return float(sklearn_metrics().average_precision_score(labels, values))


def auc_interval(truth: ArrayLike, scores: ArrayLike) -> Interval:
    """The ROC-AUC with its 95 % percentile interval, from a bootstrap over responses."""
    labels, values = checked(truth, scores)
    drawn = resampled(
        len(labels), lambda rows: aucs(labels[rows], values[rows]), usable=_both_classes(labels)
    )
    return around(roc_auc(labels, values), drawn)


def auc_difference(truth: ArrayLike, first: ArrayLike, second: ArrayLike) -> Tested:
    """The AUC of the ``first`` scores minus that of the ``second``, on the same responses.

    The interval is that of a paired bootstrap. The p-value is that of a two-sided permutation test,
    which swaps the ranks of the two metrics for random responses (Bandos, Rockette and Gur, 2005);
    the lowest possible is ``2 / (N_BOOTSTRAP + 1)``.
    """
    labels, one = checked(truth, first)
    _, other = checked(truth, second)
    drawn = resampled(
        len(labels),
        lambda rows: aucs(labels[rows], one[rows]) - aucs(labels[rows], other[rows]),
        usable=_both_classes(labels),
    )
    value = roc_auc(labels, one) - roc_auc(labels, other)
    return Tested(around(value, drawn), _exchanged(labels, one, other))


def _exchanged(labels: Bools, one: Floats, other: Floats) -> float:
    def difference(a: Floats, b: Floats, axis: int = -1) -> Floats:
        # The permutation swaps values within a response, so the labels stay in place.
        kept = [np.moveaxis(ranks, axis, -1) for ranks in (a, b)]
        first, second = (aucs(np.broadcast_to(labels, ranks.shape), ranks) for ranks in kept)
        return first - second

    tested = scipy_stats().permutation_test(
        [scipy_stats().rankdata(values) for values in (one, other)],
        difference,
        permutation_type="samples",
        n_resamples=N_BOOTSTRAP,
        batch=max(1, _RANKED_AT_ONCE // len(labels)),
        vectorized=True,
        rng=np.random.default_rng(SEED),
    )
    return float(tested.pvalue)


def aucs(labels: Bools, values: Floats) -> Floats:
    """The ROC-AUC of each row, from ranks (Mann and Whitney): (rows, responses) -> (rows,).

    scikit-learn computes one AUC at a time, which is thousands of times slower for many resamples.
    """
    ranks = scipy_stats().rankdata(values, axis=-1)
    positive = labels.sum(axis=-1)
    negative = labels.shape[-1] - positive
    above = (ranks * labels).sum(axis=-1) - positive * (positive + 1) / 2
    areas: Floats = above / (positive * negative)
    return areas


def _both_classes(labels: Bools) -> Callable[[Places], Bools]:
    """For :func:`~q2_metric.metrics.bootstrap.resampled`."""

    def both(rows: Places) -> Bools:
        positive = labels[rows].sum(axis=1)
        kept: Bools = (positive > 0) & (positive < rows.shape[1])
        return kept

    return both
