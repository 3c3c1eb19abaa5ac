"""Compares rankers on labelled dialogues: alone, with Entity Guided Reranking, and in votes."""

import time
from collections.abc import Sequence
from typing import get_args

from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.knowledge.detection import evaluate_detection
from q2_metric.knowledge.dstc import LabelledTurns
from q2_metric.knowledge.evaluate import OVERALL, Selection, evaluate, first_stage_recall
from q2_metric.knowledge.mentions import Matching, MentionFinder
from q2_metric.knowledge.reranking import hard_vote, margin_of, rerank, soft_vote
from q2_metric.knowledge.rss import RssRanker
from q2_metric.knowledge.types import TOP, Detector, Pool, Ranked, Ranker

SIZES = (10, 20, 50, 100, 200, 500)
_SHARES = {"r1": "R@1", "r5": "R@5", "mrr5": "MRR@5", "domain_errors": "wrong domain",
           "entity_errors": "wrong entity", "document_errors": "wrong document"}
_SHARES_NOTE = (
    "R@1 and R@5: the right snippet is first, or among the first five. MRR@5: mean reciprocal "
    "rank of the right snippet, 0 if it is not among the first five. A first snippet with a wrong "
    "entity has the right domain; one with a wrong document has the right entity.")

Row = tuple[str, dict[str, Selection], float | None]
"""A ranker, its results overall and by domain, and its seconds per turn (``None`` if only the
rankings of other rankers were combined)."""
Recall = list[tuple[str, dict[Column, Cell]]]
"""By ranker, the share of turns whose right snippet is among the first N."""


def compare(
    rankers: Sequence[Ranker], pool: Pool, labelled: LabelledTurns,
    detector: Detector | None = None, **facts: str,
) -> Report:
    """Evaluates each ranker alone, each with EGR (exact and fuzzy matching of names), and votes;
    and the detector. ``facts`` are about the run, such as its date and its command. Turns that need
    no knowledge are left out. The time does not include the indexing of the pool."""
    seeking = labelled.seeking()
    rows, recall = _ranked(rankers, pool, seeking)
    tables = [_selection(rows), *_domains(rows)]
    if recall:
        tables.append(Table.of(
            "recall", "Share of turns whose right snippet is among the first N", "ranker", recall))
    if detector is not None:
        tables.append(_detection(detector, labelled))
    about = {"turns that need knowledge": f"{len(seeking.labels):,}",
             "snippets": f"{len(pool):,}", "shares": "× 100"}
    return Report("knowledge", "Knowledge selection", tuple(tables), {}, facts={**facts, **about})


def _ranked(
    rankers: Sequence[Ranker], pool: Pool, seeking: LabelledTurns
) -> tuple[list[Row], Recall]:
    gold = [label.knowledge for label in seeking.labels]
    rows: list[Row] = []
    recall: Recall = []
    mentioned = {matching: [*map(MentionFinder(pool, matching).entities, seeking.dialogues)]
                 for matching in get_args(Matching)}
    guided: dict[Matching, list[list[list[Ranked]]]] = {matching: [] for matching in mentioned}
    for ranker in rankers:
        ranker.rank(seeking.dialogues[:1], pool)
        # A cross-encoder cannot be a first stage: it would read as many snippets as are requested.
        depth = TOP if isinstance(ranker, RssRanker) else max(SIZES)
        started = time.perf_counter()
        wide = ranker.rank(seeking.dialogues, pool, depth)
        seconds = (time.perf_counter() - started) / len(gold)
        rankings = [ranking[:TOP] for ranking in wide]
        rows.append((ranker.name, evaluate(rankings, gold), seconds))
        own = margin_of(ranker)
        margins = {own: f", margin {own:g}", None: ", no margin"} if own is not None else {None: ""}
        for matching, entities in mentioned.items():
            for margin, words in margins.items():
                moved = [rerank(*one, margin) for one in zip(rankings, entities, strict=True)]
                title = f"{ranker.name} + EGR ({matching}{words})"
                rows.append((title, evaluate(moved, gold), None))
                if margin == own:
                    guided[matching].append(moved)
        if depth > TOP:
            shares = first_stage_recall(wide, gold, SIZES)
            recall.append((ranker.name, {Column(str(size), "hundred"): share
                                         for size, share in shares.items()}))
    for matching, each in guided.items() if len(rankers) > 1 else ():
        for name, vote in (("hard", hard_vote), ("soft", soft_vote)):
            voted = [*map(vote, zip(*each, strict=True))]
            title = f"{name} vote of the rankers, each with EGR ({matching})"
            rows.append((title, evaluate(voted, gold), None))
    return rows, recall


def _selection(rows: Sequence[Row]) -> Table:
    return Table.of("selection", "How often the first snippet is right, and how it is wrong",
                    "ranker", [
        (ranker, {**{Column(title, "hundred"): getattr(figures[OVERALL], name)
                     for name, title in _SHARES.items()}, Column("seconds per turn"): seconds})
        for ranker, figures, seconds in rows], _SHARES_NOTE)


def _domains(rows: Sequence[Row]) -> list[Table]:
    """R@1 and R@5 by domain; no tables if the pool has no domains."""
    return [
        Table.of(f"domains_{share}", f"{_SHARES[share]} by domain (turns)", "ranker", [
            (ranker, {Column(f"{name} ({found.n})", "hundred"): getattr(found, share)
                      for name, found in figures.items() if name != OVERALL})
            for ranker, figures, _ in rows])
        for share in ("r1", "r5") if len(rows[0][1]) > 1
    ]


def _detection(detector: Detector, labelled: LabelledTurns) -> Table:
    targets = [label.target for label in labelled.labels]
    found = evaluate_detection(detector.detect(labelled.dialogues), targets)
    shares = zip(("precision", "recall", "F1"), found, strict=True)
    return Table.of("detection", "Detection of the turns that need knowledge", "detector", [
        (detector.name, {**{Column(title, "hundred"): share for title, share in shares},
                         Column("turns", "count"): len(targets),
                         Column("need knowledge", "count"): sum(targets)})])
