"""The systems on a page, and each after the first beside the first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat

from q2_metric.report.compare import Column, Difference, How, differences, match
from q2_metric.rows.fields import OutputRow
from q2_metric.types import SystemScore


@dataclass(frozen=True, slots=True)
class Run:
    """A system on the page: rows, rows that could not be scored, scores by metric.

    A score whose signature is "" has none on record. ``without_texts`` counts scored rows
    whose texts are not known; ``complete`` is false for scores of a run that has not ended.
    """

    name: str
    rows: int
    failed: int
    scores: tuple[SystemScore, ...]
    without_texts: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A system beside another, by place; ``pairs`` are places among all rows."""

    system: int
    how: How
    pairs: list[tuple[int, int]]
    differences: list[Difference]
    against: int = 0


def compare_runs(
    runs: Sequence[Run], rows: Iterable[OutputRow], *, neighbours: bool = False
) -> list[SideBySide]:
    """Each system after the first beside the first, where their rows can be matched.

    Args:
        runs: the systems.
        rows: of all of them, one system after the other.
        neighbours: also each after the second beside the one before it.
    """
    if len(runs) < 2:
        return []
    columns = [Column() for _ in runs]
    metrics = [[score.name for score in run.scores] for run in runs]
    for place, row in zip(places(runs), rows, strict=True):
        columns[place].add(row, metrics[place])
    offsets = [0, *accumulate(run.rows for run in runs)]
    wanted = [(0, place) for place in range(1, len(runs))]
    wanted += [(place - 1, place) for place in range(2, len(runs)) if neighbours]
    found = []
    for one, other in wanted:
        if matched := match(columns[one], columns[other]):
            how, pairs = matched
            there = [(a + offsets[one], b + offsets[other]) for a, b in pairs]
            changes = differences(columns[one], columns[other], pairs)
            found.append(SideBySide(other, how, there, changes, one))
    return found


def series(names: Sequence[str]) -> list[int] | None:
    """The numbers of checkpoints whose names differ in one number, rising; ``None`` for others.

    >>> series(["runs/step-500.jsonl", "runs/step-1000.jsonl", "runs/step-1500.jsonl"])
    [500, 1000, 1500]
    >>> series(["runs/a.jsonl", "runs/b.jsonl", "runs/c.jsonl"]) is None
    True
    """
    cut = [re.split(r"(\d+)", name) for name in names]
    if len(names) < 3 or len({len(parts) for parts in cut}) > 1:
        return None
    different = [i for i, parts in enumerate(zip(*cut, strict=True)) if len(set(parts)) > 1]
    if len(different) != 1 or not different[0] % 2:
        return None
    steps = [int(parts[different[0]]) for parts in cut]
    return steps if steps == sorted(set(steps)) else None


def in_order(names: Sequence[str]) -> list[str]:
    """Checkpoints by their numbers; other names as they are.

    >>> in_order(["step-1000.jsonl", "step-1500.jsonl", "step-500.jsonl"])
    ['step-500.jsonl', 'step-1000.jsonl', 'step-1500.jsonl']
    """
    ordered = sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    return ordered if series(ordered) is not None else list(names)


def curves(runs: Sequence[Run]) -> dict[str, list[list[float | None]]]:
    """By column, [mean, low, high] of each system; nulls where it has no score."""
    names = dict.fromkeys(score.name for run in runs for score in run.scores)
    found: dict[str, list[list[float | None]]] = {name: [] for name in names}
    for run in runs:
        scores = {score.name: score for score in run.scores}
        for name, points in found.items():
            score = scores.get(name)
            ends = (score and score.interval) or (None, None)
            points.append([score.value if score else None, *ends])
    return found


def places(runs: Sequence[Run]) -> Iterator[int]:
    """The place of each row's system."""
    return chain.from_iterable(repeat(place, run.rows) for place, run in enumerate(runs))
