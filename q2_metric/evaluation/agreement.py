"""Measures how well metrics agree with people, on the TRUE benchmark (Honovich et al., NAACL 2022)
and on the development sets.

Models and settings are chosen on the development sets, which contain outputs of real systems with
human labels. They are never used for training.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from q2_metric.data.catalogue import CATALOGUE, here
from q2_metric.data.readers import Labelled, read_true
from q2_metric.errors import DataError, InputError
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import ScoreColumns, Scores, known, values
from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table, number
from q2_metric.metrics.registry import entry, title

SETS = tuple(name.removeprefix("true/") for name in CATALOGUE if name.startswith("true/"))

SAME_SET = {"dialfact_a": "dialfact"}
"""Sets that are a part of another set."""

COUNTS = ("knowledge_f1", "word_share")
"""Measures of word overlap. Any model should agree with people better than these."""
HISTOGRAM_BINS = 20
MOST_POINTS = 201
"""Points that are stored of a curve. Its area is computed from all points."""

Sets = Mapping[str, Sequence[Labelled]]
Judged = Mapping[str, tuple[Sequence[bool], Scores]]
"""The human labels and the scores of each data set."""
Rows = list[tuple[str, dict[Column, Cell]]]
Measured = TypeVar("Measured")


def sets_here() -> list[str]:
    """A part of a set is named only if the whole set is missing. DataError: no set is on this
    machine."""
    names = [name for name in SETS if here(f"true/{name}")]
    if not names:
        raise DataError("no set of TRUE is here yet; run: q2 data download true")
    return [name for name in names if SAME_SET.get(name) not in names]


def read_sets(sources: Sequence[str]) -> dict[str, list[Labelled]]:
    """Reads data sets: names in :data:`SETS` or paths of files, which are named by their stems.
    DataError: a set or a file is missing or malformed. InputError: two sets have the same name."""
    by_name: dict[str, list[Labelled]] = {}
    for source in sources:
        name = Path(source).stem if Path(source).suffix else source
        if name in by_name:
            raise InputError(f"two sets have the name {name!r}; rename a file")
        by_name[name] = read_true(source)
    return by_name


def on_true(columns: ScoreColumns, sets: Sets, *, against: str | None = None) -> Report:
    """Measures ROC-AUC and calibration on each data set, and compares with the metric ``against``,
    by default token F1, otherwise the first. InputError: there is no metric ``against``."""
    names = columns.names
    if against is not None and against not in names:
        raise InputError(f"there is no metric {against!r} to compare with; the metrics are "
                         f"{', '.join(names)}")
    against = against or ("knowledge_f1" if "knowledge_f1" in names else names[0])
    judged = _judged(columns, sets)
    parts = "".join(f" {key} is a part of {SAME_SET[key]}." for key in sets if key in SAME_SET)
    rows: Rows = [
        (title(metric), _over(_on_sets(st.auc_interval, judged, metric), "average", "hundred"))
        for metric in names]
    tables = [_auc(judged, rows, "Consistent", columns.readings(sets) + parts)]
    if len(names) > 1:
        tables.append(_comparison(judged, against))
    tables.append(_calibration(judged, names))
    tables += [detection_table(f"detection_{name}", f"Response level: {name}", truth, scores)
               for name, (truth, scores) in judged.items()]
    return Report("true", "Agreement with people on TRUE", tuple(tables), columns.signatures,
                  detection_curves(judged))


def on_dev(columns: ScoreColumns, sets: Sets) -> Report:
    """Measures each metric's ROC-AUC and calibration, and where word overlap agrees better."""
    judged = _judged(columns, sets)
    found = {metric: _on_sets(st.auc_interval, judged, metric) for metric in columns.names}
    below = {name: Column(f"below {title(name)} on", "text") for name in found if name in COUNTS}
    rows: Rows = [
        (title(metric), {**_over(own, "mean", "hundred"), **{
            column: ", ".join(key for key in own if own[key].value < found[name][key].value)
            for name, column in below.items()}})
        for metric, own in found.items()]
    note = f"{columns.readings(sets)} A response without a score counts as {st.THRESHOLD:g}."
    tables = [_auc(judged, rows, "Supported", note), *_probabilities(judged, columns.names)]
    return Report("dev", "Agreement with people on the development sets", tuple(tables),
                  columns.signatures, detection_curves(judged))


def _judged(columns: ScoreColumns, sets: Sets) -> Judged:
    truths = {name: [row.consistent for row in rows] for name, rows in sets.items()}
    for name, truth in truths.items():
        if all(truth) or not any(truth):
            raise InputError(f"{name}: all labels are the same; agreement needs both classes")
    return {name: (truths[name], columns.scores([row.example for row in rows], name))
            for name, rows in sets.items()}


def _on_sets(
    measure: Callable[[Sequence[bool], list[float]], Measured], judged: Judged, metric: str
) -> dict[str, Measured]:
    """What is measured of a metric on each data set."""
    return {name: measure(truth, values(scores[metric]))
            for name, (truth, scores) in judged.items()}


def _over(cells: Mapping[str, Cell], mean: str, kind: Kind = "number") -> dict[Column, Cell]:
    """A column for each data set, and one with the title ``mean`` for the mean over them."""
    return {**{Column(name, kind): cell for name, cell in cells.items()},
            Column(mean, kind): average([*cells.values()])}


