"""Fits calibrations and their thresholds to responses with human labels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from q2_metric.data.readers import Labelled
from q2_metric.errors import InputError, optional
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.agreement import probable
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.calibration import Calibration
from q2_metric.metrics.registry import title
from q2_metric.rows.columns import LABELS, Columns
from q2_metric.rows.read import BadRow, read_rows

Kind = Literal["isotonic", "platt"]

FOLDS = 5
"""Parts in the cross-validation."""


def read_labelled(path: str | Path, columns: Columns, form: str | None = None) -> list[Labelled]:
    """Reads the rows of a file with their human labels, in any format that ``q2 score`` reads.
    Texts may be blank. InputError: a row cannot be read or has no label; the message names it."""
    labelled = []
    notes: list[str] = []
    read = read_rows(path, columns, blank=True, form=form, on_note=notes.append)
    for number, row in enumerate(read, start=1):
        if isinstance(row, BadRow):
            raise InputError(f"{row.error}; every row of a labelled file must be readable")
        if row.label is None:
            raise InputError("; ".join([
                *notes, f"{path}, row {number}: has no human label (one of {', '.join(LABELS)}); "
                "name the column of the labels with --label"]))
        labelled.append(Labelled(row, row.label))
    if not labelled:
        raise InputError(f"{path}: has no rows")
    return labelled


def fit(
    truth: ArrayLike, scores: ArrayLike, *, name: str, metric: str, signature: str,
    kind: Kind = "isotonic", precision: float | None = None,
) -> Calibration:
    """Fits a calibration and its threshold.

    Args:
        kind: "isotonic" (scikit-learn), or "platt": a logistic regression on Platt's smoothed
            targets, which stays finite for perfectly separable classes.
        precision: minimum precision of the threshold (see ``best_threshold``). With ``None``,
            the threshold maximises balanced accuracy.

    InputError: all labels are equal, scores fall as consistency rises, or the precision cannot be
    reached. MissingExtra: scikit-learn is not installed."""
    labels, values = st.checked(truth, scores)
    fitted = _fitted(kind, labels, values)
    if st.roc_auc(labels, values) < 0.5 or fitted.get("slope", 0) < 0:
        raise InputError("higher scores go with inconsistent labels: do the labels mean the "
                         "opposite (1 is consistent)?")
    return Calibration(
        name=name, metric=metric, kind=kind, signature=signature, n=len(labels),
        threshold=st.best_threshold(labels, values, precision=precision),
        rule="balanced accuracy" if precision is None else f"precision >= {precision:g}",
        **fitted)


def _fitted(kind: Kind, labels: st.Bools, values: st.Floats) -> dict[str, Any]:
    """What the kind of calibration learns: fields of :class:`Calibration`."""
    if kind == "isotonic":
        isotonic = optional("sklearn.isotonic", "q2 calibrate", "scikit-learn", "meta")
        model = isotonic.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        model.fit(values, labels.astype(float))
        return {"x": tuple(model.X_thresholds_.tolist()), "y": tuple(model.y_thresholds_.tolist())}
    linear_model = optional("sklearn.linear_model", "q2 calibrate", "scikit-learn", "meta")
    positive, negative = labels.sum(), (~labels).sum()
    target = np.where(labels, (positive + 1) / (positive + 2), 1 / (negative + 2))
    # Each response occurs once in each class, weighted with its target (Platt, 1999).
    model = linear_model.LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    model.fit(
        np.concatenate([values, values]).reshape(-1, 1), np.repeat([1, 0], len(values)),
        sample_weight=np.concatenate([target, 1 - target]))
    return {"slope": float(model.coef_[0, 0]), "intercept": float(model.intercept_[0])}


def experiment(
    truth: Sequence[bool], scores: Sequence[float], fitted: Calibration, *,
    precision: float | None = None, left_out: int = 0,
) -> Report:
    """Measures a calibration on the responses on which it was fitted, and by cross-validation.
    ``left_out`` is the number of further responses, which have no score."""
    labels, values = st.checked(truth, scores)
    held_out, decided = _cross_validated(labels, values, fitted, precision)
    applied = np.array([fitted.apply(value) for value in values])
    table = Table.of(
        "calibration", f"Calibration {fitted.name!r} of {title(fitted.metric)}", "scores",
        [
            ("score, threshold 0.5", _row(labels, values, values > st.THRESHOLD)),
            ("calibrated, fitted on these", _row(labels, applied, values > fitted.threshold)),
            (f"calibrated, held out ({FOLDS} parts)", _row(labels, held_out, decided)),
        ],
        f"{int(labels.sum()):,} of {len(labels):,} responses are consistent"
        f"{f' ({left_out:,} more have no score and were left out)' if left_out else ''}. Threshold "
        f"{fitted.threshold:.4f} ({fitted.rule}), {fitted.kind}. ROC-AUC × 100 of the scores: "
        f"{100 * st.roc_auc(labels, values):.1f}. Parts drawn with seed {st.SEED}.",
    )
    shown = {"score": st.min_max(values), "calibrated, held out": held_out}
    panels = {panel: {fitted.metric: [bin_._asdict() for bin_ in st.reliability(labels, numbers)]}
              for panel, numbers in shown.items()}
    return Report(
        f"calibration_{fitted.name}", f"Calibration of {title(fitted.metric)}", (table,),
        {fitted.metric: fitted.sign(fitted.signature)}, {"reliability": panels})


def _row(labels: st.Bools, values: st.Floats, decided: st.Bools) -> dict[Column, Cell]:
    inside = probable(values.tolist())
    found = st.detection(labels, decided.astype(float))
    shown = ("accuracy", "balanced accuracy", "consistent: precision", "consistent: recall")
    return {
        Column("ECE"): st.ece(labels, values) if inside else None,
        Column("Brier score"): float(((values - labels) ** 2).mean()) if inside else None,
        **{Column(name, "percent"): found[name] for name in shown},
    }


def _cross_validated(
    labels: st.Bools, values: st.Floats, fitted: Calibration, precision: float | None
) -> tuple[st.Floats, st.Bools]:
    """The held-out probability of each response and the decision about it."""
    from sklearn.model_selection import StratifiedKFold

    least = min(labels.sum(), (~labels).sum())
    if least < FOLDS:
        raise InputError(f"only {least} responses have one of the labels; a calibration needs at "
                         f"least {FOLDS} of each")
    applied, decided = np.empty(len(values)), np.empty(len(values), bool)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=st.SEED)
    for others, part in folds.split(values, labels):
        try:
            threshold = st.best_threshold(labels[others], values[others], precision=precision)
        except InputError:  # no threshold on the other parts reaches the precision
            threshold = float(values[others].max())
        calibration = replace(fitted, threshold=threshold,
                              **_fitted(fitted.kind, labels[others], values[others]))
        applied[part] = [calibration.apply(value) for value in values[part]]
        decided[part] = values[part] > threshold
    return applied, decided
