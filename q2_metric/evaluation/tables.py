"""What an experiment found: a :class:`Report` of tables and curves, and how it is written.

One form for all: the terminal (rich), ``.json`` (everything, can be read back), ``.csv`` (one
line a figure) and ``.md`` (a page). Numbers are rounded only when they are shown.
"""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from q2_metric import files
from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import Interval

Cell = str | int | float | Interval | None
"""``None`` where there is no figure: it was not measured, or does not exist."""

Kind = Literal["text", "count", "number", "percent", "hundred", "p"]
"""How a column's numbers are shown; ``hundred`` is × 100 with one decimal, as AUCs are."""

SUFFIXES = (".json", ".csv", ".md")
FORMAT = "q2-meta-eval-1"
NONE = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and how its cells are shown."""

    title: str
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: ``name`` for programs, ``title`` and ``note`` for people.

    Each row has a cell for each column; those of a ``text`` column at the left name the row.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: {len(row)} cells for {len(self.columns)} columns")

    def shown(self) -> list[list[str]]:
        """The cells as text."""
        return [
            [show(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment found.

    Attributes:
        name: of the experiment ("wow").
        title: for people.
        tables: in the order in which they are shown.
        curves: what the figures are drawn from: kind of figure -> title of a panel ->
            metric -> series of numbers by name (see :mod:`q2_metric.evaluation.figures`).
        signatures: of the metrics, by their names in the tables.
        facts: command, date, version, seed, what was read; shown as they are.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    signatures: Mapping[str, str]
    curves: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def show(cell: Cell, kind: Kind) -> str:
    """A cell as text.

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


# --- files ------------------------------------------------------------------------------


def check_output(path: str | Path) -> None:
    """Refuses a path that :func:`write` would refuse, before anything is computed."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: cannot tell the format from the suffix {path.suffix!r}; "
            f"use one of {', '.join(SUFFIXES)}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {str(path.parent)!r}")


def write(report: Report, path: str | Path, *, note: str = "") -> None:
    """Writes a report as JSON, CSV or markdown, by the suffix.

    Args:
        note: markdown put under the title of a page (how the figures are to be read).

    Raises:
        InputError: unknown suffix, or the file cannot be written.
    """
    check_output(path)
    suffix = Path(path).suffix.lower()
    text = {".json": to_json, ".csv": to_csv}[suffix](report) if suffix != ".md" else (
        to_markdown(report, note=note)
    )
    files.write_text(path, text)


def to_json(report: Report) -> str:
    """Everything; a table's rows are lists in the order of its columns.

    Curves are rounded to 5 digits and stand in one line.
    """
    fields = {"format": FORMAT, **asdict(report)}
    curves = _dumped(_rounded_off(fields.pop("curves")))
    whole = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)
    return f'{whole.removesuffix("}").rstrip()},\n "curves": {curves}\n}}\n'


def read_json(path: str | Path) -> Report:
    """A report that :func:`write` wrote as JSON.

    Raises:
        InputError: the file is missing or no such report.
    """
    text = files.read_text(path)
    try:
        found = json.loads(text)
        if found.pop("format") != FORMAT:
            raise KeyError("format")
        tables = tuple(
            Table(
                table["name"],
                table["title"],
                tuple(Column(**column) for column in table["columns"]),
                tuple(tuple(_cell(cell) for cell in row) for row in table["rows"]),
                table["note"],
            )
            for table in found.pop("tables")
        )
        return Report(tables=tables, **found)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is not a result of q2 meta-eval") from error


def to_csv(report: Report) -> str:
    """One line a figure: table, row, column, value, low, high (the ends of an interval)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value", "low", "high"))
    for table in report.tables:
        named = [i for i, column in enumerate(table.columns) if column.kind == "text"]
        for row in table.rows:
            name = " / ".join(str(row[i]) for i in named if row[i] is not None)
            for i, cell in enumerate(row):
                if i in named or cell is None:
                    continue
                value, *ends = asdict(cell).values() if isinstance(cell, Interval) else [cell]
                writer.writerow((table.name, name, table.columns[i].title, value, *ends))
    return out.getvalue()


def to_markdown(report: Report, *, note: str = "") -> str:
    """A page: title, note, facts, tables, signatures."""
    lines = [f"# {report.title}", ""]
    facts = dict(report.facts)
    command = facts.pop("command", "")
    lines += [", ".join(f"{name}: {value}" for name, value in facts.items()) + ".", ""]
    if command:
        lines += ["```console", f"$ {command}", "```", ""]
    if note:
        lines += [note.strip(), ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", *_markdown_table(table), ""]
        if table.note:
            lines += [table.note, ""]
    if report.signatures:
        lines += ["## Signatures", "", "```", *dict.fromkeys(report.signatures.values()), "```"]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_table(table: Table) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    ends = ["---" if column.kind == "text" else "---:" for column in table.columns]
    titles = [column.title for column in table.columns]
    return [line(titles), f"|{'|'.join(ends)}|", *(line(row) for row in table.shown())]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _rounded_off(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, Mapping):
        return {key: _rounded_off(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded_off(item) for item in value]
    return value


def _cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return Interval(**value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{value!r} is no cell")


# --- terminal ---------------------------------------------------------------------------


def print_report(report: Report) -> None:
    """The tables and signatures, on the terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from q2_metric.cli.render import plain

    console = Console(highlight=False, markup=False, emoji=False)
    screen = console.width
    for table in report.tables:
        shown = RichTable(box=None, header_style="bold", padding=(0, _GAP, 0, 0))
        widths = _widths(table)
        for column, width in zip(table.columns, widths, strict=True):
            side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
            lines = textwrap.wrap(plain(column.title), width)
            shown.add_column(Text("\n".join(lines)), justify=side, width=width, no_wrap=True)
        for row in table.shown():
            shown.add_row(*(Text(plain(cell)) for cell in row))
        console.print(Text(plain(table.title), style="bold"), soft_wrap=True)
        # A table that is wider than the terminal runs over rather than losing digits.
        console.width = max(screen, sum(width + _GAP for width in widths))
        console.print(shown)
        if table.note:
            console.print(Text(plain(table.note), style="dim"), soft_wrap=True)
        console.print()
    for line in dict.fromkeys(report.signatures.values()):
        console.print(Text(plain(line), style="dim"), soft_wrap=True)


_GAP = 2
"""Blanks between columns on the terminal."""


def _widths(table: Table) -> list[int]:
    """Signs that each column needs at least; titles are broken between words."""
    shown = table.shown()
    return [
        max(len(text) for text in [*column.title.split(), *(row[i] for row in shown)])
        for i, column in enumerate(table.columns)
    ]
