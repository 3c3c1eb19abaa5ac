"""Tables and curves that show how well scores separate consistent and inconsistent responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from q2_metric.data.labelled import Labelled
from q2_metric.errors import InputError
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import Scores, values
from q2_metric.evaluation.tables import Cell, Column, Table
from q2_metric.metrics.registry import title

HISTOGRAM_BINS = 20

MOST_POINTS = 201
"""Points that are stored of a curve. Its area is computed from all points."""


def detection_table(
    name: str, heading: str, truth: Sequence[bool], scores: Scores
) -> Table:
    """A table of ROC-AUC, decisions at 0.5, and calibration error, with a row per metric."""
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        numbers = values(column)
        decisions = st.detection(truth, numbers)
        lines.append((
            title(metric), st.auc_interval(truth, numbers),
            decisions.accuracy,
            decisions.consistent_precision,
            decisions.consistent_recall,
            decisions.inconsistent_precision,
            decisions.inconsistent_recall,
            st.average_precision(truth, numbers),
            st.ece(truth, numbers) if _probable(numbers) else None,
            sum(item is None or item.value is None for item in column),
        ))
    return Table(
        name, heading,
        (
            Column("metric", "text"), Column("ROC-AUC", "hundred"),
            Column("accuracy", "percent"),
            Column("consistent: precision", "percent"),
            Column("consistent: recall", "percent"),
            Column("inconsistent: precision", "percent"),
            Column("inconsistent: recall", "percent"),
            Column("average precision", "hundred"),
            Column("ECE"),
            Column("no score", "count"),
        ),
        tuple(lines),
        f"{sum(truth):,} of {len(truth):,} responses are consistent. In brackets: 95 % bootstrap "
        f"intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed {st.SEED}). A score above "
        f"{st.THRESHOLD:g} counts as consistent. ECE is the expected calibration error "
        f"({st.N_BINS} bins) of the scores as they are. A response without a score counts as "
        f"{st.THRESHOLD:g}.",
    )


def _probable(numbers: Sequence[float]) -> bool:
    return bool(numbers) and min(numbers) >= 0 and max(numbers) <= 1


def truths_of(sets: Mapping[str, Sequence[Labelled]]) -> dict[str, list[bool]]:
    """The human labels of each data set; InputError if all labels of a set are equal."""
    truths = {name: [row.consistent for row in rows] for name, rows in sets.items()}
    for name, truth in truths.items():
        if all(truth) or not any(truth):
            raise InputError(f"{name}: all labels are the same; agreement needs both classes")
    return truths


def auc_lines(
    truths: Mapping[str, Sequence[bool]], scores: Mapping[str, Scores]
) -> list[tuple[Cell, ...]]:
    """A row for each metric: title, ROC-AUC with interval on each data set, and their mean."""
    lines: list[tuple[Cell, ...]] = []
    for metric in next(iter(scores.values())):
        intervals = [st.auc_interval(truths[key], values(scores[key][metric])) for key in scores]
        mean = average([interval.value for interval in intervals])
        lines.append((title(metric), *intervals, mean))
    return lines


def compared_with(names: Sequence[str], asked: str | None = None) -> str:
    """The metric with which others are compared, by default token F1, otherwise the first.

    Raises:
        InputError: ``asked`` is not among ``names``.
    """
    if asked is not None and asked not in names:
        raise InputError(f"there is no metric {asked!r} to compare with; the metrics are "
                         f"{', '.join(names)}")
    return asked or ("knowledge_f1" if "knowledge_f1" in names else names[0])


def comparison_table(
    truths: Mapping[str, Sequence[bool]], scores: Mapping[str, Scores], against: str
) -> Table:
    """A table of the differences in ROC-AUC from ``against``, with interval and p-value."""
    lines: list[tuple[Cell, ...]] = []
    for key, columns in scores.items():
        for metric, column in columns.items():
            if metric != against and against in columns:
                difference = st.auc_difference(
                    truths[key], values(column), values(columns[against]))
                lines.append((key, title(metric), difference.interval, difference.p))
    return Table(
        "comparison",
        f"ROC-AUC × 100 compared with {title(against)}",
        (
            Column("set", "text"), Column("metric", "text"),
            Column(f"AUC minus that of {title(against)}", "hundred"), Column("p", "p"),
        ),
        tuple(lines),
        f"The intervals come from a paired bootstrap, p from a two-sided permutation test of the "
        f"metrics' ranks, each with {st.N_BOOTSTRAP:,} resamples (seed {st.SEED}).",
    )


def reliability_table(
    truths: Mapping[str, Sequence[bool]],
    scores: Mapping[str, Scores],
    published: Sequence[tuple[Cell, ...]],
    *,
    bins: int = st.N_BINS,
) -> Table:
    """A table of calibration errors, of the scores as they are and mapped linearly to [0, 1]."""
    metrics = list(dict.fromkeys(metric for columns in scores.values() for metric in columns))
    lines: list[tuple[Cell, ...]] = []
    for metric in metrics:
        raw: list[float | None] = []
        stretched: list[float | None] = []
        for key, columns in scores.items():
            numbers = values(columns[metric]) if metric in columns else []
            raw.append(st.ece(truths[key], numbers, bins=bins) if _probable(numbers) else None)
            whole = st.min_max(numbers)
            stretched.append(st.ece(truths[key], whole, bins=bins) if numbers else None)
        lines.append((title(metric), "as they are", *raw, average(raw)))
        lines.append((title(metric), "stretched to [0, 1]", *stretched, average(stretched)))
    lines += published
    return Table(
        "calibration",
        "Calibration",
        (
            Column("metric", "text"), Column("scores", "text"), *(Column(key) for key in scores),
            Column("average"),
        ),
        tuple(lines),
        f"Expected calibration error with {bins} bins of equal width. \"Stretched\": the scores of "
        "each set are first mapped to [0, 1], as the authors of SCALE do.",
    )


def average(cells: Sequence[float | None]) -> float | None:
    """The mean, or ``None`` if a cell is ``None``: a mean over fewer sets could not be compared."""
    known = [cell for cell in cells if cell is not None]
    return sum(known) / len(known) if known and len(known) == len(cells) else None


def detection_curves(
    sets: Mapping[str, tuple[Sequence[bool], Scores]], *, bins: int = st.N_BINS
) -> dict[str, Any]:
    """The data of the figures; ``sets`` holds (labels, scores) by the title of a panel."""
    curves: dict[str, Any] = {
        kind: {} for kind in ("precision_recall", "roc", "reliability", "histogram")
    }
    for panel, (truth, columns) in sets.items():
        series = {metric: values(column) for metric, column in columns.items()}
        curves["precision_recall"][panel] = {
            metric: {
                "consistent": _points(st.precision_recall(truth, numbers)),
                "inconsistent": _points(st.precision_recall(truth, numbers, consistent=False)),
            }
            for metric, numbers in series.items()
        }
        curves["roc"][panel] = {
            metric: {**_points(st.roc_curve(truth, numbers)), "auc": st.roc_auc(truth, numbers)}
            for metric, numbers in series.items()
        }
        curves["reliability"][panel] = {
            metric: [asdict(bin_) for bin_ in st.reliability(truth, numbers, bins=bins)]
            for metric, numbers in series.items() if _probable(numbers)
        }
        curves["histogram"][panel] = {
            metric: _histogram(truth, numbers) for metric, numbers in series.items()
        }
    return curves


def _points(curve: st.Curve) -> dict[str, list[float]]:
    """At most :data:`MOST_POINTS` evenly spaced points, including both ends."""
    import numpy as np

    n = len(curve.x)
    places = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(int))
    return {name: [series[i] for i in places] for name, series in asdict(curve).items()}


def _histogram(truth: Sequence[bool], numbers: Sequence[float]) -> dict[str, list[float]]:
    import numpy as np

    low, high = min([0.0, *numbers]), max([1.0, *numbers])
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1)
    labels, scores = np.asarray(truth, bool), np.asarray(numbers)
    return {
        "edges": edges.tolist(),
        "consistent": np.histogram(scores[labels], edges)[0].tolist(),
        "inconsistent": np.histogram(scores[~labels], edges)[0].tolist(),
    }