def _auc(judged: Judged, rows: Rows, good: str, note: str) -> Table:
    """``good`` is what the label 1 means."""
    sizes = ", ".join(f"{key} {sum(truth):,} of {len(truth):,}"
                      for key, (truth, _) in judged.items())
    return Table.of(
        "auc", "ROC-AUC × 100", "metric", rows,
        f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed "
        f"{st.SEED}). {good} responses: {sizes}.{note}",
    )


def _comparison(judged: Judged, against: str) -> Table:
    lines = [(key, title(metric),
              *st.auc_difference(truth, values(column), values(scores[against])))
             for key, (truth, scores) in judged.items() for metric, column in scores.items()
             if metric != against]
    return Table(
        "comparison", f"ROC-AUC × 100 compared with {title(against)}",
        (Column("set", "text"), Column("metric", "text"),
         Column(f"AUC minus that of {title(against)}", "hundred"), Column("p", "p")),
        tuple(lines),
        f"The intervals come from a paired bootstrap with {st.N_BOOTSTRAP:,} resamples, p from a "
        f"two-sided permutation test of the metrics' ranks with {st.N_PERMUTATIONS:,} (seed "
        f"{st.SEED}).",
    )


def _calibration(judged: Judged, metrics: Sequence[str]) -> Table:
    measures = {"as they are": calibration_error,
                "stretched to [0, 1]": lambda truth, own: st.ece(truth, st.min_max(own))}
    rows: Rows = [
        (title(metric), {Column("scores", "text"): how,
                         **_over(_on_sets(measure, judged, metric), "average")})
        for metric in metrics for how, measure in measures.items()]
    return Table.of(
        "calibration", "Calibration", "metric", rows,
        f"Expected calibration error with {st.N_BINS} bins of equal width. \"Stretched\": the "
        "scores of each set are first mapped to [0, 1], as the authors of SCALE do.",
    )


def _probabilities(judged: Judged, metrics: Sequence[str]) -> list[Table]:
    """The calibration of metrics whose scores are probabilities; no table without such metrics."""
    rows: Rows = [(title(metric), _over(_on_sets(st.ece, judged, metric), "mean"))
                  for metric in metrics if entry(metric).probability]
    return [Table.of(
        "calibration", "Calibration of probabilities", "metric", rows,
        f"Expected calibration error with {st.N_BINS} bins of equal width, without stretching the "
        "scores.",
    )] if rows else []


def detection_table(name: str, heading: str, truth: Sequence[bool], scores: Scores) -> Table:
    """A row per metric: ROC-AUC, decisions at 0.5, and calibration error."""
    rows: Rows = []
    for metric, column in scores.items():
        numbers = values(column)
        rows.append((title(metric), {
            Column("ROC-AUC", "hundred"): st.auc_interval(truth, numbers),
            **{Column(name, "percent"): share for name, share in decided(truth, numbers).items()},
            Column("average precision", "hundred"): st.average_precision(truth, numbers),
            Column("ECE"): calibration_error(truth, numbers),
            Column("no score", "count"): len(column) - len(known(column)),
        }))
    return Table.of(
        name, heading, "metric", rows,
        f"{sum(truth):,} of {len(truth):,} responses are consistent. In brackets: 95 % bootstrap "
        f"intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed {st.SEED}). A score above "
        f"{st.THRESHOLD:g} counts as consistent. ECE is the expected calibration error "
        f"({st.N_BINS} bins) of the scores as they are. A response without a score counts as "
        f"{st.THRESHOLD:g}.",
    )


def decided(truth: Sequence[bool], numbers: Sequence[float]) -> dict[str, float]:
    """How good the decisions at 0.5 are: shares in [0, 1] by their titles."""
    found = st.detection(truth, numbers)
    return {name: share for name, share in found.items()
            if name not in ("balanced accuracy", "F1-macro")}


def probable(numbers: Sequence[float]) -> bool:
    return bool(numbers) and min(numbers) >= 0 and max(numbers) <= 1


def calibration_error(truth: Sequence[bool], numbers: Sequence[float]) -> float | None:
    return st.ece(truth, numbers) if probable(numbers) else None


def average(cells: Sequence[Cell]) -> float | None:
    """The mean, or ``None`` if a cell is ``None``: a mean over fewer sets could not be compared."""
    found = [one for one in map(number, cells) if one is not None]
    return sum(found) / len(found) if found and len(found) == len(cells) else None


def detection_curves(sets: Judged) -> dict[str, Any]:
    """The data of the figures; the keys are the titles of panels."""
    kinds = ("precision_recall", "roc", "reliability", "histogram")
    curves: dict[str, Any] = {kind: {panel: {} for panel in sets} for kind in kinds}
    for panel, (truth, columns) in sets.items():
        for metric, column in columns.items():
            numbers = values(column)
            curves["precision_recall"][panel][metric] = {
                side: _points(st.precision_recall(truth, numbers, consistent=side == "consistent"))
                for side in ("consistent", "inconsistent")}
            curves["roc"][panel][metric] = {
                **_points(st.roc_curve(truth, numbers)), "auc": st.roc_auc(truth, numbers)}
            curves["histogram"][panel][metric] = _histogram(truth, numbers)
            if probable(numbers):
                curves["reliability"][panel][metric] = [
                    bin_._asdict() for bin_ in st.reliability(truth, numbers)]
    return curves


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
