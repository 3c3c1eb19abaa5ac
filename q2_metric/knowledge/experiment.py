"""Compares rankers on labelled dialogues: alone, with Entity Guided Reranking, and in votes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from q2_metric.knowledge.detection import Detection, evaluate_detection
from q2_metric.knowledge.dstc import LabelledTurns
from q2_metric.knowledge.egr import margin_of, rerank
from q2_metric.knowledge.ensemble import hard_vote, soft_vote
from q2_metric.knowledge.evaluate import Selection, evaluate, first_stage_recall
from q2_metric.knowledge.mentions import Matching, MentionFinder
from q2_metric.knowledge.rss import RssRanker
from q2_metric.knowledge.types import TOP, Detector, Pool, Ranked, Ranker

SIZES = (10, 20, 50, 100, 200, 500)


@dataclass(frozen=True, slots=True)
class RankerRow:
    """``seconds`` per turn is ``None`` if only the rankings of other rankers were combined."""

    ranker: str
    figures: dict[str, Selection]
    seconds: float | None = None


@dataclass(slots=True)
class ExperimentResult:
    """``turns`` counts those that need knowledge; ``recall`` is by number of snippets."""

    turns: int
    snippets: int
    rows: list[RankerRow] = field(default_factory=list)
    recall: dict[str, dict[int, float]] = field(default_factory=dict)
    detection: dict[str, Detection] = field(default_factory=dict)


def compare(rankers: Sequence[Ranker], pool: Pool, labelled: LabelledTurns) -> ExperimentResult:
    """Evaluates each ranker alone, each with EGR (exact and fuzzy matching of names), and votes.

    Turns that need no knowledge are left out. The time does not include the indexing of the pool.
    """
    seeking = labelled.seeking()
    gold = [label.knowledge for label in seeking.labels]
    result = ExperimentResult(len(gold), len(pool))
    finders = {matching: MentionFinder(pool, matching) for matching in get_args(Matching)}
    mentioned = {
        matching: [finder.entities(dialogue) for dialogue in seeking.dialogues]
        for matching, finder in finders.items()
    }
    guided: dict[Matching, list[list[list[Ranked]]]] = {matching: [] for matching in mentioned}
    for ranker in rankers:
        ranker.rank(seeking.dialogues[:1], pool)
        # A cross-encoder cannot be a first stage: it would read as many snippets as are requested.
        depth = TOP if isinstance(ranker, RssRanker) else max(SIZES)
        started = time.perf_counter()
        wide = ranker.rank(seeking.dialogues, pool, depth)
        seconds = (time.perf_counter() - started) / len(gold)
        rankings = [ranking[:TOP] for ranking in wide]
        result.rows.append(RankerRow(ranker.name, evaluate(rankings, gold), seconds))
        for matching, entities in mentioned.items():
            margin = margin_of(ranker)
            moved = [
                rerank(r, e, margin=margin) for r, e in zip(rankings, entities, strict=True)
            ]
            guided[matching].append(moved)
            within = "" if margin is None else f", margin {margin:g}"
            title = f"{ranker.name} + EGR ({matching}{within})"
            result.rows.append(RankerRow(title, evaluate(moved, gold)))
            if margin is not None:
                moved = [rerank(r, e) for r, e in zip(rankings, entities, strict=True)]
                title = f"{ranker.name} + EGR ({matching}, no margin)"
                result.rows.append(RankerRow(title, evaluate(moved, gold)))
        if depth > TOP:
            result.recall[ranker.name] = first_stage_recall(wide, gold, SIZES)
    if len(rankers) > 1:
        for matching, each in guided.items():
            for name, vote in (("hard", hard_vote), ("soft", soft_vote)):
                voted = [vote(rankings)[:TOP] for rankings in zip(*each, strict=True)]
                title = f"{name} vote of the rankers, each with EGR ({matching})"
                result.rows.append(RankerRow(title, evaluate(voted, gold)))
    return result


def detect(detector: Detector, labelled: LabelledTurns) -> Detection:
    targets = [label.target for label in labelled.labels]
    return evaluate_detection(detector.detect(labelled.dialogues), targets)
