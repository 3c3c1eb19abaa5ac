"""The result of each file that ``q2 score`` scored: what its table and ``--json`` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import SystemScore


@dataclass(slots=True)
class FileResult:
    """The result of scoring one file. Rows with blank knowledge do not count as ``failed``.

    This run has scored ``timed`` rows in ``seconds``, and an interrupted run the others.
    ``columns`` has the column read for each field.
    ``looked_up`` counts the scores that an earlier run had put into the cache.
    """

    file: str
    rows: int = 0
    failed: int = 0
    seconds: float = 0.0
    systems: tuple[SystemScore, ...] = ()
    columns: Mapping[str, str | None] = field(default_factory=dict)
    timed: int = 0
    looked_up: int = 0
    no_knowledge: int = 0
    verdict: VerdictCounts = field(default_factory=VerdictCounts)
    groups: Mapping[str, Mapping[str, Sequence[SystemScore]]] = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float:
        """Rows that this run scored per second, without the time to load models."""
        return self.timed / self.seconds if self.seconds > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "rows": self.rows,
            "failed": self.failed,
            "no_knowledge": self.no_knowledge,
            "rows_per_second": self.rows_per_second,
            "scores_from_cache": self.looked_up,
            "columns": dict(self.columns),
            "verdict": self.verdict.as_json(),
            "scores": _by_name(self.systems),
            **({"groups": {
                column: {value: _by_name(systems) for value, systems in groups.items()}
                for column, groups in self.groups.items()}} if self.groups else {}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FileResult:
        """Reads :meth:`as_json`. The time is not restored, so ``rows_per_second`` is 0."""
        groups = {
            column: {value: _systems(scores) for value, scores in values.items()}
            for column, values in fields.get("groups", {}).items()
        }
        return cls(fields["file"], fields["rows"], fields["failed"], 0.0,
                   _systems(fields["scores"]), fields["columns"],
                   no_knowledge=fields["no_knowledge"], groups=groups,
                   verdict=VerdictCounts.from_json(fields["verdict"]))


def _by_name(systems: Sequence[SystemScore]) -> dict[str, Any]:
    return {system.name: asdict(system) for system in systems}


def _systems(scores: Mapping[str, Any]) -> tuple[SystemScore, ...]:
    return tuple(
        SystemScore(**{**score, "interval": score["interval"] and tuple(score["interval"])})
        for score in scores.values()
    )
