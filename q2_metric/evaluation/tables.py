"""The result of an experiment. Its exact numbers are rounded only when they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from q2_metric.evaluation.statistics import Interval

Cell = str | int | float | Interval | None
"""``None``: not measured, or does not exist."""

Kind = Literal["text", "count", "number", "percent", "hundred", "p"]
"""Numbers are multiplied by 100 for "percent" and "hundred" (usual for AUCs)."""

NONE = "–"


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """Programs find a table by ``name``; ``title`` and ``note`` are for readers. The first columns,
    of kind "text", say what a row is about."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: {len(row)} cells for {len(self.columns)} columns")

    @classmethod
    def of(
        cls, name: str, title: str, head: str,
        rows: Iterable[tuple[str, Mapping[Column, Cell]]], note: str = "",
    ) -> Table:
        """A table whose rows, at least one, all have the same columns. The first column, ``head``,
        names the row."""
        named = list(rows)
        return cls(name, title, (Column(head, "text"), *named[0][1]),
                   tuple((row, *cells.values()) for row, cells in named), note)

    def shown(self) -> list[list[str]]:
        """The cells of each row as strings, with rounded numbers."""
        return [[show(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)]
                for row in self.rows]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment.

    Attributes:
        signatures: the signature of each metric.
        curves: kind of figure -> title of a panel -> metric -> series of numbers by name (see
            :mod:`q2_metric.evaluation.figures`).
        facts: facts about the run, such as "command", "date" and "version", shown unchanged.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    signatures: Mapping[str, str]
    curves: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def number(cell: Cell) -> float | None:
    """The number in a cell, without its interval; ``None`` for a text."""
    value = cell.value if isinstance(cell, Interval) else cell
    return None if isinstance(value, str) else value


def show(cell: Cell, kind: Kind) -> str:
    """The content of a cell as a string.

    >>> show(Interval(0.7124, 0.68, 0.74), "hundred"), show(0.671, "percent"), show(None, "p")
    ('71.2 [68.0, 74.0]', '67.1 %', '–')
    """
    if cell is None:
        return NONE
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Interval):
        low, high = _rounded(cell.low, kind), _rounded(cell.high, kind)
        return f"{_rounded(cell.value, kind)} [{low}, {high}]"
    shown = _rounded(cell, kind)
    return f"{shown} %" if kind == "percent" else shown


def _rounded(value: float, kind: Kind) -> str:
    if not math.isfinite(value):
        return NONE
    if kind == "count":
        return f"{value:,.0f}"
    if kind in ("percent", "hundred"):
        return f"{100 * value:.1f}"
    if kind == "p" and value < 0.001:
        return "< 0.001"
    return f"{value:.3f}"
