"""Finds the best threshold: responses with a higher score count as consistent."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics.values import checked, sklearn_metrics

Rule = Literal["balanced_accuracy", "macro_f1"]


def best_threshold(
    truth: ArrayLike,
    scores: ArrayLike,
    *,
    rule: Rule = "balanced_accuracy",
    precision: float | None = None,
) -> float:
    """The best threshold half-way between two neighbouring scores, the lowest of equally good ones.

    Args:
        rule: the statistic that the threshold maximises.
        precision: a minimum precision in (0, 1], which replaces ``rule``. The threshold then has
            the highest recall of consistent responses for which the precision is reached.

    Raises:
        InputError: all labels are equal, or the precision cannot be reached.
    """
    if precision is not None and not 0 < precision <= 1:
        raise InputError(f"the precision must be above 0 and at most 1, not {precision}")
    labels, values = checked(truth, scores)
    positive, negative = labels.sum(), (~labels).sum()
    # At point i, responses that score at least order[i] count as consistent. The first point, at
    # which no response does, is left out.
    false, recall, order = (
        axis[1:] for axis in sklearn_metrics().roc_curve(labels, values, drop_intermediate=False)
    )
    specificity, hits = 1 - false, recall * positive
    found = hits + false * negative
    if precision is not None:
        good = hits / found >= precision - 1e-12
        if not good.any():
            raise InputError(
                f"no threshold reaches a precision of {precision:g}; the highest is "
                f"{(hits / found).max():.3f}"
            )
        place = int(np.flatnonzero(good)[-1])
    else:
        measure = (recall + specificity) / 2
        if rule == "macro_f1":
            right = specificity * negative
            wrong = len(labels) - hits - right
            measure = hits / (2 * hits + wrong) + right / (2 * right + wrong)
        place = int(np.flatnonzero(measure >= measure.max() - 1e-12)[-1])
    if place + 1 < len(order):
        return float((order[place] + order[place + 1]) / 2)
    return float(order[place] - 1e-6 * max(1.0, abs(order[place])))
