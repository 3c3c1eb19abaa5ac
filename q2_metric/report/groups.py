"""Groups the responses on a report page by the values of an input column, such as "model"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.engine.groups import values_of
from q2_metric.report.systems import SystemRun, places
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.scoring import Aggregate
from q2_metric.scoring.outcome import of_row
from q2_metric.scoring.verdict import VerdictCounts

MOST = 30
"""Maximum number of different values in a column to group by. There is a limit because the page
stores a row's values as the bits of one number."""
LONGEST = 60
"""Maximum number of characters of a value. A column with longer values contains texts rather than
groups."""
USUAL = ("model", "system")
"""If the user named no column to group by (``--group-by``), the page groups by one of these."""


@dataclass(slots=True)
class _Group:
    """Collects the results of the rows of one system that have the same value in a column."""

    aggregate: Aggregate
    rows: int = 0
    verdict: VerdictCounts = field(default_factory=VerdictCounts)


@dataclass(frozen=True, slots=True)
class Grouping:
    """A column by which the page can group rows, with the results for each of its values.

    ``values`` are the column's values, sorted. ``lines`` has an entry for each system and value.
    An entry contains: index of the system, index of the value, number of rows, number of rows with
    claims, number of rows with an unsupported claim, number of rows with a contradicted claim, and
    the list of mean scores.
    """

    column: str
    values: tuple[str, ...]
    lines: tuple[tuple[Any, ...], ...]

    def bits(self, row: Mapping[str, Any]) -> int:
        """The row's values in this column, as a bit mask: bit i stands for ``self.values[i]``."""
        return sum(1 << self.values.index(value) for value in _values(row, self.column))

    def as_json(self) -> dict[str, Any]:
        """The grouping as a JSON object for the scripts of the page."""
        return {"column": self.column, "values": self.values, "lines": self.lines}


def groupings(
    runs: Sequence[SystemRun], rows: Iterable[OutputRow], names: Sequence[str],
) -> list[Grouping]:
    """Finds the columns by which the page can group rows, and computes the results of the groups.

    Such a column has short values. It has at least two different values, at most :data:`MOST`, and
    fewer values than there are rows. A column that the user named with ``--group-by`` may also have
    one value, or a different value in each row.

    Args:
        runs: the systems.
        rows: the output rows of all systems, one system after the other.
        names: names of the score columns whose means are computed.
    """
    asked = asked_for(runs)
    by_column: dict[str, dict[str, dict[int, _Group]]] = {}
    dropped: set[str] = set()
    n = 0
    for place, row in zip(places(runs), rows, strict=True):
        n += 1
        outcomes = None
        for column in row.get(OTHER.name) or ():
            if column in dropped:
                continue
            values = by_column.setdefault(column, {})
            there = _values(row, column)
            if len(values.keys() | set(there)) > MOST or any(
                    len(value) > LONGEST for value in there):
                dropped.add(column)
                del by_column[column]
                continue
            outcomes = of_row(row) if outcomes is None else outcomes
            for value in there:
                groups = values.setdefault(value, {})
                if place not in groups:
                    groups[place] = _Group(Aggregate(no_claim=runs[place].no_claim))
                group = groups[place]
                group.rows += 1
                group.aggregate.add(outcomes)
                group.verdict.add(row)
    kept = {column: values for column, values in by_column.items()
            if (column in asked or 1 < len(values) < n) and not _names_systems(values, runs)}
    return [_grouping(column, kept[column], names)
            for column in sorted(kept, key=lambda column: _rank(column, asked))]


def _names_systems(
    values: Mapping[str, Mapping[int, _Group]], runs: Sequence[SystemRun]
) -> bool:
    """Whether a column only repeats the names of the systems.

    This is so if each value is the name of a system, and only the rows of this system have it.
    """
    names = {runs[place].name: place for place in range(len(runs))}
    return len(runs) > 1 and all(list(there) == [names.get(value)]
                                 for value, there in values.items())


def _grouping(
    column: str, values: Mapping[str, Mapping[int, _Group]], names: Sequence[str]
) -> Grouping:
    ordered = tuple(sorted(values))
    lines = []
    for i, value in enumerate(ordered):
        for place, group in sorted(values[value].items()):
            means = group.aggregate.compute()
            verdict = group.verdict
            lines.append((place, i, group.rows, verdict.judged, verdict.unsupported,
                          verdict.contradicted, [means.get(name) for name in names]))
    return Grouping(column, ordered, tuple(lines))


def asked_for(runs: Sequence[SystemRun]) -> list[str]:
    """The columns that the user named with ``--group-by`` when the runs were scored."""
    return list(dict.fromkeys(name for run in runs for name in run.group_by))


def chosen(groups: Sequence[Grouping], runs: Sequence[SystemRun]) -> str:
    """The column by which the page groups rows when it is opened; "" if it does not group them."""
    wanted = (*asked_for(runs), *USUAL)
    return next((group.column for group in groups if group.column in wanted), "")


def _rank(column: str, asked: Sequence[str]) -> int:
    wanted = [*asked, *USUAL]
    return wanted.index(column) if column in wanted else len(wanted)


def _values(row: Mapping[str, Any], column: str) -> list[str]:
    other = row.get(OTHER.name) or {}
    return values_of(other[column]) if column in other else []
