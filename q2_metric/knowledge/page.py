"""Writes the result of an experiment with rankers as a markdown page."""

from __future__ import annotations

from collections.abc import Iterator

from q2_metric.evaluation.markdown import table_lines
from q2_metric.knowledge.evaluate import OVERALL, Selection
from q2_metric.knowledge.experiment import SIZES, ExperimentResult

_FIGURES = ("R@1", "R@5", "MRR@5", "wrong domain", "wrong entity", "wrong document")


def markdown(result: ExperimentResult, command: str, date: str, note: str = "") -> str:
    """The result as a page, with the command that made it.

    Args:
        note: markdown to insert before the tables.
    """
    lines = [
        "# Knowledge selection",
        "",
        f"`{command}`, {date}: {result.turns} turns that need knowledge, a pool of "
        f"{result.snippets:,} snippets. Shares in %; errors are of the first snippet.",
        "",
        *([note.strip(), ""] if note else []),
    ]
    for title, table in _tables(result):
        lines += [*([title, ""] if title else []), *table, ""]
    return "\n".join(lines)


def _tables(result: ExperimentResult) -> Iterator[tuple[str, list[str]]]:
    """The tables of the result, each with its introduction."""
    yield "", table_lines(["ranker", *_FIGURES, "s a turn"], [
        [row.ranker, *_shares(row.figures[OVERALL]),
         "" if row.seconds is None else f"{row.seconds:.2f}"]
        for row in result.rows
    ])
    first = result.rows[0].figures
    domains = [name for name in first if name != OVERALL]
    if domains:
        yield "R@1 / R@5 by domain (turns):", table_lines(
            ["ranker", *(f"{name} ({first[name].n})" for name in domains)],
            [[row.ranker, *(f"{_pc(row.figures[name].r1)} / {_pc(row.figures[name].r5)}"
                            for name in domains)]
             for row in result.rows],
        )
    if result.recall:
        yield "Gold snippets that are kept as a first stage, by its size:", table_lines(
            ["ranker", *map(str, SIZES)],
            [[name, *(_pc(recall[size]) for size in SIZES)]
             for name, recall in result.recall.items()],
        )
    if result.detection:
        yield "Detection of the turns that need knowledge:", table_lines(
            ["detector", "precision", "recall", "F1", "turns", "need knowledge"],
            [[name, _pc(one.precision), _pc(one.recall), _pc(one.f1), str(one.n),
              str(one.positives)]
             for name, one in result.detection.items()],
        )


def _shares(found: Selection) -> list[str]:
    return [_pc(share) for share in (found.r1, found.r5, found.mrr5, found.domain_errors,
                                     found.entity_errors, found.document_errors)]


def _pc(share: float) -> str:
    return f"{100 * share:.1f}"
