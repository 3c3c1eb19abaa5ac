"""The statistics of the experiments, on plain arrays.

``truth`` is true for each response that people found consistent, and a higher score means more
consistent. Random numbers are drawn with the seed :data:`SEED`. A function raises InputError if its
statistic is not defined for the data, such as the AUC if all labels are equal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from q2_metric.errors import InputError, optional
from q2_metric.metrics.bootstrap import N_BOOTSTRAP as N_BOOTSTRAP
from q2_metric.metrics.bootstrap import SEED as SEED
from q2_metric.metrics.bootstrap import percentiles, resampled

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

THRESHOLD = 0.5
"""A response counts as consistent if its score is above 0.5 (Q², section 5.1)."""
N_BINS = 10
"""Bins of equal width on [0, 1], as in the code of SCALE's authors."""
N_PERMUTATIONS = 10_000
"""As in ``q2 compare``. With 1,000, a p-value of 0.04 may come out as 0.06."""
_RANKED_AT_ONCE = 1 << 21
"""Scores that the permutation test ranks in one call (about 50 MB)."""


def scipy_stats() -> Any:
    return optional("scipy.stats", "agreement with people", "scipy", "meta")


def sklearn_metrics() -> Any:
    return optional("sklearn.metrics", "agreement with people", "scikit-learn", "meta")


def checked(truth: ArrayLike, scores: ArrayLike) -> tuple[Bools, Floats]:
    """Converts labels and scores to arrays. InputError: lengths differ, all labels are equal, or a
    score is not finite."""
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(labels) != len(values):
        raise InputError(f"{len(labels)} labels for {len(values)} scores")
    if labels.all() or not labels.any():
        raise InputError("the labels are all the same; agreement needs both classes")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number")
    return labels, values


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def around(value: float, drawn: Floats) -> Interval:
    """A statistic with the 95 % percentile interval of its bootstrap resamples ``drawn``."""
    return Interval(value, *percentiles(drawn))


def share_interval(hits: ArrayLike) -> Interval:
    """The mean of numbers, at least one, with its 95 % bootstrap percentile interval."""
    values = np.asarray(hits, np.float64)
    return around(float(values.mean()),
                  resampled(len(values), lambda rows: values[rows].mean(axis=1)))


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
    drawn = _of_both_classes(labels, lambda rows: aucs(labels[rows], values[rows]))
    return around(roc_auc(labels, values), drawn)


