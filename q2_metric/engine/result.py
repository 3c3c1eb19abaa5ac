"""The results of a run's files, with the fields that the table and ``--json`` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import SystemScore


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of a file.

    - ``rows``: rows that were read; ``failed``: rows that could not be scored.
    - ``no_knowledge``: rows with blank knowledge. They have no score, but are not failed rows.
    - ``columns``: the column that was read for each field; empty for a file without rows.
    - ``resumed``: rows that an earlier, interrupted run had finished. ``seconds`` leaves them out.
    - ``resumed_failed``: the resumed rows that could not be scored.
    - ``blocks``: the number of rows of each block.
    - ``groups``: the scores of the rows with the same value, by column and value.
    - ``looked_up``: scores (one for each row and metric) that came from the cache.
    - ``verdict``: how many responses have an unsupported claim.
    """

    file: str
    rows: int
    failed: int
    seconds: float
    systems: tuple[SystemScore, ...]
    columns: Mapping[str, str | None]
    resumed: int = 0
    resumed_failed: int = 0
    blocks: tuple[int, ...] = ()
    looked_up: int = 0
    no_knowledge: int = 0
    verdict: VerdictCounts = field(default_factory=VerdictCounts)
    groups: Mapping[str, Mapping[str, Sequence[SystemScore]]] = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float:
        """Scored rows per second, without the time to load models.

        If scores came from the cache, the figure does not show the speed of the models.
        """
        scored = self.rows - self.failed - (self.resumed - self.resumed_failed)
        return scored / self.seconds if self.seconds > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """The result as ``q2 score --json`` shows it."""
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
        """Reads the result that :meth:`as_json` wrote. Its speed is not restored."""
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


def total(results: Sequence[FileResult]) -> tuple[int, int]:
    """The number of rows of all files, and how many of them could not be scored."""
    return sum(result.rows for result in results), sum(result.failed for result in results)
