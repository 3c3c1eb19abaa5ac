"""What became of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from q2_metric.types import SystemScore


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of a file: rows read, rows that could not be scored, system scores.

    ``columns`` are those that were read, by field; empty for a file without rows.
    ``resumed`` counts the rows, and ``resumed_failed`` the failed ones among them, that an
    earlier, broken-off run had finished: ``seconds`` is not about them.
    """

    file: str
    rows: int
    failed: int
    seconds: float
    systems: tuple[SystemScore, ...]
    columns: Mapping[str, str | None]
    resumed: int = 0
    resumed_failed: int = 0

    @property
    def rows_per_second(self) -> float:
        """Rows that were scored, by the time it took (models already loaded)."""
        scored = self.rows - self.failed - (self.resumed - self.resumed_failed)
        return scored / self.seconds if self.seconds > 0 else 0.0


def as_json(result: FileResult) -> dict[str, Any]:
    """The result as ``q2 score --json`` shows it."""
    return {
        "file": result.file,
        "rows": result.rows,
        "failed": result.failed,
        "rows_per_second": result.rows_per_second,
        "columns": dict(result.columns),
        "scores": {system.name: asdict(system) for system in result.systems},
    }


def from_json(fields: Mapping[str, Any]) -> FileResult:
    """The result that :func:`as_json` wrote, without its speed."""
    systems = tuple(
        SystemScore(**{**one, "interval": one["interval"] and tuple(one["interval"])})
        for one in fields["scores"].values()
    )
    return FileResult(
        fields["file"], fields["rows"], fields["failed"], 0.0, systems, fields["columns"]
    )


def total(results: Sequence[FileResult]) -> tuple[int, int]:
    """Rows of all files, and how many of them could not be scored."""
    return sum(one.rows for one in results), sum(one.failed for one in results)
