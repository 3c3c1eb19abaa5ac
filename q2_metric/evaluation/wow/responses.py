"""Samples and pairs of the annotated responses, and statistics of groups of responses."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import SYSTEMS
from q2_metric.evaluation.scores import Scores
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell

RANDOM_SAMPLE = 150
"""Responses in a system's random sample: as many as are selected of each class."""

SYSTEM_NAMES = {"dodeca": "dodecaDialogue", "memnet": "MemNet"}


def truths(rows: Sequence[Labelled]) -> list[bool]:
    """For each row, whether people found it consistent."""
    return [row.consistent for row in rows]


def sample(annotated: Sequence[Labelled], system: str, seed: int = SEED) -> list[int]:
    """The random sample of a system, as sorted indexes of ``annotated``."""
    own = [i for i, row in enumerate(annotated) if row.system == system]
    return sorted(Random(seed).sample(own, min(RANDOM_SAMPLE, len(own))))


def pairs(annotated: Sequence[Labelled]) -> tuple[list[int], list[int]]:
    """Indexes of the consistent and the inconsistent response of each context that has both."""
    good, bad = [], []
    for first in range(0, len(annotated), len(SYSTEMS)):
        one, other = first, first + 1
        if annotated[one].consistent != annotated[other].consistent:
            good.append(one if annotated[one].consistent else other)
            bad.append(other if annotated[one].consistent else one)
    return good, bad


def mean(numbers: Sequence[float]) -> Cell:
    """The mean of the numbers; ``None`` without numbers."""
    return sum(numbers) / len(numbers) if numbers else None


def asked(scores: Scores) -> tuple[Cell, Cell, Cell]:
    """Number of questions, share of unanswerable questions, share of responses with a question.

    The figures are those of the first metric that asks questions. They are ``None`` if no metric
    does.
    """
    for column in scores.values():
        known = [item for item in column if item is not None and item.questions is not None]
        if known:
            counts = [item.questions or 0 for item in known]
            unanswered, total = sum(item.unanswered or 0 for item in known), sum(counts)
            share = unanswered / total if total else None
            return total, share, sum(count > 0 for count in counts) / len(column)
    return None, None, None
