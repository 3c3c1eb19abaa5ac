"""Converts labels and scores to arrays, and imports optional libraries (the extra ``meta``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from q2_metric.errors import InputError, optional

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]


def scipy_stats() -> Any:
    return optional("scipy.stats", "agreement with people", "scipy", "meta")


def sklearn_metrics() -> Any:
    return optional("sklearn.metrics", "agreement with people", "scikit-learn", "meta")


def checked(truth: ArrayLike, scores: ArrayLike) -> tuple[Bools, Floats]:
    """Converts labels and scores to arrays.

    Raises:
        InputError: lengths differ, all labels are equal, or a score is not finite.
    """
    labels, values = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if len(labels) != len(values):
        raise InputError(f"{len(labels)} labels for {len(values)} scores")
    if labels.all() or not labels.any():
        raise InputError("the labels are all the same; agreement needs both classes")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number")
    return labels, values
