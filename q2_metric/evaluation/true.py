"""Evaluates metrics on TRUE (Honovich et al., NAACL 2022), a collection of data sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from q2_metric.data.catalogue import CATALOGUE
from q2_metric.data.download import here
from q2_metric.data.labelled import Labelled
from q2_metric.data.true import read_true
from q2_metric.errors import DataError, InputError
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import (
    auc_lines,
    average,
    compared_with,
    comparison_table,
    detection_curves,
    detection_table,
    reliability_table,
    truths_of,
)
from q2_metric.evaluation.scores import ScoreColumns, ScoreSummary
from q2_metric.evaluation.tables import Cell, Column, Report, Table

SETS = tuple(name.removeprefix("true/") for name in CATALOGUE if name.startswith("true/"))

SAME_SET = {"dialfact_a": "dialfact"}
"""Sets that are a part of a published set, whose result is shown beside ours on the part."""


def sets_here() -> list[str]:
    """A part of a set is named only if the whole set is missing.

    Raises:
        DataError: no set is on this machine.
    """
    names: list[str] = []
    for name in SETS:
        if here(f"true/{name}") and SAME_SET.get(name) not in names:
            names.append(name)
    if not names:
        raise DataError("no set of TRUE is here yet; run: q2 data download true")
    return names


def read_sets(sources: Sequence[str]) -> dict[str, list[Labelled]]:
    """Reads data sets: names in :data:`SETS` or paths of files, which are named by their stems.

    Raises:
        DataError: a set or a file is missing or malformed.
        InputError: two sets have the same name.
    """
    by_name: dict[str, list[Labelled]] = {}
    for source in sources:
        name = Path(source).stem if Path(source).suffix else source
        if name in by_name:
            raise InputError(f"two sets have the name {name!r}; rename a file")
        by_name[name] = read_true(source)
    return by_name


def experiment(
    columns: ScoreColumns,
    sets: dict[str, list[Labelled]],
    *,
    against: str | None = None,
    bins: int = st.N_BINS,
) -> Report:
    """Measures ROC-AUC and calibration on each data set, and compares with ``against``."""
    truths = truths_of(sets)
    names = columns.names
    against = compared_with(names, against)
    scores = {
        name: columns.scores([row.example for row in rows], name) for name, rows in sets.items()
    }
    tables = [_auc(truths, scores, columns.readings(sets))]
    if len(names) > 1:
        tables.append(comparison_table(truths, scores, against))
    tables.append(reliability_table(truths, scores, [
        (name, "as published", *figures) for name, *figures in _published(4, "ECE", sets)
    ], bins=bins))
    tables += [
        detection_table(f"detection_{name}", f"Response level: {name}", truths[name], scores[name])
        for name in sets
    ]
    return Report(
        name="true",
        title="Agreement with people on TRUE",
        tables=tuple(tables),
        signatures=columns.signatures,
        curves=detection_curves({name: (truths[name], scores[name]) for name in sets}, bins=bins),
    )


def _auc(
    truths: dict[str, list[bool]], scores: dict[str, dict[str, list[ScoreSummary | None]]],
    readings: str,
) -> Table:
    lines = [*auc_lines(truths, scores), *_published(3, "ROC-AUC", scores)]
    sizes = ", ".join(f"{key} {sum(truth):,} of {len(truth):,}" for key, truth in truths.items())
    parts = ", ".join(f"{key} is a part of {SAME_SET[key]}" for key in scores if key in SAME_SET)
    return Table(
        "auc",
        "ROC-AUC × 100",
        (
            Column("metric", "text"), *(Column(key, "hundred") for key in scores),
            Column("average", "hundred"),
        ),
        tuple(lines),
        f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples of responses, seed "
        f"{st.SEED}). Consistent responses: {sizes}.{readings} The published figures are "
        f"from the SCALE paper, whose models are far larger{'; ' + parts if parts else ''}.",
    )


def _published(table: int, measure: str, sets: Iterable[str]) -> list[tuple[Cell, ...]]:
    """The rows of a table of the SCALE paper, with the mean over these sets."""
    wanted = [(SAME_SET.get(key, key), measure) for key in sets]
    return [(name, *figures, average(figures))
            for name, figures in published.lines("scale", table, *wanted)]
