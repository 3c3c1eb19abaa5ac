"""The result of each file that ``q2 score`` scored: what its table and ``--json`` show. It also has
the mean scores of groups of rows that have the same value in a column."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Self

from q2_metric.metrics.signature import parse
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.scoring import Aggregate, NoClaim, check_no_claim
from q2_metric.scoring.outcome import Outcome
from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import SystemScore

Grouped = dict[str, dict[str, tuple[SystemScore, ...]]]
"""``grouped["model"]["gpt"]`` holds the mean of each metric over rows with "model" = "gpt"."""


@dataclass(slots=True)
class SystemRun:
    """The result of a system: the rows of a scored file, or those with a value in a column.

    Rows with blank knowledge do not count as ``failed``. This run has scored ``timed`` rows in
    ``seconds``, and an interrupted run the others. ``columns`` has the column read for each field.
    ``looked_up`` counts the scores that an earlier run had put into the cache. ``group_by`` are the
    columns of ``--group-by``. Known only of scores that were read from a file: ``without_texts``,
    the number of scored rows whose texts are unknown; and ``date``, the day on which the run ended,
    such as "2026-11-25", or "".
    """

    name: str
    rows: int = 0
    failed: int = 0
    scores: tuple[SystemScore, ...] = ()
    columns: Mapping[str, str | None] = field(default_factory=dict)
    seconds: float = 0.0
    timed: int = 0
    looked_up: int = 0
    no_knowledge: int = 0
    verdict: VerdictCounts = field(default_factory=VerdictCounts)
    groups: Grouped = field(default_factory=dict)
    group_by: tuple[str, ...] = ()
    without_texts: int = 0
    date: str = ""

    @property
    def no_claim(self) -> NoClaim:
        signed = (parse(score.signature)[1] for score in self.scores if score.signature)
        return check_no_claim(next((one.get("no_claim") for one in signed), None))

    @property
    def rows_per_second(self) -> float:
        """Rows that this run scored per second, without the time to load models."""
        return self.timed / self.seconds if self.seconds > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.name,
            "rows": self.rows,
            "failed": self.failed,
            "no_knowledge": self.no_knowledge,
            "rows_per_second": self.rows_per_second,
            "scores_from_cache": self.looked_up,
            "columns": dict(self.columns),
            "verdict": self.verdict.as_json(),
            "scores": _by_name(self.scores),
            **({"groups": {
                column: {value: _by_name(systems) for value, systems in groups.items()}
                for column, groups in self.groups.items()}} if self.groups else {}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Reads :meth:`as_json`. The time is not restored, so ``rows_per_second`` is 0."""
        groups = {column: {value: _systems(scores) for value, scores in values.items()}
                  for column, values in fields.get("groups", {}).items()}
        return cls(fields["file"], fields["rows"], fields["failed"], _systems(fields["scores"]),
                   fields["columns"], no_knowledge=fields["no_knowledge"], groups=groups,
                   verdict=VerdictCounts.from_json(fields["verdict"]))


def _by_name(systems: Sequence[SystemScore]) -> dict[str, Any]:
    return {system.name: asdict(system) for system in systems}


def _systems(scores: Mapping[str, Any]) -> tuple[SystemScore, ...]:
    return tuple(
        SystemScore(**{**score, "interval": score["interval"] and tuple(score["interval"])})
        for score in scores.values())


# --- groups of rows -----------------------------------------------------------------------

MISSING = "(none)"
"""The group of rows without a value in the column."""


class Groups:
    """Collects the scores of rows by their values in the given input columns.
    A row whose value is a list belongs to the group of each item."""

    def __init__(self, columns: Sequence[str], metrics: Sequence[str], no_claim: NoClaim) -> None:
        self._columns = {name: defaultdict[str, Aggregate](partial(Aggregate, metrics, no_claim))
                         for name in columns}

    def add(self, row: OutputRow, outcomes: Sequence[Outcome]) -> None:
        for name, groups in self._columns.items():
            for value in values_of((row.get(OTHER.name) or {}).get(name)):
                groups[value].add(outcomes)

    def systems(self, signatures: Mapping[str, str]) -> Grouped:
        """The means of each group, by column and sorted value."""
        return {column: {value: tuple(groups[value].systems(signatures).values())
                         for value in sorted(groups)} for column, groups in self._columns.items()}


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