def auc_difference(truth: ArrayLike, first: ArrayLike, second: ArrayLike) -> tuple[Interval, float]:
    """The AUC of the ``first`` scores minus that of the ``second`` on the same responses, with the
    interval of a paired bootstrap, and the p-value of a test whether it differs from 0: a two-sided
    permutation test, which swaps the ranks of the two metrics for random responses (Bandos,
    Rockette and Gur, 2005). The lowest possible is ``2 / (N_PERMUTATIONS + 1)``."""
    labels, one = checked(truth, first)
    _, other = checked(truth, second)
    drawn = _of_both_classes(
        labels, lambda rows: aucs(labels[rows], one[rows]) - aucs(labels[rows], other[rows]))
    # The permutation swaps ranks within a response, so the labels stay in place.
    tested = scipy_stats().permutation_test(
        [scipy_stats().rankdata(values) for values in (one, other)],
        lambda a, b, axis: aucs(labels, a) - aucs(labels, b),
        permutation_type="samples", n_resamples=N_PERMUTATIONS, vectorized=True,
        batch=max(1, _RANKED_AT_ONCE // len(labels)), rng=np.random.default_rng(SEED))
    value = roc_auc(labels, one) - roc_auc(labels, other)
    return around(value, drawn), float(tested.pvalue)


def _of_both_classes(labels: Bools, measure: Callable[[Places], Floats]) -> Floats:
    """The statistics of resamples that contain responses of both classes."""
    return resampled(len(labels), measure, usable=lambda rows: np.not_equal(
        labels[rows].any(axis=1), labels[rows].all(axis=1)))


def aucs(labels: Bools, values: Floats) -> Floats:
    """The ROC-AUC of each row, from ranks (Mann and Whitney): (rows, responses) -> (rows,).
    scikit-learn computes one AUC at a time, thousands of times slower."""
    ranks = scipy_stats().rankdata(values, axis=-1)
    positive = labels.sum(axis=-1)
    negative = labels.shape[-1] - positive
    above = (ranks * labels).sum(axis=-1) - positive * (positive + 1) / 2
    areas: Floats = above / (positive * negative)
    return areas


def correlation(
    name: Literal["spearmanr", "kendalltau", "pearsonr"], first: ArrayLike, second: ArrayLike
) -> Interval:
    """A correlation of scipy; Kendall's is τ-b."""
    measure = getattr(scipy_stats(), name)
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(x) != len(y) or len(x) < 3:
        raise InputError(f"a correlation needs at least 3 pairs; there are {len(x)} and {len(y)} "
                         "values")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError("a correlation is undefined if all values are equal")

    drawn = resampled(
        len(x), lambda draws: np.array([measure(x[i], y[i]).statistic for i in draws], np.float64),
        usable=lambda draws: (np.ptp(x[draws], axis=1) > 0) & (np.ptp(y[draws], axis=1) > 0))
    return around(float(measure(x, y).statistic), drawn)


def detection(
    truth: ArrayLike, scores: ArrayLike, threshold: float = THRESHOLD
) -> dict[str, float]:
    """How good the decisions are if a score above the threshold means consistent: by the titles of
    columns, values in [0, 1]. The precision of a class that was never chosen is 0."""
    labels, values = checked(truth, scores)
    predicted = values > threshold
    precision, recall, f1, _ = sklearn_metrics().precision_recall_fscore_support(
        labels, predicted, labels=[True, False], zero_division=0.0)
    found = {"accuracy": (predicted == labels).mean(), "balanced accuracy": recall.mean(),
             "F1-macro": f1.mean()}
    for i, side in enumerate(("consistent", "inconsistent")):
        found |= {f"{side}: precision": precision[i], f"{side}: recall": recall[i]}
    return {name: float(value) for name, value in found.items()}


Curve = dict[Literal["x", "y", "threshold"], Floats]
"""The rates if responses whose score is at least ``threshold[i]`` are found."""


def roc_curve(truth: ArrayLike, scores: ArrayLike) -> Curve:
    """The false positive rate (x) and the true positive rate (y); positive means consistent."""
    labels, values = checked(truth, scores)
    false, true, thresholds = sklearn_metrics().roc_curve(labels, values)
    return {"x": false[1:], "y": true[1:], "threshold": thresholds[1:]}


def precision_recall(truth: ArrayLike, scores: ArrayLike, *, consistent: bool = True) -> Curve:
    """The recall (x) and the precision (y) of one class at each threshold. With
    ``consistent=False``, responses whose score is at most the threshold are found."""
    labels, values = checked(truth, scores)
    sign = 1 if consistent else -1
    precision, recall, thresholds = sklearn_metrics().precision_recall_curve(
        labels if consistent else ~labels, sign * values)
    return {"x": recall[:-1], "y": precision[:-1], "threshold": sign * thresholds}


def best_threshold(
    truth: ArrayLike, scores: ArrayLike, *,
    rule: Literal["balanced_accuracy", "macro_f1"] = "balanced_accuracy",
    precision: float | None = None,
) -> float:
    """The best threshold half-way between two neighbouring scores, the lowest of equally good ones.

    It maximises ``rule``, or, with a minimum ``precision`` in (0, 1], the recall of consistent
    responses. InputError: all labels are equal, or the precision cannot be reached."""
    labels, values = checked(truth, scores)
    positive, negative = labels.sum(), (~labels).sum()
    # At point i, responses that score at least order[i] count as consistent. The first point, at
    # which no response does, is left out.
    false, recall, order = (
        axis[1:] for axis in sklearn_metrics().roc_curve(labels, values, drop_intermediate=False))
    specificity, hits = 1 - false, recall * positive
    found = hits + false * negative
    if precision is not None:
        good = hits / found >= precision - 1e-12
        if not good.any():
            raise InputError(f"no threshold reaches a precision of {precision:g}; the highest is "
                             f"{(hits / found).max():.3f}")
    else:
        measure = (recall + specificity) / 2
        if rule == "macro_f1":
            right = specificity * negative
            wrong = len(labels) - hits - right
            measure = hits / (2 * hits + wrong) + right / (2 * right + wrong)
        good = measure >= measure.max() - 1e-12
    place = int(np.flatnonzero(good)[-1])
    if place + 1 < len(order):
        return float((order[place] + order[place + 1]) / 2)
    return float(order[place] - 1e-6 * max(1.0, abs(order[place])))


class Bin(NamedTuple):
    """``n`` scores in [low, high): their mean, and the share of consistent responses."""

    low: float
    high: float
    n: int
    score: float
    consistent: float


def reliability(truth: ArrayLike, scores: ArrayLike, *, bins: int = N_BINS) -> list[Bin]:
    """The bins that contain a score; the last one includes 1. InputError: a score is outside [0,
    1]; :func:`min_max` maps scores into it."""
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise InputError("a reliability curve needs scores in [0, 1]")
    places = np.minimum((values * bins).astype(int), bins - 1)
    inside = {i: places == i for i in np.unique(places).tolist()}
    return [Bin(i / bins, (i + 1) / bins, int(rows.sum()), float(values[rows].mean()),
                float(labels[rows].mean())) for i, rows in inside.items()]


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
    """Spearman's correlation between the mean scores of simulated systems and their quality. As in
    the authors' code (sys_level.py), all systems of a repeat have the same contexts, drawn with
    replacement. A repeat in which all systems have equal scores counts as 0. The result is the mean
    over the repeats, with the 2.5th and 97.5th percentiles."""
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
