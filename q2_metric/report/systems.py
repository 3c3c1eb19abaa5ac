"""The systems on a page, and each after the first beside the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

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
    """A system (by place) beside the first one; ``pairs`` are places among all rows."""

    system: int
    how: How
    pairs: list[tuple[int, int]]
    differences: list[Difference]


def compare_runs(runs: Sequence[Run], rows: Iterable[OutputRow]) -> list[SideBySide]:
    """Each system after the first beside the first, where their rows can be matched."""
    if len(runs) < 2:
        return []
    columns = [Column() for _ in runs]
    metrics = [[score.name for score in run.scores] for run in runs]
    for place, row in zip(places(runs), rows, strict=True):
        columns[place].add(row, metrics[place])
    first, found, offset = columns[0], [], runs[0].rows
    for place, (run, column) in enumerate(zip(runs[1:], columns[1:], strict=True), start=1):
        if matched := match(first, column):
            how, pairs = matched
            there = [(a, b + offset) for a, b in pairs]
            found.append(SideBySide(place, how, there, differences(first, column, pairs)))
        offset += run.rows
    return found


def places(runs: Sequence[Run]) -> Iterator[int]:
    """The place of each row's system."""
    return chain.from_iterable(repeat(place, run.rows) for place, run in enumerate(runs))
