"""Fits thresholds and calibrations on responses that people labelled.

What is fitted is applied by :mod:`q2_metric.metrics.calibration`, without scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.data.labelled import Labelled
from q2_metric.errors import InputError, MissingExtra
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import title
from q2_metric.evaluation.scores import number_of
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.calibration import Calibration
from q2_metric.rows.columns import Columns
from q2_metric.rows.formats import read_fields
from q2_metric.rows.read import BadRow, read_rows

Kind = Literal["isotonic", "platt"]
Rule = Literal["balanced_accuracy", "accuracy"]

FOLDS = 5
"""Of the cross-validation that says how well it will do on other responses."""

LABEL_NAMES = ("label", "consistent", "agg_label", "gold", "human")
"""Columns that are taken for the label, the first that is there."""

LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "consistent", "supported"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "inconsistent", "not_supported"), False),
}
"""Labels that are understood; case does not matter."""


# --- fitting ----------------------------------------------------------------------------


def best_threshold(
    truth: ArrayLike,
    scores: ArrayLike,
    *,
    rule: Rule = "balanced_accuracy",
    precision: float | None = None,
) -> float:
    """The threshold above which a response is best called consistent.

    It lies half-way between two neighbouring scores; of equally good ones it is the lowest.

    Args:
        rule: what is to be highest.
        precision: instead of ``rule``: the most consistent responses that can be found
            while this share, in (0, 1], of what is found is consistent.

    Raises:
        InputError: one class only, or the precision cannot be reached.
    """
    if precision is not None and not 0 < precision <= 1:
        raise InputError(f"the precision must be above 0 and at most 1, not {precision}")
    labels, values = st.checked(truth, scores)
    falling = np.argsort(-values, kind="stable")
    last = np.flatnonzero(np.diff(values[falling], append=-np.inf))  # of equal scores
    # Found are the responses that score at least order[i].
    order, found = values[falling][last], last + 1
    hits = np.cumsum(labels[falling])[last]
    positive, negative = labels.sum(), (~labels).sum()
    recall, specificity = hits / positive, 1 - (found - hits) / negative
    if precision is not None:
        good = hits / found >= precision - 1e-12
        if not good.any():
            raise InputError(
                f"no threshold has a precision of {precision:g}; the highest is "
                f"{(hits / found).max():.3f}"
            )
        place = int(np.flatnonzero(good)[-1])
    else:
        measure = (recall + specificity) / 2
        if rule == "accuracy":
            measure = (recall * positive + specificity * negative) / len(labels)
            if measure.max() < negative / len(labels):  # calling nothing consistent is best
                return float(order[0])
        place = int(np.flatnonzero(measure >= measure.max() - 1e-12)[-1])
    if place + 1 < len(order):
        return float((order[place] + order[place + 1]) / 2)
    return float(order[place] - 1e-6 * max(1.0, abs(order[place])))


def fit(
    truth: ArrayLike,
    scores: ArrayLike,
    *,
    name: str,
    metric: str,
    signature: str,
    kind: Kind = "isotonic",
    precision: float | None = None,
) -> Calibration:
    """A calibration with its threshold.

    Args:
        truth: whether people found each response consistent.
        scores: of the metric.
        name: of the calibration, for signatures.
        metric, signature: of the scores.
        kind: "isotonic": scikit-learn's isotonic regression. "platt": logistic
            regression on Platt's smoothed targets, so that classes which can be told
            apart without error do not make it infinitely steep.
        precision: as for :func:`best_threshold`, which is for balanced accuracy otherwise.

    Raises:
        InputError: one class only, scores that fall as consistency rises, or a precision
            that cannot be reached.
        MissingExtra: scikit-learn is not installed.
    """
    labels, values = st.checked(truth, scores)
    fitted = _isotonic(labels, values) if kind == "isotonic" else _platt(labels, values)
    return Calibration(
        name=name,
        metric=metric,
        kind=kind,
        threshold=best_threshold(labels, values, precision=precision),
        signature=signature,
        rule="balanced accuracy" if precision is None else f"precision >= {precision:g}",
        n=len(labels),
        **fitted,
    )


def _isotonic(labels: st.Bools, values: st.Floats) -> dict[str, Any]:
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError as error:
        raise MissingExtra("q2 calibrate", "scikit-learn", "meta") from error
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(values, labels.astype(float))
    return {
        "x": tuple(float(value) for value in model.X_thresholds_),
        "y": tuple(float(value) for value in model.y_thresholds_),
    }


def _platt(labels: st.Bools, values: st.Floats) -> dict[str, Any]:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtra("q2 calibrate", "scikit-learn", "meta") from error
    positive, negative = labels.sum(), (~labels).sum()
    target = np.where(labels, (positive + 1) / (positive + 2), 1 / (negative + 2))
    # Each response stands once in each class, weighted with its target (Platt, 1999).
    model = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    model.fit(
        np.concatenate([values, values]).reshape(-1, 1),
        np.repeat([1, 0], len(values)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope < 0:
        raise InputError("the scores fall as consistency rises; calibrate their negative")
    return {"slope": slope, "intercept": intercept}


# --- how well it does -------------------------------------------------------------------


def experiment(
    truth: Sequence[bool], scores: Sequence[float], fitted: Calibration, *,
    precision: float | None = None,
) -> Report:
    """The calibration on the responses that it was fitted on, and on held-out ones.

    Held out: each of 5 parts is judged by a calibration fitted on the other four.
    """
    labels, values = st.checked(truth, scores)
    held_out, decided = _cross_validated(labels, values, fitted, precision)
    applied = np.array([fitted.apply(value) for value in values])
    lines: list[tuple[Cell, ...]] = [
        ("score, threshold 0.5", *_row(labels, values, values > st.THRESHOLD)),
        ("calibrated, fitted on these", *_row(labels, applied, values > fitted.threshold)),
        (f"calibrated, held out ({FOLDS} parts)", *_row(labels, held_out, decided)),
    ]
    table = Table(
        "calibration",
        f"Calibration {fitted.name!r} of {title(fitted.metric)}",
        (
            Column("scores", "text"), Column("ECE"), Column("Brier score"),
            Column("accuracy", "percent"), Column("balanced accuracy", "percent"),
            Column("consistent: precision", "percent"), Column("consistent: recall", "percent"),
        ),
        tuple(lines),
        f"{int(labels.sum()):,} of {len(labels):,} responses are consistent. Threshold "
        f"{fitted.threshold:.4f} ({fitted.rule}), {fitted.kind}. ROC-AUC × 100 of the scores: "
        f"{100 * st.roc_auc(labels, values):.1f}. Parts drawn with seed {SEED}.",
    )
    panels = {"score": st.min_max(values), "calibrated, held out": held_out}
    return Report(
        name=f"calibration_{fitted.name}",
        title=f"Calibration of {title(fitted.metric)}",
        tables=(table,),
        signatures={fitted.metric: fitted.sign(fitted.signature)},
        curves={
            "reliability": {
                panel: {fitted.metric: [asdict(one) for one in st.reliability(labels, shown)]}
                for panel, shown in panels.items()
            }
        },
    )


def _row(labels: st.Bools, values: st.Floats, decided: st.Bools) -> tuple[Cell, ...]:
    inside = values.min() >= 0 and values.max() <= 1
    found = st.detection(labels, decided.astype(float))
    return (
        st.ece(labels, values) if inside else None,
        float(((values - labels) ** 2).mean()) if inside else None,
        found.accuracy,
        found.balanced_accuracy,
        found.consistent_precision,
        found.consistent_recall,
    )


def _cross_validated(
    labels: st.Bools, values: st.Floats, fitted: Calibration, precision: float | None
) -> tuple[st.Floats, st.Bools]:
    """Probabilities and decisions by calibrations that have not seen the response."""
    from sklearn.model_selection import StratifiedKFold

    least = min(labels.sum(), (~labels).sum())
    if least < FOLDS:
        raise InputError(
            f"there are only {least} responses of one class; a calibration needs {FOLDS} at least"
        )
    applied, decided = np.empty(len(values)), np.empty(len(values), bool)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for others, part in folds.split(values, labels):
        try:
            threshold = best_threshold(labels[others], values[others], precision=precision)
        except InputError:  # the precision is not reached without this part
            threshold = float(values[others].max())
        part_of = _isotonic if fitted.kind == "isotonic" else _platt
        one = Calibration(
            fitted.name, fitted.metric, fitted.kind, threshold, fitted.signature,
            **part_of(labels[others], values[others]),
        )
        applied[part] = [one.apply(value) for value in values[part]]
        decided[part] = values[part] > threshold
    return applied, decided


# --- reading ----------------------------------------------------------------------------


def read_labelled(
    path: str | Path, columns: Columns, label: str | None = None
) -> list[Labelled]:
    """The rows of a file with people's labels (see :data:`LABELS`), in order.

    Raises:
        InputError: a row cannot be read, or there is no label; the message says where.
    """
    labels = read_labels(path, label)
    rows = list(read_rows(path, columns))
    found = []
    for row, consistent in zip(rows, labels, strict=True):
        if isinstance(row, BadRow):
            raise InputError(f"{row.error}; a labelled file must be whole")
        found.append(Labelled(row, consistent))
    if not found:
        raise InputError(f"{path}: has no rows")
    return found


def read_labels(path: str | Path, label: str | None = None) -> list[bool]:
    """The labels of a file.

    Args:
        label: their column; by default the first of :data:`LABEL_NAMES` that is there.

    Raises:
        InputError: there is no such column, or a value is no label.
    """
    found: list[bool] = []
    for where, fields in read_fields(path):
        if label is None:
            by_lower = {key.strip().lower(): key for key in fields}
            label = next((by_lower[name] for name in LABEL_NAMES if name in by_lower), None)
        if label is None or label not in fields:
            columns = ", ".join(map(repr, fields))
            raise InputError(
                f"{where}: there is no column {label or 'label'!r}; the columns are {columns}; "
                "name the one with people's labels with --label"
            )
        key = str(fields[label]).strip().lower()
        if key not in LABELS:
            raise InputError(f"{where}: the label is {fields[label]!r}, not 0 or 1")
        found.append(LABELS[key])
    return found


def read_scores(path: str | Path, column: str) -> list[float]:
    """A column of numbers.

    Raises:
        InputError: there is no such column, or a value is missing or no number.
    """
    found = []
    for where, fields in read_fields(path):
        if column not in fields:
            columns = ", ".join(map(repr, fields))
            raise InputError(f"{where}: there is no column {column!r}; the columns are {columns}")
        number = number_of(fields[column], column, where)
        if number is None:
            raise InputError(f"{where}: has no score (field {column!r}); leave the row out")
        found.append(number)
    return found
