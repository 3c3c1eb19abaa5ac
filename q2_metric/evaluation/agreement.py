"""Measures how well metrics agree with people, on the TRUE benchmark (Honovich et al., NAACL 2022)
and on the development sets.

Models and settings are chosen on the development sets, which contain outputs of real systems with
human labels. They are never used for training.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from q2_metric.data.catalogue import CATALOGUE, here
from q2_metric.data.readers import Labelled, read_true
from q2_metric.errors import DataError, InputError
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import average, detection_curves, detection_table, probable
from q2_metric.evaluation.scores import ScoreColumns, Scores, values
from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table
from q2_metric.metrics.registry import entry, title

SETS = tuple(name.removeprefix("true/") for name in CATALOGUE if name.startswith("true/"))

SAME_SET = {"dialfact_a": "dialfact"}
"""Sets that are a part of another set."""

COUNTS = ("knowledge_f1", "word_share")
"""Measures of word overlap. Any model should agree with people better than these."""

Sets = Mapping[str, Sequence[Labelled]]
Truths = Mapping[str, Sequence[bool]]
"""The human labels of each data set."""
Rows = list[tuple[str, dict[Column, Cell]]]


def sets_here() -> list[str]:
    """A part of a set is named only if the whole set is missing. DataError: no set is on this
    machine."""
    names: list[str] = []
    for name in SETS:
        if here(f"true/{name}") and SAME_SET.get(name) not in names:
            names.append(name)
    if not names:
        raise DataError("no set of TRUE is here yet; run: q2 data download true")
    return names


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
    names, truths = columns.names, _truths(sets)
    if against is not None and against not in names:
        raise InputError(f"there is no metric {against!r} to compare with; the metrics are "
                         f"{', '.join(names)}")
    against = against or ("knowledge_f1" if "knowledge_f1" in names else names[0])
    scores = _scores(columns, sets)
    parts = "".join(f" {key} is a part of {SAME_SET[key]}." for key in sets if key in SAME_SET)
    rows: Rows = [(title(metric), _over(found, "average", "hundred"))
                  for metric, found in _aucs(truths, scores).items()]
    tables = [_auc(truths, rows, "Consistent", columns.readings(sets) + parts)]
    if len(names) > 1:
        tables.append(_comparison(truths, scores, against))
    tables.append(_calibration(truths, scores))
    tables += [
        detection_table(f"detection_{name}", f"Response level: {name}", truths[name], scores[name])
        for name in sets
    ]
    return _report("true", "TRUE", tables, columns, truths, scores)


def on_dev(columns: ScoreColumns, sets: Sets) -> Report:
    """Measures each metric's ROC-AUC and calibration, and where word overlap agrees better."""
    truths = _truths(sets)
    scores = _scores(columns, sets)
    found = _aucs(truths, scores)
    below = {name: Column(f"below {title(name)} on", "text") for name in found if name in COUNTS}
    rows: Rows = [
        (title(metric), {**_over(own, "mean", "hundred"), **{
            column: ", ".join(key for key in own if own[key].value < found[name][key].value)
            for name, column in below.items()}})
        for metric, own in found.items()]
    note = (f"{columns.readings(sets)} A response without a score counts as "
            f"{st.THRESHOLD:g}.")
    tables = [_auc(truths, rows, "Supported", note), *_probabilities(truths, scores)]
    return _report("dev", "the development sets", tables, columns, truths, scores)


def _truths(sets: Sets) -> dict[str, list[bool]]:
    """The human labels of each data set; InputError if all labels of a set are equal."""
    truths = {name: [row.consistent for row in rows] for name, rows in sets.items()}
    for name, truth in truths.items():
        if all(truth) or not any(truth):
            raise InputError(f"{name}: all labels are the same; agreement needs both classes")
    return truths


def _scores(columns: ScoreColumns, sets: Sets) -> dict[str, Scores]:
    return {name: columns.scores([row.example for row in rows], name)
            for name, rows in sets.items()}


