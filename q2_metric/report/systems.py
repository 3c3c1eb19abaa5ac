"""The systems on a report page: the comparison of each with the first, their order in time, and the
groups of responses by the values of an input column, such as "model"."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, chain, islice, repeat, zip_longest
from typing import Any, Literal

from q2_metric.engine.result import SystemRun, values_of
from q2_metric.report.compare import How, PairedDifference, SystemValues, differences, match
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.scoring.verdict import GATED, VerdictCounts

MOST_VALUES = 30
"""Of a column by which rows are grouped: the page stores a row's values as bits of one number."""
LONGEST_VALUE = 60
"""In characters. A column with longer values contains texts."""
USUAL = ("model", "system")
"""Rows are grouped by one of these columns without ``--group-by``."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The comparison of two systems. ``pairs`` are (row of ``against``, row of ``system``),
    numbered over all systems. ``differences`` are ``system`` minus ``against``. ``changed`` counts
    the pairs that are matched by id although their texts differ."""

    system: int
    how: How
    pairs: list[tuple[int, int]]
    differences: list[PairedDifference]
    against: int = 0
    changed: int = 0

    @property
    def deciding(self) -> PairedDifference | None:
        """The difference of the gate's metric, or else of the first metric; ``None`` if there is
        none."""
        known = [one for one in self.differences if one.value is not None]
        return next((one for one in known if one.metric == GATED), next(iter(known), None))


def compare_runs(
    runs: Sequence[SystemRun], rows: Iterable[OutputRow], *, neighbours: bool = False
) -> list[SideBySide]:
    """Compares the systems with the first. A system whose rows cannot be matched is skipped.
    ``rows`` are those of all systems, one system after the other. With ``neighbours``, each system
    from the third on is also compared with the one before it."""
    if len(runs) < 2:
        return []
    left = iter(rows)
    columns = [SystemValues(run.no_claim, islice(left, run.rows),
                            [score.name for score in run.scores]) for run in runs]
    offsets = [0, *accumulate(run.rows for run in runs)]
    wanted = [(0, place) for place in range(1, len(runs))]
    wanted += [(place - 1, place) for place in range(2, len(runs)) if neighbours]
    comparisons = []
    for one, other in wanted:
        if matched := match(columns[one], columns[other]):
            there = [(a + offsets[one], b + offsets[other]) for a, b in matched.pairs]
            changes = differences(columns[one], columns[other], matched.pairs)
            comparisons.append(
                SideBySide(other, matched.how, there, changes, one, len(matched.changed)))
    return comparisons


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The positions of runs on a time axis: training steps, or days since the first run."""

    kind: Literal["checkpoint", "date"]
    steps: list[int]
    labels: list[str]


def series(names: Sequence[str], dates: Sequence[str] = ()) -> RunSeries | None:
    """Recognises whether runs, sorted by :func:`in_order`, follow each other in time.

    At least three runs are needed. Their names differ in exactly one number, which rises, or they
    ended on different days, in this order.

    >>> series(["runs/step-500.jsonl", "runs/step-1000.jsonl", "runs/step-1500.jsonl"]).steps
    [500, 1000, 1500]
    >>> series(["a.jsonl", "c.jsonl", "b.jsonl"], ["2026-11-02", "2026-11-09", "2026-12-01"]).labels
    ['2026-11-02', '2026-11-09', '2026-12-01']
    >>> series(["runs/a.jsonl", "runs/b.jsonl", "runs/c.jsonl"]) is None
    True
    """
    found = _steps(names, dates)
    return found if found and found.steps == sorted(found.steps) else None


def _steps(names: Sequence[str], dates: Sequence[str]) -> RunSeries | None:
    """The steps of runs in any order. ``None`` if there are too few, or two are equal."""
    parts = list(zip_longest(*(re.split(r"(\d+)", name) for name in names)))
    different = [place for place, texts in enumerate(parts) if len(set(texts)) > 1]
    days = [date.fromisoformat(iso).toordinal() for iso in dates if iso]
    if len(different) == 1 and different[0] % 2:
        steps = [int(number) for number in parts[different[0]]]
        found = RunSeries("checkpoint", steps, [f"{step:,}" for step in steps])
    elif len(days) == len(names):
        found = RunSeries("date", [day - min(days) for day in days], list(dates))
    else:
        return None
    return found if len(set(found.steps)) == len(names) > 2 else None


def in_order(names: Sequence[str], dates: Sequence[str] = ()) -> list[str]:
    """Sorts checkpoints by number, or dated runs by day. Other names keep their order.

    >>> in_order(["step-1000.jsonl", "step-1500.jsonl", "step-500.jsonl"])
    ['step-500.jsonl', 'step-1000.jsonl', 'step-1500.jsonl']
    """
    found = _steps(names, dates)
    steps = found.steps if found else range(len(names))
    return [name for _, name in sorted(zip(steps, names, strict=True))]


def curves(
    runs: Sequence[SystemRun], verdicts: Sequence[VerdictCounts]
) -> list[tuple[str, list[list[float | None]]]]:
    """Curves over the systems: (name of the score column, for each system [mean, low end of its
    interval, high end]). If responses have claims, the first curve, named "", is the share of them
    with an unsupported claim."""
    scores = [{score.name: [score.value, *(score.interval or (None, None))]
               for score in run.scores} for run in runs]
    for verdict, by_name in zip(verdicts, scores, strict=True):
        if verdict.judged:
            by_name[""] = [verdict.unsupported / verdict.judged, None, None]
    names = dict.fromkeys(name for by_name in scores for name in by_name)
    return [(name, [by_name.get(name, [None, None, None]) for by_name in scores])
            for name in sorted(names, key=bool)]  # "" comes first


def places(runs: Sequence[SystemRun]) -> Iterator[int]:
    """Yields, for each row of all systems, the index of its system."""
    return chain.from_iterable(repeat(place, run.rows) for place, run in enumerate(runs))


@dataclass(frozen=True, slots=True)
class Grouping:
    """A column by which the page can group rows."""

    column: str
    values: tuple[str, ...]

    def bits(self, row: Mapping[str, Any]) -> int:
        """The row's values in this column: bit i stands for ``self.values[i]``."""
        return sum(1 << self.values.index(value) for value in _values(row, self.column))


