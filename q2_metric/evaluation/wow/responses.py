"""Draws samples and pairs from the annotated responses, and computes means and shares of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import SYSTEMS
from q2_metric.evaluation.scores import Scores
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell

RANDOM_SAMPLE = 150
"""The paper selected as many consistent and as many inconsistent responses of each system."""

SYSTEM_NAMES = {"dodeca": "dodecaDialogue", "memnet": "MemNet"}


def truths(rows: Sequence[Labelled]) -> list[bool]:
    return [row.consistent for row in rows]


def sample(annotated: Sequence[Labelled], system: str, seed: int = SEED) -> list[int]:
    own = [i for i, row in enumerate(annotated) if row.system == system]
    return sorted(Random(seed).sample(own, min(RANDOM_SAMPLE, len(own))))


def pairs(annotated: Sequence[Labelled]) -> tuple[list[int], list[int]]:
    """Indices of the consistent and of the inconsistent response of each context that has both."""
    good, bad = [], []
    for first in range(0, len(annotated), len(SYSTEMS)):
        one, other = first, first + 1
        if annotated[one].consistent != annotated[other].consistent:
            good.append(one if annotated[one].consistent else other)
            bad.append(other if annotated[one].consistent else one)
    return good, bad


def mean(numbers: Sequence[float]) -> Cell:
    return sum(numbers) / len(numbers) if numbers else None


def asked(scores: Scores) -> tuple[Cell, Cell, Cell]:
    """Of the first metric that asks questions: their number, the share of them that the knowledge
    does not answer, and the share of responses with a question."""
    for column in scores.values():
        known = [item for item in column if item is not None and item.questions is not None]
        if known:
            counts = [item.questions or 0 for item in known]
            unanswered, total = sum(item.unanswered or 0 for item in known), sum(counts)
            share = unanswered / total if total else None
            return total, share, sum(count > 0 for count in counts) / len(column)
    return None, None, None
