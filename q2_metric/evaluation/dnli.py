"""Evaluates metrics on Dialogue NLI: is an utterance consistent with a persona? (Q², section 5.3)

Q² keeps questions about the speakers here. Only entailment is consistent; neutral pairs are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from q2_metric.data.dnli import SentencePair
from q2_metric.errors import InputError
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import detection_curves, detection_table
from q2_metric.evaluation.scores import ScoreColumns, Scores, values
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.evaluation.thresholds import best_threshold
from q2_metric.metrics.registry import title
from q2_metric.types import Label

THRESHOLD = 0.1
"""The threshold of Q², tuned on the development set (section 5.3)."""

LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")


def experiment(
    columns: ScoreColumns,
    pairs: Sequence[SentencePair],
    *,
    threshold: float = THRESHOLD,
    dev: Sequence[SentencePair] = (),
) -> Report:
    """Measures accuracy at the paper's threshold and at each metric's best threshold on ``dev``.

    Raises:
        InputError: all pairs are consistent, or all are inconsistent.
    """
    truth = [pair.consistent for pair in pairs]
    if all(truth) or not any(truth):
        raise InputError("all pairs are of one class; agreement needs both")
    scores = columns.scores([pair.example for pair in pairs], "pairs")
    tuned = _tuned(columns, dev) if dev else {}
    tables = [
        _accuracy(truth, scores, threshold, tuned),
        _means(pairs, scores),
        detection_table(
            "detection", f"Consistent or not, at {threshold:g}", truth, scores,
            threshold=threshold,
        ),
    ]
    return Report(
        name="dnli",
        title="Agreement with people on Dialogue NLI",
        tables=tuple(tables),
        signatures=columns.signatures,
        curves=detection_curves({f"{len(pairs):,} pairs": (truth, scores)}),
    )


def _tuned(columns: ScoreColumns, dev: Sequence[SentencePair]) -> Mapping[str, float]:
    truth = [pair.consistent for pair in dev]
    scores = columns.scores([pair.example for pair in dev], "development pairs")
    return {
        metric: best_threshold(truth, values(column), rule="accuracy")
        for metric, column in scores.items()
    }


def _accuracy(
    truth: Sequence[bool], scores: Scores, threshold: float, tuned: Mapping[str, float]
) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        numbers = values(column)
        own = tuned.get(metric)
        lines.append((
            title(metric),
            st.detection(truth, numbers, threshold).accuracy,
            st.detection(truth, numbers).accuracy,
            own,
            None if own is None else st.detection(truth, numbers, own).accuracy,
            None,
        ))
    theirs = published.lines("q2-v1", 5, ("DNLI, pairs that are not neutral", "accuracy"))
    lines += [(name, None, None, None, None, *accuracy) for name, accuracy in theirs]
    majority = max(sum(truth), len(truth) - sum(truth)) / len(truth)
    return Table(
        "accuracy",
        "Accuracy",
        (
            Column("metric", "text"), Column(f"at {threshold:g}", "percent"),
            Column("at 0.5", "percent"), Column("tuned threshold"),
            Column("at the tuned", "percent"), Column("without neutral pairs", "percent"),
        ),
        tuple(lines),
        f"Accuracy if the more frequent class is always chosen: {majority:.1%}. arXiv v1 "
        "leaves out the neutral pairs, so its figures cannot be compared with the others.",
    )


def _means(pairs: Sequence[SentencePair], scores: Scores) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for label in LABELS:
        places = [i for i, pair in enumerate(pairs) if pair.label == label]
        means: list[Cell] = []
        for column in scores.values():
            numbers = values([column[i] for i in places])
            means.append(sum(numbers) / len(numbers) if numbers else None)
        lines.append((label, len(places), *means))
    return Table(
        "means",
        "Mean score by label",
        (
            Column("label", "text"), Column("n", "count"),
            *(Column(title(metric)) for metric in scores),
        ),
        tuple(lines),
    )
