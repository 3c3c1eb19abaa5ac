"""Groups the responses on a report page by the values of an input column, such as "model"."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.engine.result import SystemRun, values_of
from q2_metric.report.systems import places
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.scoring import Aggregate
from q2_metric.scoring.outcome import of_row
from q2_metric.scoring.verdict import VerdictCounts

MOST = 30
"""Most different values in a column: the page stores a row's values as the bits of one number."""
LONGEST = 60
"""Most characters of a value. A column with longer values contains texts."""
USUAL = ("model", "system")
"""One of these is used without ``--group-by``."""


@dataclass(slots=True)
class _Group:
    """The rows of a system that have a value in a column."""

    aggregate: Aggregate
    rows: int = 0
    verdict: VerdictCounts = field(default_factory=VerdictCounts)


_Groups = dict[str, dict[int, _Group]]
"""By value and index of the system."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A column by which the page can group rows, with the results for each of its values. ``lines``
    are, by system and value: their indexes, numbers of rows, of rows with claims, of rows with an
    unsupported and with a contradicted claim, and the mean scores."""

    column: str
    values: tuple[str, ...]
    lines: tuple[tuple[Any, ...], ...]

    def bits(self, row: Mapping[str, Any]) -> int:
        """The row's values in this column: bit i stands for ``self.values[i]``."""
        return sum(1 << self.values.index(value) for value in _values(row, self.column))


def groupings(
    runs: Sequence[SystemRun], rows: Iterable[OutputRow], names: Sequence[str],
) -> list[Grouping]:
    """Finds the columns by which the page can group rows, and computes the results of the groups.

    Such a column has short values, at least two and at most :data:`MOST` different ones, and fewer
    than there are rows. With ``--group-by``, it may have one value, or as many as there are rows.
    ``rows`` are those of all systems, one system after the other.
    """
    asked = asked_for(runs)
    by_column: dict[str, _Groups] = {}
    dropped: set[str] = set()
    for place, row in zip(places(runs), rows, strict=True):
        outcomes = of_row(row)
        for column in row.get(OTHER.name) or ():
            if column in dropped:
                continue
            groups = by_column.setdefault(column, {})
            for value in _values(row, column):
                if value not in groups and (len(groups) == MOST or len(value) > LONGEST):
                    dropped.add(column)
                    del by_column[column]
                    break
                by_place = groups.setdefault(value, {})
                if place not in by_place:
                    by_place[place] = _Group(Aggregate(no_claim=runs[place].no_claim))
                group = by_place[place]
                group.rows += 1
                group.aggregate.add(outcomes)
                group.verdict.add(row)
    found = [_grouping(column, groups, names) for column, groups in by_column.items()
             if not _names_systems(groups, runs)
             and (column in asked or 1 < len(groups) < sum(run.rows for run in runs))]
    wanted = [*asked, *USUAL]
    return sorted(found, key=lambda one: wanted.index(one.column) if one.column in wanted
                  else len(wanted))


def _names_systems(groups: _Groups, runs: Sequence[SystemRun]) -> bool:
    return len(runs) > 1 and all(
        value == runs[place].name for value, by_place in groups.items() for place in by_place)


def _grouping(column: str, groups: _Groups, names: Sequence[str]) -> Grouping:
    values = tuple(sorted(groups))
    lines = tuple(
        (place, index, group.rows, group.verdict.judged, group.verdict.unsupported,
         group.verdict.contradicted, list(map(group.aggregate.compute().get, names)))
        for index, value in enumerate(values) for place, group in groups[value].items())
    return Grouping(column, values, lines)


def asked_for(runs: Sequence[SystemRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.group_by))


def chosen(groups: Sequence[Grouping], runs: Sequence[SystemRun]) -> str:
    """The column by which the page groups rows when it is opened; "" for none."""
    wanted = (*asked_for(runs), *USUAL)
    return next((group.column for group in groups if group.column in wanted), "")


def _values(row: Mapping[str, Any], column: str) -> list[str]:
    other = row.get(OTHER.name) or {}
    return values_of(other[column]) if column in other else []
