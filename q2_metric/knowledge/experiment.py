"""Compares rankers on labelled dialogues: each ranker alone, each with EGR, and their votes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from q2_metric.errors import InputError
from q2_metric.knowledge.detection import Detection, evaluate_detection
from q2_metric.knowledge.dstc import TurnLabel, check_labels, read_labels, read_logs
from q2_metric.knowledge.egr import margin_of, rerank
from q2_metric.knowledge.ensemble import hard_vote, soft_vote
from q2_metric.knowledge.evaluate import Selection, evaluate, first_stage_recall
from q2_metric.knowledge.mentions import Matching, MentionFinder
from q2_metric.knowledge.rss import RssRanker
from q2_metric.knowledge.types import TOP, Detector, Dialogue, Pool, Ranked, Ranker

SIZES = (10, 20, 50, 100, 200, 500)
"""Numbers of kept snippets for which the recall of a first stage is measured."""


@dataclass(frozen=True, slots=True)
class LabelledTurns:
    """Dialogues with their labels."""

    dialogues: list[Dialogue]
    labels: list[TurnLabel]

    def seeking(self) -> LabelledTurns:
        """The dialogues whose last turn needs knowledge, with their labels.

        Raises:
            InputError: no dialogue needs knowledge.
        """
        kept = [i for i, label in enumerate(self.labels) if label.target]
        if not kept:
            raise InputError("no labelled turn needs knowledge")
        return LabelledTurns([self.dialogues[i] for i in kept], [self.labels[i] for i in kept])


def read_labelled(logs: str | Path, labels: str | Path, pool: Pool) -> LabelledTurns:
    """Reads dialogues and their labels. Every snippet that a label names must be in the pool.

    Raises:
        InputError: a file is malformed; the message says which file, and where.
    """
    dialogues = read_logs(logs)
    read = read_labels(labels, dialogues=len(dialogues))
    check_labels(read, pool, str(labels))
    return LabelledTurns(dialogues, read)


@dataclass(frozen=True, slots=True)
class RankerRow:
    """The results of a ranker by domain, and its seconds per turn (``None`` if it reuses the
    rankings of an earlier row)."""

    ranker: str
    figures: dict[str, Selection]
    seconds: float | None = None


@dataclass(slots=True)
class ExperimentResult:
    """The result of :func:`compare`."""

    turns: int
    snippets: int
    rows: list[RankerRow] = field(default_factory=list)
    recall: dict[str, dict[int, float]] = field(default_factory=dict)
    detection: dict[str, Detection] = field(default_factory=dict)


def compare(rankers: Sequence[Ranker], pool: Pool, labelled: LabelledTurns) -> ExperimentResult:
    """Evaluates each ranker alone, with exact EGR and with fuzzy EGR, and the votes of several
    rankers.

    Turns that need no knowledge are left out. The time to index the pool is not measured.
    """
    seeking = labelled.seeking()
    gold = [label.knowledge for label in seeking.labels]
    result = ExperimentResult(len(gold), len(pool))
    mentioned = {
        matching: [MentionFinder.cached(matching)(pool).entities(d) for d in seeking.dialogues]
        for matching in _matchings()
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
            title = f"{ranker.name} + EGR ({matching}{_margin(margin)})"
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
    """The precision, recall and F1 of a detector on all turns."""
    targets = [label.target for label in labelled.labels]
    return evaluate_detection(detector.detect(labelled.dialogues), targets)


def _margin(margin: float | None) -> str:
    return "" if margin is None else f", margin {margin:g}"


def _matchings() -> list[Matching]:
    return ["exact", "fuzzy"]
