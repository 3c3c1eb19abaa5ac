"""Mean scores of groups of rows that have the same value in a column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.scoring import Aggregate, NoClaim
from q2_metric.scoring.outcome import of_row
from q2_metric.types import SystemScore

Grouped = dict[str, dict[str, tuple[SystemScore, ...]]]
"""``grouped["model"]["gpt"]`` holds the mean of each metric over rows with "model" = "gpt"."""

MISSING = "(none)"
"""The group of rows without a value in the column."""


class Groups:
    """Collects the scores of rows by their values in the given input columns.
    A row whose value is a list belongs to the group of each item."""

    def __init__(
        self, columns: Sequence[str], metrics: Sequence[str], no_claim: NoClaim
    ) -> None:
        self._metrics, self._no_claim = metrics, no_claim
        self._columns: dict[str, dict[str, Aggregate]] = {name: {} for name in columns}

    def update(self, rows: Iterable[OutputRow]) -> None:
        for row in rows:
            outcomes = of_row(row) if self._columns else []
            for name, groups in self._columns.items():
                for value in values_of((row.get(OTHER.name) or {}).get(name)):
                    if value not in groups:
                        groups[value] = Aggregate(self._metrics, self._no_claim)
                    groups[value].add(outcomes)

    def systems(self, signatures: Mapping[str, str]) -> Grouped:
        """The means of each group, by column and sorted value."""
        return {
            column: {value: tuple(groups[value].systems(signatures).values())
                     for value in sorted(groups)}
            for column, groups in self._columns.items()
        }


def values_of(value: object) -> list[str]:
    """The names of a row's groups, from its value in the grouping column.

    >>> values_of("a"), values_of(["x", "y"]), values_of(None), values_of(True)
    (['a'], ['x', 'y'], ['(none)'], ['true'])
    """
    if isinstance(value, list):
        nested = (group for item in value for group in values_of(item))
        return list(dict.fromkeys(nested)) or [MISSING]
    if value is None or value == "":
        return [MISSING]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
