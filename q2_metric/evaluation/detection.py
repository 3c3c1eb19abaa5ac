"""Tables and curves that show how well scores separate consistent and inconsistent responses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import Scores, ScoreSummary, known, values
from q2_metric.evaluation.tables import Cell, Column, Table, number
from q2_metric.metrics.registry import title

HISTOGRAM_BINS = 20

MOST_POINTS = 201
"""Points that are stored of a curve. Its area is computed from all points."""


def detection_table(name: str, heading: str, truth: Sequence[bool], scores: Scores) -> Table:
    """A table of ROC-AUC, decisions at 0.5, and calibration error, with a row per metric."""
    return Table.of(
        name, heading, "metric",
        [(title(metric), _measured(truth, column)) for metric, column in scores.items()],
        f"{sum(truth):,} of {len(truth):,} responses are consistent. In brackets: 95 % bootstrap "
        f"intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed {st.SEED}). A score above "
        f"{st.THRESHOLD:g} counts as consistent. ECE is the expected calibration error "
        f"({st.N_BINS} bins) of the scores as they are. A response without a score counts as "
        f"{st.THRESHOLD:g}.",
    )


def _measured(truth: Sequence[bool], column: Sequence[ScoreSummary | None]) -> dict[Column, Cell]:
    numbers = values(column)
    return {
        Column("ROC-AUC", "hundred"): st.auc_interval(truth, numbers),
        **{Column(name, "percent"): share for name, share in decided(truth, numbers).items()},
        Column("average precision", "hundred"): st.average_precision(truth, numbers),
        Column("ECE"): st.ece(truth, numbers) if probable(numbers) else None,
        Column("no score", "count"): len(column) - len(known(column)),
    }


def decided(truth: Sequence[bool], numbers: Sequence[float]) -> dict[str, float]:
    """How good the decisions at 0.5 are: shares in [0, 1] by their titles."""
    found = st.detection(truth, numbers)
    return {name: share for name, share in found.items()
            if name not in ("balanced accuracy", "F1-macro")}


def probable(numbers: Sequence[float]) -> bool:
    return bool(numbers) and min(numbers) >= 0 and max(numbers) <= 1


def average(cells: Sequence[Cell]) -> float | None:
    """The mean, or ``None`` if a cell is ``None``: a mean over fewer sets could not be compared."""
    found = [one for one in map(number, cells) if one is not None]
    return sum(found) / len(found) if found and len(found) == len(cells) else None


def detection_curves(sets: Mapping[str, tuple[Sequence[bool], Scores]]) -> dict[str, Any]:
    """The data of the figures; ``sets`` holds (labels, scores) by the title of a panel."""
    kinds = ("precision_recall", "roc", "reliability", "histogram")
    curves: dict[str, Any] = {kind: {panel: {} for panel in sets} for kind in kinds}
    for panel, (truth, columns) in sets.items():
        for metric, column in columns.items():
            for kind, series in _series(truth, values(column)).items():
                curves[kind][panel][metric] = series
    return curves


def _series(truth: Sequence[bool], numbers: Sequence[float]) -> dict[str, Any]:
    """Of one metric, the data of each kind of figure."""
    series: dict[str, Any] = {
        "precision_recall": {
            "consistent": _points(st.precision_recall(truth, numbers)),
            "inconsistent": _points(st.precision_recall(truth, numbers, consistent=False)),
        },
        "roc": {**_points(st.roc_curve(truth, numbers)), "auc": st.roc_auc(truth, numbers)},
        "histogram": _histogram(truth, numbers),
    }
    if probable(numbers):
        series["reliability"] = [bin_._asdict() for bin_ in st.reliability(truth, numbers)]
    return series


def _points(curve: st.Curve) -> dict[str, list[float]]:
    """At most :data:`MOST_POINTS` evenly spaced points, including both ends."""
    n = len(curve["x"])
    places = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(int))
    return {name: axis[places].tolist() for name, axis in curve.items()}


def _histogram(truth: Sequence[bool], numbers: Sequence[float]) -> dict[str, list[float]]:
    low, high = min([0.0, *numbers]), max([1.0, *numbers])
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1)
    labels, scores = np.asarray(truth, bool), np.asarray(numbers)
    return {
        "edges": edges.tolist(),
        "consistent": np.histogram(scores[labels], edges)[0].tolist(),
        "inconsistent": np.histogram(scores[~labels], edges)[0].tolist(),
    }
