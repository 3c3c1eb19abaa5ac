"""How well scores separate consistent from inconsistent responses."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from q2_metric.evaluation.statistics.values import checked, sklearn_metrics

THRESHOLD = 0.5
"""A response counts as consistent if its score is above 0.5 (Q², section 5.1)."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """All values are in [0, 1]. The precision of a class that was never chosen is 0."""

    accuracy: float
    balanced_accuracy: float
    consistent_precision: float
    consistent_recall: float
    inconsistent_precision: float
    inconsistent_recall: float
    macro_f1: float


def detection(truth: ArrayLike, scores: ArrayLike, threshold: float = THRESHOLD) -> Decisions:
    """Accuracy, precision and recall if a score above the threshold means consistent."""
    labels, values = checked(truth, scores)
    predicted = values > threshold
    precision, recall, f1, _ = sklearn_metrics().precision_recall_fscore_support(
        labels, predicted, labels=[True, False], zero_division=0.0
    )
    return Decisions(
        accuracy=float((predicted == labels).mean()),
        balanced_accuracy=float(recall.mean()),
        consistent_precision=float(precision[0]),
        consistent_recall=float(recall[0]),
        inconsistent_precision=float(precision[1]),
        inconsistent_recall=float(recall[1]),
        macro_f1=float(f1.mean()),
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """The rates if responses whose score is at least ``threshold[i]`` are found."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    threshold: tuple[float, ...]


def roc_curve(truth: ArrayLike, scores: ArrayLike) -> Curve:
    """The false positive rate (x) and the true positive rate (y); positive means consistent."""
    labels, values = checked(truth, scores)
    false, true, thresholds = sklearn_metrics().roc_curve(labels, values)
    return Curve(*(tuple(axis[1:].tolist()) for axis in (false, true, thresholds)))


def precision_recall(truth: ArrayLike, scores: ArrayLike, *, consistent: bool = True) -> Curve:
    """The recall (x) and the precision (y) of one class at each threshold.

    With ``consistent=False``, responses whose score is at most the threshold are found.
    """
    labels, values = checked(truth, scores)
    sign = 1 if consistent else -1
    precision, recall, thresholds = sklearn_metrics().precision_recall_curve(
        labels if consistent else ~labels, sign * values
    )
    axes = (recall[:-1], precision[:-1], sign * thresholds)
    return Curve(*(tuple(axis.tolist()) for axis in axes))
