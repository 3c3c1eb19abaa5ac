"""Turns the result of a comparison of rankers into a report with tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from q2_metric.evaluation.tables import Cell, Column, Kind, Report, Table
from q2_metric.knowledge.evaluate import OVERALL
from q2_metric.knowledge.experiment import SIZES, ExperimentResult

_SHARES = {"r1": "R@1", "r5": "R@5", "mrr5": "MRR@5", "domain_errors": "wrong domain",
           "entity_errors": "wrong entity", "document_errors": "wrong document"}
_SHARES_NOTE = (
    "R@1 and R@5: the right snippet is first, or among the first five. MRR@5: mean reciprocal "
    "rank of the right snippet, 0 if it is not among the first five. A first snippet with a wrong "
    "entity has the right domain; one with a wrong document has the right entity.")


def report(result: ExperimentResult, **facts: str) -> Report:
    """``facts`` are about the run, such as its date and its command."""
    tables = [_table(
        "selection", "How often the first snippet is right, and how it is wrong", "ranker",
        [*_columns(_SHARES.values()), Column("seconds per turn")],
        {row.ranker: [*(getattr(row.figures[OVERALL], name) for name in _SHARES), row.seconds]
         for row in result.rows}, _SHARES_NOTE)]
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
            "recall", "Share of turns whose right snippet is among the first N", "ranker",
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
    rows: Mapping[str, Sequence[Cell]], note: str = "",
) -> Table:
    return Table(name, title, (Column(head, "text"), *columns),
                 tuple((row, *cells) for row, cells in rows.items()), note)
