"""Every statistic of the experiments, on plain arrays, from numpy, scipy and scikit-learn.

``truth`` is true where people found a response consistent; ``scores`` rise with
consistency. Each function that draws at random takes a seed, 0 unless said otherwise.

Raises throughout: InputError where a statistic is not defined, as an AUC of one class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from q2_metric.errors import InputError, MissingExtra

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SEED = 0
"""Of every experiment."""

N_BOOTSTRAP = 1000
"""Resamples behind an interval."""

LEVEL = 0.95

THRESHOLD = 0.5
"""Above it a response counts as consistent; 0.5 itself is inconsistent (Q², section 5.1)."""

N_BINS = 10
"""Of the reliability curve, equally wide on [0, 1] (the code of SCALE's authors)."""

SYSTEM_SHARES = (0.05, 0.10, 0.15, 0.20, 0.25)
"""Shares of inconsistent responses of the simulated systems (Q², section 5.1)."""

SYSTEM_SIZE = 350
"""Contexts drawn for a set of simulated systems (Q², section 5.1)."""

SYSTEM_REPEATS = 1000
"""Sets of simulated systems (Q², section 5.1)."""

ROBUSTNESS_SHARES = tuple(i / 10 for i in range(11))
ROBUSTNESS_SIZE = 400
"""Responses of a simulated system of the robustness curve (the authors' code)."""

_DRAWS_AT_ONCE = 1 << 21
"""Values ranked at a time (about 50 MB with their ranks)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def _scipy_stats() -> Any:
    try:
        import scipy.stats
    except ImportError as error:
        raise MissingExtra("agreement with people", "scipy", "meta") from error
    return scipy.stats


def _sklearn_metrics() -> Any:
    try:
        import sklearn.metrics
    except ImportError as error:
        raise MissingExtra("agreement with people", "scikit-learn", "meta") from error
    return sklearn.metrics


# --- detection: ROC, precision and recall ---------------------------------------------------


def roc_auc(truth: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve, in [0, 1]; equal scores count half."""
    labels, values = checked(truth, scores)
    return float(_sklearn_metrics().roc_auc_score(labels, values))


def auc_interval(
    truth: ArrayLike, scores: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
) -> Interval:
    """ROC-AUC with its bootstrap percentile interval over responses.

    Resamples with only one class are drawn again.
    """
    labels, values = checked(truth, scores)
    drawn = _bootstrap(labels, lambda rows: _aucs(labels[rows], values[rows]), n_bootstrap, seed)
    return _interval(roc_auc(labels, values), drawn)


@dataclass(frozen=True, slots=True)
class Difference:
    """AUC of one metric minus that of another on the same responses.

    ``interval`` is the paired bootstrap's, ``p`` the two-sided permutation test's.
    """

    interval: Interval
    p: float


def auc_difference(
    truth: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_resamples: int = N_BOOTSTRAP,
    seed: int = SEED,
) -> Difference:
    """AUC of ``first`` minus AUC of ``second``, and whether chance explains it.

    The test exchanges the two metrics' ranks of a response at random (Bandos, Rockette
    and Gur, 2005); ``p`` cannot fall under ``1 / (n_resamples + 1)`` times two.
    """
    labels, one = checked(truth, first)
    _, other = checked(truth, second)
    ranks = [_scipy_stats().rankdata(values) for values in (one, other)]

    def difference(a: Floats, b: Floats, axis: int = -1) -> Floats:
        # The labels belong to the positions, which the permutation keeps.
        return _aucs_last(labels, np.moveaxis(a, axis, -1)) - _aucs_last(
            labels, np.moveaxis(b, axis, -1)
        )

    tested = _scipy_stats().permutation_test(
        ranks,
        difference,
        permutation_type="samples",
        n_resamples=n_resamples,
        batch=max(1, _DRAWS_AT_ONCE // len(labels)),
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    drawn = _bootstrap(
        labels,
        lambda rows: _aucs(labels[rows], one[rows]) - _aucs(labels[rows], other[rows]),
        n_resamples,
        seed,
    )
    value = roc_auc(labels, one) - roc_auc(labels, other)
    return Difference(_interval(value, drawn), float(tested.pvalue))


@dataclass(frozen=True, slots=True)
class Detection:
    """Decisions at a threshold: shares in [0, 1], precision 0 where nothing is found."""

    accuracy: float
    balanced_accuracy: float
    consistent_precision: float
    consistent_recall: float
    inconsistent_precision: float
    inconsistent_recall: float


def detection(
    truth: ArrayLike, scores: ArrayLike, threshold: float = THRESHOLD
) -> Detection:
    """How well ``score > threshold`` tells consistent from inconsistent responses."""
    labels, values = checked(truth, scores)
    found = values > threshold
    precision, recall, _, _ = _sklearn_metrics().precision_recall_fscore_support(
        labels, found, labels=[True, False], zero_division=0.0
    )
    return Detection(
        accuracy=float((found == labels).mean()),
        balanced_accuracy=float(recall.mean()),
        consistent_precision=float(precision[0]),
        consistent_recall=float(recall[0]),
        inconsistent_precision=float(precision[1]),
        inconsistent_recall=float(recall[1]),
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of a curve over all thresholds.

    ``threshold[i]`` belongs to the point ``i``: what scores at least it is found.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    threshold: tuple[float, ...]


def roc_curve(truth: ArrayLike, scores: ArrayLike) -> Curve:
    """False positive rate and true positive rate over all thresholds."""
    labels, values = checked(truth, scores)
    false, true, thresholds = _sklearn_metrics().roc_curve(labels, values)
    return Curve(_floats(false[1:]), _floats(true[1:]), _floats(thresholds[1:]))


def precision_recall(
    truth: ArrayLike, scores: ArrayLike, *, consistent: bool = True
) -> Curve:
    """Recall (x) and precision (y) of finding one class, over all thresholds.

    ``consistent=False`` finds inconsistent responses by low scores: what scores at most
    the threshold is found.
    """
    labels, values = checked(truth, scores)
    if consistent:
        precision, recall, thresholds = _sklearn_metrics().precision_recall_curve(labels, values)
    else:
        precision, recall, thresholds = _sklearn_metrics().precision_recall_curve(
            ~labels, -values
        )
        thresholds = -thresholds
    return Curve(_floats(recall[:-1]), _floats(precision[:-1]), _floats(thresholds))


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """Area under the precision-recall curve of consistent responses, as a step function."""
    labels, values = checked(truth, scores)
    return float(_sklearn_metrics().average_precision_score(labels, values))


# --- correlation ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation coefficient, its bootstrap interval over pairs, and its p-value."""

    interval: Interval
    p: float


def spearman(
    first: ArrayLike, second: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
) -> Correlation:
    """Spearman's rank correlation of two series."""
    return _correlation(_scipy_stats().spearmanr, first, second, n_bootstrap, seed)


def pearson(
    first: ArrayLike, second: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
) -> Correlation:
    """Pearson's correlation of two series."""
    return _correlation(_scipy_stats().pearsonr, first, second, n_bootstrap, seed)


def _correlation(
    measure: Callable[..., Any], first: ArrayLike, second: ArrayLike, n: int, seed: int
) -> Correlation:
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(x) != len(y) or len(x) < 3:
        raise InputError(f"a correlation needs 3 pairs at least; there are {len(x)} and {len(y)}")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError("a correlation is not defined where all values are equal")
    found = measure(x, y)
    rng = np.random.default_rng(seed)
    drawn: list[float] = []
    while len(drawn) < n:
        rows = rng.integers(0, len(x), len(x))
        if np.ptp(x[rows]) and np.ptp(y[rows]):
            drawn.append(float(measure(x[rows], y[rows]).statistic))
    return Correlation(_interval(float(found.statistic), np.array(drawn)), float(found.pvalue))


# --- systems of a known quality (Q², section 5.1) -------------------------------------------


def system_correlation(
    consistent: ArrayLike,
    inconsistent: ArrayLike,
    *,
    shares: Sequence[float] = SYSTEM_SHARES,
    size: int = SYSTEM_SIZE,
    repeats: int = SYSTEM_REPEATS,
    seed: int = SEED,
) -> Interval:
    """Spearman between a simulated system's score and its share of consistent responses.

    Each repeat draws ``size`` contexts with replacement, the same for all its systems, as in
    the authors' code (sys_level.py); for each share c, the inconsistent response is taken in
    ``round(c * size)`` of them, drawn anew, and the consistent one in the others. The system's
    score is the mean. Where all scores of a repeat are equal, the correlation is taken as 0.

    Args:
        consistent, inconsistent: scores of the two responses of each context, in the same
            order of contexts.

    Returns:
        The mean over the repeats, and the 2.5th and 97.5th percentile of the repeats.
    """
    good, bad = np.asarray(consistent, np.float64), np.asarray(inconsistent, np.float64)
    if len(good) != len(bad) or not len(good):
        raise InputError(f"{len(good)} consistent and {len(bad)} inconsistent responses: no pairs")
    rng = np.random.default_rng(seed)
    quality = -np.asarray(shares)
    drawn = np.empty(repeats)
    for repeat in range(repeats):
        rows = rng.integers(0, len(good), size)
        systems = np.empty(len(shares))
        for i, share in enumerate(shares):
            values = good[rows]
            spoilt = rng.choice(size, round(share * size), replace=False)
            values[spoilt] = bad[rows[spoilt]]
            systems[i] = values.mean()
        level = np.ptp(systems) == 0
        drawn[repeat] = 0.0 if level else _scipy_stats().spearmanr(quality, systems).statistic
    return _interval(float(drawn.mean()), drawn)


def robustness(
    consistent: ArrayLike,
    inconsistent: ArrayLike,
    *,
    shares: Sequence[float] = ROBUSTNESS_SHARES,
    size: int = ROBUSTNESS_SIZE,
    repeats: int = SYSTEM_REPEATS,
    seed: int = SEED,
) -> list[Interval]:
    """Mean score of simulated systems, for each share of inconsistent responses.

    A system is ``size`` responses drawn with replacement, ``round(share * size)`` from the
    inconsistent ones (Q², section 5.4; the authors' code).
    """
    good, bad = np.asarray(consistent, np.float64), np.asarray(inconsistent, np.float64)
    if not len(good) or not len(bad):
        raise InputError("robustness needs consistent and inconsistent responses")
    rng = np.random.default_rng(seed)
    found = []
    for share in shares:
        spoilt = round(share * size)
        sums = rng.choice(bad, (repeats, spoilt)).sum(axis=1)
        sums += rng.choice(good, (repeats, size - spoilt)).sum(axis=1)
        found.append(_interval(float((sums / size).mean()), sums / size))
    return found


# --- calibration ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability curve: responses in it, their mean score, share consistent."""

    low: float
    high: float
    n: int
    score: float
    consistent: float


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
        raise InputError("a calibration error needs responses")
    return float(sum(one.n * abs(one.consistent - one.score) for one in found) / n)


def min_max(scores: ArrayLike) -> Floats:
    """The scores stretched to [0, 1], as SCALE's authors do before an ECE; all equal: 0.5."""
    values = np.asarray(scores, np.float64)
    width = np.ptp(values) if len(values) else 0.0
    if width == 0:
        return np.full(len(values), 0.5)
    stretched: Floats = (values - values.min()) / width
    return stretched


# --- shared ---------------------------------------------------------------------------------


def share_interval(
    hits: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
) -> Interval:
    """A mean (of shares, of zeros and ones) with its bootstrap percentile interval."""
    from q2_metric.metrics.system import bootstrap_interval

    values = np.asarray(hits, np.float64)
    ends = bootstrap_interval(list(values), n_bootstrap=n_bootstrap, seed=seed)
    if ends is None:
        raise InputError("a mean needs a value")
    return Interval(float(values.mean()), *ends)


def checked(truth: ArrayLike, scores: ArrayLike) -> tuple[Bools, Floats]:
    """Labels and scores as arrays.

    Raises:
        InputError: not as many of both, one class only, or a score that is not finite.
    """
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(labels) != len(values):
        raise InputError(f"{len(labels)} labels for {len(values)} scores")
    if labels.all() or not labels.any():
        raise InputError("the labels are all the same; agreement needs both classes")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number")
    return labels, values


def _aucs(labels: Bools, values: Floats) -> Floats:
    """ROC-AUC of each row: the share of pairs in the right order (Mann and Whitney)."""
    ranks = _scipy_stats().rankdata(values, axis=-1)
    positive = labels.sum(axis=-1)
    negative = labels.shape[-1] - positive
    above = (ranks * labels).sum(axis=-1) - positive * (positive + 1) / 2
    found: Floats = above / (positive * negative)
    return found


def _aucs_last(labels: Bools, values: Floats) -> Floats:
    return _aucs(np.broadcast_to(labels, values.shape), values)


def _bootstrap(
    labels: Bools, measure: Callable[[NDArray[np.int64]], Floats], n: int, seed: int
) -> Floats:
    """``measure`` of ``n`` resamples of rows, both classes in each; it takes many at once."""
    rng = np.random.default_rng(seed)
    at_once = max(1, _DRAWS_AT_ONCE // len(labels))
    found: list[Floats] = []
    missing = n
    while missing > 0:
        rows = rng.integers(0, len(labels), (min(at_once, missing), len(labels)))
        drawn = labels[rows]
        rows = rows[drawn.any(axis=1) & ~drawn.all(axis=1)]
        missing -= len(rows)
        if len(rows):
            found.append(measure(rows))
    return np.concatenate(found) if found else np.empty(0)


def _interval(value: float, drawn: Floats) -> Interval:
    if not len(drawn):
        return Interval(value, value, value)
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Interval(value, float(low), float(high))


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
