"""Writes the result of an experiment with rankers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table
from q2_metric.knowledge.evaluate import OVERALL
from q2_metric.knowledge.experiment import SIZES, ExperimentResult

_SHARES = {"r1": "R@1", "r5": "R@5", "mrr5": "MRR@5", "domain_errors": "wrong domain",
           "entity_errors": "wrong entity", "document_errors": "wrong document"}


def report(result: ExperimentResult, **facts: str) -> Report:
    """The result as a report. ``facts`` say when and by which command the result was made."""
    tables = [_table(
        "selection", "Right snippets, and what is wrong with the first", "ranker",
        [*_columns(_SHARES.values()), Column("s a turn")],
        {row.ranker: [*(getattr(row.figures[OVERALL], name) for name in _SHARES), row.seconds]
         for row in result.rows})]
    first = result.rows[0].figures
    domains = [name for name in first if name != OVERALL]
    for share in ("r1", "r5") if domains else ():
        tables.append(_table(
            f"domains_{share}", f"{_SHARES[share]} by domain (turns)", "ranker",
            _columns(f"{name} ({first[name].n})" for name in domains),
            {row.ranker: [getattr(row.figures[name], share) for name in domains]
             for row in result.rows}))
    if result.recall:
        tables.append(_table(
            "recall", "Gold snippets that a first stage keeps, by its size", "ranker",
            _columns(map(str, SIZES)),
            {name: [recall[size] for size in SIZES] for name, recall in result.recall.items()}))
    if result.detection:
        tables.append(_table(
            "detection", "Detection of the turns that need knowledge", "detector",
            [*_columns(("precision", "recall", "F1")),
             *_columns(("turns", "need knowledge"), "count")],
            {name: [one.precision, one.recall, one.f1, one.n, one.positives]
             for name, one in result.detection.items()}))
    about = {"turns that need knowledge": f"{result.turns:,}",
             "snippets": f"{result.snippets:,}", "shares": "× 100"}
    return Report("knowledge", "Knowledge selection", tuple(tables), {}, facts={**facts, **about})


def _columns(titles: Iterable[str], kind: Kind = "hundred") -> list[Column]:
    return [Column(title, kind) for title in titles]


def _table(
    name: str, title: str, head: str, columns: Sequence[Column],
    rows: Mapping[str, Sequence[Cell]],
) -> Table:
    return Table(name, title, (Column(head, "text"), *columns),
                 tuple((row, *cells) for row, cells in rows.items()))