def groupings(runs: Sequence[SystemRun], rows: Iterable[OutputRow]) -> list[Grouping]:
    """Finds the columns by which the page can group rows.

    Such a column has short values, at least two and at most :data:`MOST_VALUES` different ones, and
    fewer than there are rows. With ``--group-by``, it may have one value, or as many as there are
    rows. ``rows`` are those of all systems, one system after the other.
    """
    asked = asked_for(runs)
    # By column and value, the names of the systems.
    by_column: dict[str, dict[str, set[str]]] = {}
    for place, row in zip(places(runs), rows, strict=True):
        for column in row.get(OTHER.name) or ():
            systems = by_column.setdefault(column, defaultdict(set))
            if len(systems) <= MOST_VALUES:
                for value in _values(row, column):
                    systems[value].add(runs[place].name)

    def usable(column: str, systems: Mapping[str, set[str]]) -> bool:
        named = len(runs) > 1 and all(names == {value} for value, names in systems.items())
        return (not named and len(systems) <= MOST_VALUES
                and max(map(len, systems)) <= LONGEST_VALUE
                and (column in asked or 1 < len(systems) < sum(run.rows for run in runs)))

    wanted = [column for column in (*asked, *USUAL) if column in by_column]
    return [Grouping(column, tuple(sorted(by_column[column])))
            for column in dict.fromkeys([*wanted, *by_column])
            if usable(column, by_column[column])]


def asked_for(runs: Sequence[SystemRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.group_by))


def chosen(groups: Sequence[Grouping], runs: Sequence[SystemRun]) -> str:
    """The column by which the page groups rows when it is opened; "" for none."""
    wanted = (*asked_for(runs), *USUAL)
    return next((group.column for group in groups if group.column in wanted), "")


def _values(row: Mapping[str, Any], column: str) -> list[str]:
    other = row.get(OTHER.name) or {}
    return values_of(other[column]) if column in other else []