def _report(
    name: str, data: str, tables: Sequence[Table], columns: ScoreColumns, truths: Truths,
    scores: Mapping[str, Scores],
) -> Report:
    return Report(name, f"Agreement with people on {data}", tuple(tables), columns.signatures,
                  detection_curves({key: (truths[key], scores[key]) for key in scores}))


def _aucs(truths: Truths, scores: Mapping[str, Scores]) -> dict[str, dict[str, st.Interval]]:
    """The ROC-AUC by metric and data set."""
    return {metric: {key: st.auc_interval(truths[key], values(columns[metric]))
                     for key, columns in scores.items()}
            for metric in next(iter(scores.values()))}


def _over(cells: Mapping[str, Cell], mean: str, kind: Kind = "number") -> dict[Column, Cell]:
    """A column for each data set, and one with the title ``mean`` for the mean over them."""
    return {**{Column(name, kind): cell for name, cell in cells.items()},
            Column(mean, kind): average([*cells.values()])}


def _auc(truths: Truths, rows: Rows, good: str, note: str) -> Table:
    """``good`` is what the label 1 means."""
    sizes = ", ".join(f"{key} {sum(truth):,} of {len(truth):,}" for key, truth in truths.items())
    return Table.of(
        "auc", "ROC-AUC × 100", "metric", rows,
        f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed "
        f"{st.SEED}). {good} responses: {sizes}.{note}",
    )


def _comparison(truths: Truths, scores: Mapping[str, Scores], against: str) -> Table:
    """A table of the differences in ROC-AUC from ``against``, with interval and p-value."""
    lines = [
        (key, title(metric),
         *st.auc_difference(truths[key], values(column), values(columns[against])))
        for key, columns in scores.items()
        for metric, column in columns.items() if metric != against
    ]
    return Table(
        "comparison", f"ROC-AUC × 100 compared with {title(against)}",
        (Column("set", "text"), Column("metric", "text"),
         Column(f"AUC minus that of {title(against)}", "hundred"), Column("p", "p")),
        tuple(lines),
        f"The intervals come from a paired bootstrap with {st.N_BOOTSTRAP:,} resamples, p from a "
        f"two-sided permutation test of the metrics' ranks with {st.N_PERMUTATIONS:,} (seed "
        f"{st.SEED}).",
    )


def _calibration(truths: Truths, scores: Mapping[str, Scores]) -> Table:
    """A table of calibration errors, of the scores as they are and mapped linearly to [0, 1]."""
    rows: Rows = []
    for metric in next(iter(scores.values())):
        numbers = {key: values(columns[metric]) for key, columns in scores.items()}
        raw = {key: st.ece(truths[key], own) if probable(own) else None
               for key, own in numbers.items()}
        stretched = {key: st.ece(truths[key], st.min_max(own)) for key, own in numbers.items()}
        rows += [(title(metric), {Column("scores", "text"): how, **_over(errors, "average")})
                 for how, errors in (("as they are", raw), ("stretched to [0, 1]", stretched))]
    return Table.of(
        "calibration", "Calibration", "metric", rows,
        f"Expected calibration error with {st.N_BINS} bins of equal width. \"Stretched\": the "
        "scores of each set are first mapped to [0, 1], as the authors of SCALE do.",
    )


def _probabilities(truths: Truths, scores: Mapping[str, Scores]) -> list[Table]:
    """The calibration of metrics whose scores are probabilities; no table without such metrics."""
    rows: Rows = [
        (title(metric), _over({key: st.ece(truths[key], values(columns[metric]))
                               for key, columns in scores.items()}, "mean"))
        for metric in next(iter(scores.values())) if entry(metric).probability]
    return [Table.of(
        "calibration", "Calibration of probabilities", "metric", rows,
        f"Expected calibration error with {st.N_BINS} bins of equal width, without stretching the "
        "scores.",
    )] if rows else []
