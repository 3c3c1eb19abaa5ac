"""The result of an experiment, whose exact numbers are rounded only when they are shown, and its
files: JSON (whole), CSV (one number a line), markdown, and LaTeX with the package booktabs."""

import csv
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, Self

from q2_metric.evaluation.statistics import Interval
from q2_metric.files import check_place, write_text
from q2_metric.rows.writers import to_cell

Cell = str | int | float | Interval | None
"""``None``: not measured, or does not exist."""

Kind = Literal["text", "count", "number", "percent", "hundred", "p"]
"""Numbers are multiplied by 100 for "percent" and "hundred" (usual for AUCs)."""

NONE = "–"
SUFFIXES = (".json", ".csv", ".md", ".tex")
FORMAT = "q2-meta-eval-1"

_SPECIAL = str.maketrans({
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "²": r"\textsuperscript{2}", "–": "--", "−": "$-$", "×": r"$\times$",
    "τ": r"$\tau$",
})


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
    ) -> Self:
        """A table of rows, at least one, with equal columns. The first, ``head``, names the row."""
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


def write(report: Report, path: str | Path, *, note: str = "") -> None:
    """Writes a report in the format of the path's suffix (:func:`to_text`). InputError: the suffix
    is unknown, or the file cannot be written."""
    check_place(path, SUFFIXES)
    write_text(path, to_text(report, Path(path).suffix.lower(), note=note))


def to_text(report: Report, suffix: str, *, note: str = "") -> str:
    """A report as a file with one of :data:`SUFFIXES`. ``note`` is markdown for the page's top;
    other formats leave it out."""
    if suffix == ".md":
        return to_markdown(report, note=note)
    return {".json": to_json, ".csv": to_csv, ".tex": to_latex}[suffix](report)


def to_json(report: Report) -> str:
    """The whole report as JSON, with the numbers in curves rounded to 5 digits."""
    fields = {"format": FORMAT, **asdict(report)}
    curves = json.loads(json.dumps(fields.pop("curves"), allow_nan=False),
                        parse_float=lambda digits: round(float(digits), 5))
    line = json.dumps(curves, ensure_ascii=False, separators=(",", ":"))
    whole = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)
    return f'{whole.removesuffix("}").rstrip()},\n "curves": {line}\n}}\n'


def to_csv(report: Report) -> str:
    """One number a line: table, row, column, value, and the interval (low, high). Texts are escaped
    so that no spreadsheet runs them (:func:`q2_metric.rows.writers.to_cell`)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value", "low", "high"))
    for table in report.tables:
        named = range(len(list(takewhile(lambda column: column.kind == "text", table.columns))))
        for row in table.rows:
            name = " / ".join(str(row[i]) for i in named if row[i])
            for i, cell in enumerate(row):
                if i in named or cell is None:
                    continue
                value, *ends = asdict(cell).values() if isinstance(cell, Interval) else [cell]
                cells = (table.name, name, table.columns[i].title, value, *ends)
                writer.writerow(to_cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return out.getvalue()


def to_markdown(report: Report, *, note: str = "") -> str:
    facts = dict(report.facts)
    command = facts.pop("command", "")
    about = ", ".join(f"{name}: {value}" for name, value in facts.items())
    lines = [f"# {report.title}", "", f"{about}.", ""]
    if command:
        lines += ["```console", f"$ {command}", "```", ""]
    if note:
        lines += [note.strip(), ""]
    for table in report.tables:
        titles = [column.title for column in table.columns]
        numbers = [i for i, column in enumerate(table.columns) if column.kind != "text"]
        lines += [f"## {table.title}", "", *table_lines(titles, table.shown(), numbers), ""]
        if table.note:
            lines += [table.note, ""]
    if report.signatures:
        lines += ["## Signatures", "", "```", *dict.fromkeys(report.signatures.values()), "```"]
    return "\n".join(lines).rstrip() + "\n"


def table_lines(
    titles: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> list[str]:
    """The lines of a markdown table; ``right`` are the indices of right-aligned columns.

    >>> table_lines(["a", "b"], [["x|y", "1"]], [1])
    ['| a | b |', '|---|---:|', '| x\\\\|y | 1 |']
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    ends = ["---:" if i in right else "---" for i in range(len(titles))]
    return [line(titles), f"|{'|'.join(ends)}|", *map(line, rows)]


def escape(text: str) -> str:
    """A text that LaTeX prints as it stands.

    >>> print(escape("run_2 & 50%"))
    run\\_2 \\& 50\\%
    """
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).translate(_SPECIAL)


def to_latex(report: Report) -> str:
    facts = [f"% {name}: {' '.join(str(value).split())}" for name, value in report.facts.items()]
    signed = [f"% {line}" for line in dict.fromkeys(report.signatures.values())]
    lines = ["% \\usepackage{booktabs}", *facts, *signed]
    for table in report.tables:
        sides = "".join("l" if column.kind == "text" else "r" for column in table.columns)
        shown = [[re.sub(r"-(?=\d)", "−", cell) if side == "r" else cell
                  for cell, side in zip(row, sides, strict=True)] for row in table.shown()]
        # A row that starts with a bracket would be read as the argument of the \\ before it.
        head, *rows = (" & ".join(re.sub(r"^\[", "{[}", escape(cell)) for cell in row) + r" \\"
                       for row in [[column.title for column in table.columns], *shown])
        note = [rf"\par\small {escape(table.note)}"] if table.note else []
        lines += ["", r"\begin{table}", r"\centering", rf"\caption{{{escape(table.title)}}}",
                  rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *rows,
                  r"\bottomrule", r"\end{tabular}", *note, r"\end{table}"]
    return "\n".join(lines) + "\n"
