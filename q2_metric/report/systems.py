"""The systems on a page, and the comparison of each later system with the first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, chain, repeat
from typing import Literal

from q2_metric.metrics.signature import parse
from q2_metric.report.compare import How, PairedDifference, SystemValues, differences, match
from q2_metric.rows.fields import OutputRow
from q2_metric.scoring import NoClaim, check_no_claim
from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import SystemScore

Point = list[float | None]
"""A point of a curve: mean, and the ends of its interval."""


@dataclass(frozen=True, slots=True)
class SystemRun:
    """A system on the page.

    Attributes:
        name: the system's file, or the value of the column that names systems.
        rows: number of rows.
        failed: rows that could not be scored.
        scores: scores by metric; an unknown signature is "".
        without_texts: scored rows whose texts are unknown.
        complete: whether the run has ended.
        group_by: columns by which the run also grouped its means.
        date: the day on which the run ended (ISO 8601); "" if unknown.
    """

    name: str
    rows: int
    failed: int
    scores: tuple[SystemScore, ...]
    without_texts: int = 0
    complete: bool = True
    group_by: tuple[str, ...] = ()
    date: str = ""

    @property
    def no_claim(self) -> NoClaim:
        """How responses that claim nothing count in the means."""
        signed = (parse(score.signature)[1] for score in self.scores if score.signature)
        return check_no_claim(next((one.get("no_claim") for one in signed), None))


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A comparison of two systems. The systems are given by index, ``pairs`` by indexes of rows.

    The indexes of rows count the rows of all systems together.
    """

    system: int
    how: How
    pairs: list[tuple[int, int]]
    differences: list[PairedDifference]
    against: int = 0


def compare_runs(
    runs: Sequence[SystemRun], rows: Iterable[OutputRow], *, neighbours: bool = False
) -> list[SideBySide]:
    """Compares each later system with the first if their rows can be matched.

    Args:
        runs: the systems.
        rows: rows of all systems, one system after the other.
        neighbours: also compare each system after the second with the system before it.
    """
    if len(runs) < 2:
        return []
    columns = [SystemValues() for _ in runs]
    metrics = [[score.name for score in run.scores] for run in runs]
    for place, row in zip(places(runs), rows, strict=True):
        columns[place].add(row, metrics[place])
    offsets = [0, *accumulate(run.rows for run in runs)]
    wanted = [(0, place) for place in range(1, len(runs))]
    wanted += [(place - 1, place) for place in range(2, len(runs)) if neighbours]
    comparisons = []
    for one, other in wanted:
        if matched := match(columns[one], columns[other]):
            how, pairs = matched
            there = [(a + offsets[one], b + offsets[other]) for a, b in pairs]
            changes = differences(columns[one], columns[other], pairs)
            comparisons.append(SideBySide(other, how, there, changes, one))
    return comparisons


@dataclass(frozen=True, slots=True)
class RunSeries:
    """Runs of one system over time: rising step numbers ``steps``, and a label for each step."""

    kind: Literal["checkpoint", "date"]
    steps: list[int]
    labels: list[str]


def series(names: Sequence[str], dates: Sequence[str] = ()) -> RunSeries | None:
    """The series over time that at least three runs form; ``None`` if they form no series.

    The runs are checkpoints, whose names differ in one number, or runs that ended on different
    days. They must be given in the order of their numbers or days (see :func:`in_order`).

    >>> series(["runs/step-500.jsonl", "runs/step-1000.jsonl", "runs/step-1500.jsonl"]).steps
    [500, 1000, 1500]
    >>> series(["a.jsonl", "c.jsonl", "b.jsonl"], ["2026-11-02", "2026-11-09", "2026-12-01"]).labels
    ['2026-11-02', '2026-11-09', '2026-12-01']
    >>> series(["runs/a.jsonl", "runs/b.jsonl", "runs/c.jsonl"]) is None
    True
    """
    if len(names) < 3:
        return None
    if (steps := _checkpoints(names)) is not None:
        return RunSeries("checkpoint", steps, [f"{step:,}" for step in steps])
    days = [date.fromisoformat(iso).toordinal() for iso in dates if iso]
    if len(days) == len(names) and days == sorted(set(days)):
        return RunSeries("date", [day - days[0] for day in days], list(dates))
    return None


def _checkpoints(names: Sequence[str]) -> list[int] | None:
    """The step number in each name, if the names differ only in this number and the number rises.

    ``None`` otherwise.
    """
    cut = [re.split(r"(\d+)", name) for name in names]
    if len({len(parts) for parts in cut}) > 1:
        return None
    different = [i for i, parts in enumerate(zip(*cut, strict=True)) if len(set(parts)) > 1]
    if len(different) != 1 or not different[0] % 2:
        return None
    steps = [int(parts[different[0]]) for parts in cut]
    return steps if steps == sorted(set(steps)) else None


def in_order(names: Sequence[str], dates: Sequence[str] = ()) -> list[str]:
    """Sorts checkpoints by number, or dated runs by day. Other names keep their order.

    >>> in_order(["step-1000.jsonl", "step-1500.jsonl", "step-500.jsonl"])
    ['step-500.jsonl', 'step-1000.jsonl', 'step-1500.jsonl']
    """
    ordered = sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    if series(ordered) is not None:
        return ordered
    days = dict(zip(names, dates, strict=False))
    ordered = sorted(names, key=lambda name: days.get(name, ""))
    dated = series(ordered, [days.get(name, "") for name in ordered])
    return ordered if dated is not None else list(names)


def curves(
    runs: Sequence[SystemRun], verdicts: Sequence[VerdictCounts]
) -> list[tuple[str, list[Point]]]:
    """A curve for each column. A point is [mean, low, high] of a system, or ``None`` without a
    score.

    The first curve has the name "". It shows the share of judged responses with an unsupported
    claim.
    """
    by_column: dict[str, list[Point]] = {}
    if any(verdict.judged for verdict in verdicts):
        by_column[""] = [
            [verdict.unsupported / verdict.judged if verdict.judged else None, None, None]
                         for verdict in verdicts]
    names = dict.fromkeys(score.name for run in runs for score in run.scores)
    for name in names:
        by_column[name] = []
        for run in runs:
            score = {summary.name: summary for summary in run.scores}.get(name)
            ends = (score and score.interval) or (None, None)
            by_column[name].append([score.value if score else None, *ends])
    return list(by_column.items())


def places(runs: Sequence[SystemRun]) -> Iterator[int]:
    """The index of the system of each row."""
    return chain.from_iterable(repeat(place, run.rows) for place, run in enumerate(runs))
