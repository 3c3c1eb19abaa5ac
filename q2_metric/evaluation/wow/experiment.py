"""Runs the experiments of the Q² paper on Wizard of Wikipedia, for any metric.

Unlike in the paper, the random sample of responses is ours (the paper's is not published), and word
overlap is the token F1 of the tables of TRUE and SCALE, with stop words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import read_annotated, read_selected
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import (
    compared_with,
    comparison_table,
    detection_curves,
    detection_table,
)
from q2_metric.evaluation.scores import ScoreColumns, Scores
from q2_metric.evaluation.tables import Report
from q2_metric.evaluation.wow.controls import length, random_knowledge
from q2_metric.evaluation.wow.paper import absolute, falling, robustness, standing, systems
from q2_metric.evaluation.wow.responses import truths
from q2_metric.types import Example


def rows() -> list[Labelled]:
    """The 1,088 annotated responses: two systems in each of 544 contexts."""
    return read_annotated()


def experiment(columns: ScoreColumns, *, control: bool = True) -> Report:
    """Computes all tables that the paper has on Wizard of Wikipedia.

    ``control`` needs about 440 more scores, which scores from a file do not include.
    """
    annotated, selected = read_annotated(), read_selected()
    by_text = columns.scores([row.example for row in annotated], "annotated")
    places = {_texts(row.example): i for i, row in enumerate(annotated)}
    chosen = [places[_texts(row.example)] for row in selected]
    of_selected = {name: [column[i] for i in chosen] for name, column in by_text.items()}
    tables = [
        absolute(annotated, by_text, selected, of_selected),
        detection_table(
            "detection_selected",
            f"Response level: the {len(selected)} selected responses",
            truths(selected),
            of_selected,
            published=published.lines("q2-emnlp", 3, ("", "ROC-AUC"), ("WoW", "accuracy")),
        ),
        detection_table(
            "detection_annotated",
            f"Response level: all {len(annotated):,} annotated responses",
            truths(annotated),
            by_text,
            published=published.lines("scale", 3, ("q2", "ROC-AUC")),
        ),
        systems(annotated, by_text),
        robustness(selected, of_selected),
    ]
    if len(by_text) > 1:
        tables.append(
            comparison_table(
                {"selected": truths(selected), "annotated": truths(annotated)},
                {"selected": of_selected, "annotated": by_text},
                compared_with(columns.names),
            )
        )
    if (said := standing(tables, columns.names)) is not None:
        tables.insert(0, said)
    if control:
        tables.append(random_knowledge(columns, annotated, selected))
    tables.append(length(annotated, selected))
    return Report(
        name="wow",
        title="Agreement with people on Wizard of Wikipedia",
        tables=tuple(tables),
        signatures=columns.signatures,
        curves=_curves(annotated, by_text, selected, of_selected),
    )


def _texts(example: Example) -> tuple[str, str]:
    return example.response, example.knowledge


def _curves(
    annotated: Sequence[Labelled], by_text: Scores, selected: Sequence[Labelled], chosen: Scores
) -> dict[str, Any]:
    curves = detection_curves(
        {
            f"{len(selected)} selected responses": (truths(selected), chosen),
            f"{len(annotated):,} annotated responses": (truths(annotated), by_text),
        }
    )
    curves["robustness"] = {
        f"{len(selected)} selected responses": {
            metric: {
                "x": list(st.ROBUSTNESS.shares),
                "y": [interval.value for interval in line],
                "low": [interval.low for interval in line],
                "high": [interval.high for interval in line],
            }
            for metric, column in chosen.items()
            for line in [falling(selected, column)]
        }
    }
    return curves
