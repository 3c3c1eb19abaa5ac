"""Evaluates metrics on the development sets, on which models and settings are chosen.

The sets contain outputs of real systems with human labels, and are never used for training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from q2_metric.data.labelled import Labelled
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import auc_lines, average, detection_curves, truths_of
from q2_metric.evaluation.scores import ScoreColumns, Scores, values
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.registry import entry, title

COUNTS = ("knowledge_f1", "word_share")
"""Measures of word overlap. Any model should agree with people better than these."""


def experiment(columns: ScoreColumns, sets: Mapping[str, Sequence[Labelled]]) -> Report:
    """Measures each metric's ROC-AUC and calibration, and where word overlap agrees better."""
    truths = truths_of(sets)
    scores = {
        name: columns.scores([row.example for row in rows], name) for name, rows in sets.items()
    }
    calibration = _calibration(truths, scores)
    aucs = _auc(truths, scores, columns.readings(sets))
    return Report(
        name="dev",
        title="Agreement with people on the development sets",
        tables=(aucs, *([] if calibration is None else [calibration])),
        signatures=columns.signatures,
        curves=detection_curves({name: (truths[name], scores[name]) for name in sets}),
    )


def _auc(
    truths: Mapping[str, Sequence[bool]], scores: Mapping[str, Scores], readings: str
) -> Table:
    lines = auc_lines(truths, scores)
    by_metric = dict(zip(next(iter(scores.values())), lines, strict=True))
    counts = [name for name in COUNTS if name in by_metric]
    sizes = ", ".join(f"{key} {sum(truth):,} of {len(truth):,}" for key, truth in truths.items())
    return Table(
        "auc",
        "ROC-AUC × 100",
        (
            Column("metric", "text"), *(Column(key, "hundred") for key in scores),
            Column("mean", "hundred"),
            *(Column(f"below {title(count)} on", "text") for count in counts),
        ),
        tuple(
            (*line, *(_below(line, by_metric[count], list(scores)) for count in counts))
            for line in lines
        ),
        f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed "
        f"{st.SEED}). Supported responses: {sizes}.{readings} A response without a score counts as "
        f"{st.THRESHOLD:g}.",
    )


def _below(line: Sequence[Cell], count: Sequence[Cell], names: Sequence[str]) -> str:
    """The data sets on which a metric has a lower AUC than word overlap, as "set1, set2"."""
    aucs = [
        [cell.value for cell in cells if isinstance(cell, st.Interval)] for cells in (line, count)
    ]
    below = [name for name, own, other in zip(names, *aucs, strict=True) if own < other]
    return ", ".join(below)


def _calibration(
    truths: Mapping[str, Sequence[bool]], scores: Mapping[str, Scores]
) -> Table | None:
    """Only of metrics whose scores are probabilities; ``None`` without such metrics."""
    lines: list[tuple[Cell, ...]] = []
    for metric in next(iter(scores.values())):
        if entry(metric).probability:
            errors = [st.ece(truths[key], values(scores[key][metric])) for key in scores]
            lines.append((title(metric), *errors, average(errors)))
    if not lines:
        return None
    return Table(
        "calibration",
        "Calibration of probabilities",
        (Column("metric", "text"), *(Column(key) for key in scores), Column("mean")),
        tuple(lines),
        f"Expected calibration error with {st.N_BINS} bins of equal width, without stretching the "
        "scores.",
    )
