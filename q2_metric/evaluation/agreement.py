"""Measures how well metrics agree with people, on the TRUE benchmark (Honovich et al., NAACL 2022)
and on the development sets.

Models and settings are chosen on the development sets, which contain outputs of real systems with
human labels. They are never used for training.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from q2_metric.data.catalogue import CATALOGUE
from q2_metric.data.download import here
from q2_metric.data.labelled import Labelled
from q2_metric.data.true import read_true
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
Lines = list[tuple[Cell, ...]]


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
    """Measures ROC-AUC and calibration on each data set, and compares with ``against``."""
    names, truths = columns.names, _truths(sets)
    against = _compared_with(names, against)
    scores = _scores(columns, sets)
    parts = "".join(f" {key} is a part of {SAME_SET[key]}." for key in sets if key in SAME_SET)
    tables = [_auc(truths, _auc_lines(truths, scores), "average", "Consistent",
                   columns.readings(sets) + parts)]
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
    probabilities = _probabilities(truths, scores)
    lines = _auc_lines(truths, scores)
    counts = {title(name): line for name, line in zip(columns.names, lines, strict=True)
              if name in COUNTS}
    aucs = _auc(
        truths, [(*line, *(_below(line, other, list(sets)) for other in counts.values()))
                 for line in lines],
        "mean", "Supported", f"{columns.readings(sets)} A response without a score counts as "
        f"{st.THRESHOLD:g}.", [Column(f"below {name} on", "text") for name in counts])
    return _report("dev", "the development sets", [aucs, *probabilities], columns, truths, scores)


def _truths(sets: Sets) -> dict[str, list[bool]]:
    """The human labels of each data set; InputError if all labels of a set are equal."""
    truths = {name: [row.consistent for row in rows] for name, rows in sets.items()}
    for name, truth in truths.items():
        if all(truth) or not any(truth):
            raise InputError(f"{name}: all labels are the same; agreement needs both classes")
    return truths


def _compared_with(names: Sequence[str], asked: str | None) -> str:
    """The metric with which others are compared, by default token F1, otherwise the first.
    InputError: ``asked`` is not among ``names``."""
    if asked is not None and asked not in names:
        raise InputError(f"there is no metric {asked!r} to compare with; the metrics are "
                         f"{', '.join(names)}")
    return asked or ("knowledge_f1" if "knowledge_f1" in names else names[0])


def _scores(columns: ScoreColumns, sets: Sets) -> dict[str, Scores]:
    return {name: columns.scores([row.example for row in rows], name)
            for name, rows in sets.items()}


def _report(
    name: str, data: str, tables: Iterable[Table], columns: ScoreColumns, truths: Truths,
    scores: Mapping[str, Scores],
) -> Report:
    return Report(name, f"Agreement with people on {data}", tuple(tables), columns.signatures,
                  detection_curves({key: (truths[key], scores[key]) for key in scores}))


def _auc_lines(truths: Truths, scores: Mapping[str, Scores]) -> Lines:
    """A row for each metric: title, ROC-AUC with interval on each data set, and their mean."""
    found = {metric: [st.auc_interval(truths[key], values(scores[key][metric])) for key in scores]
             for metric in next(iter(scores.values()))}
    return [(title(metric), *intervals, average([one.value for one in intervals]))
            for metric, intervals in found.items()]


def _auc(
    truths: Truths, lines: Lines, mean: str, good: str, note: str, more: Sequence[Column] = ()
) -> Table:
    """``mean`` is the title of the column after the data sets, ``good`` what the label 1 means."""
    sizes = ", ".join(f"{key} {sum(truth):,} of {len(truth):,}" for key, truth in truths.items())
    return Table(
        "auc", "ROC-AUC × 100",
        (*_columns(["metric"], truths, mean, "hundred"), *more), tuple(lines),
        f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed "
        f"{st.SEED}). {good} responses: {sizes}.{note}",
    )


def _columns(
    texts: Sequence[str], sets: Iterable[str], mean: str, kind: Kind = "number"
) -> tuple[Column, ...]:
    return (*(Column(name, "text") for name in texts), *(Column(name, kind) for name in sets),
            Column(mean, kind))


def _below(line: Sequence[Cell], count: Sequence[Cell], names: Sequence[str]) -> str:
    """The data sets on which a metric has a lower AUC than word overlap, as "set1, set2"."""
    aucs = [
        [cell.value for cell in cells if isinstance(cell, st.Interval)] for cells in (line, count)]
    return ", ".join(name for name, own, other in zip(names, *aucs, strict=True) if own < other)


def _comparison(truths: Truths, scores: Mapping[str, Scores], against: str) -> Table:
    """A table of the differences in ROC-AUC from ``against``, with interval and p-value."""
    lines: Lines = [
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
        f"The intervals come from a paired bootstrap, p from a two-sided permutation test of the "
        f"metrics' ranks, each with {st.N_BOOTSTRAP:,} resamples (seed {st.SEED}).",
    )


def _calibration(truths: Truths, scores: Mapping[str, Scores]) -> Table:
    """A table of calibration errors, of the scores as they are and mapped linearly to [0, 1]."""
    lines: Lines = []
    for metric in next(iter(scores.values())):
        numbers = {key: values(columns[metric]) for key, columns in scores.items()}
        raw = [st.ece(truths[key], own) if probable(own) else None for key, own in numbers.items()]
        stretched = [st.ece(truths[key], st.min_max(own)) for key, own in numbers.items()]
        lines.append((title(metric), "as they are", *raw, average(raw)))
        lines.append((title(metric), "stretched to [0, 1]", *stretched, average(stretched)))
    return Table(
        "calibration", "Calibration", _columns(["metric", "scores"], scores, "average"),
        tuple(lines),
        f"Expected calibration error with {st.N_BINS} bins of equal width. \"Stretched\": the "
        "scores of each set are first mapped to [0, 1], as the authors of SCALE do.",
    )


def _probabilities(truths: Truths, scores: Mapping[str, Scores]) -> list[Table]:
    """The calibration of metrics whose scores are probabilities; no table without such metrics."""
    found = {metric: [st.ece(truths[key], values(scores[key][metric])) for key in scores]
             for metric in next(iter(scores.values())) if entry(metric).probability}
    table = Table(
        "calibration", "Calibration of probabilities", _columns(["metric"], scores, "mean"),
        tuple((title(metric), *errors, average(errors)) for metric, errors in found.items()),
        f"Expected calibration error with {st.N_BINS} bins of equal width, without stretching the "
        "scores.",
    )
    return [table] if found else []
