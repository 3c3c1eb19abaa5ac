"""Writes reports as JSON (whole; can be read back), CSV (one number a line), markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError
from q2_metric.evaluation.latex import to_latex
from q2_metric.evaluation.markdown import to_markdown
from q2_metric.evaluation.statistics import Interval
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.files import check_place, parse_json, read_text, write_text
from q2_metric.rows.spreadsheet import to_cell

SUFFIXES = (".json", ".csv", ".md", ".tex")
FORMAT = "q2-meta-eval-1"


def write(report: Report, path: str | Path, *, note: str = "") -> None:
    """Writes a report in the format of the path's suffix (:func:`to_text`).

    Raises:
        InputError: the suffix is unknown, or the file cannot be written.
    """
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
    curves = json.loads(
        json.dumps(fields.pop("curves"), allow_nan=False),
        parse_float=lambda digits: round(float(digits), 5),
    )
    line = json.dumps(curves, ensure_ascii=False, separators=(",", ":"))
    whole = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)
    return f'{whole.removesuffix("}").rstrip()},\n "curves": {line}\n}}\n'


def read_json(path: str | Path) -> Report:
    """Reads a report that :func:`write` wrote as JSON.

    Raises:
        InputError: the file is missing or does not contain a report.
    """
    text = read_text(path)
    try:
        report = parse_json(text)
        if report.pop("format") != FORMAT:
            raise KeyError("format")
        tables = tuple(
            Table(
                table["name"],
                table["title"],
                tuple(Column(**column) for column in table["columns"]),
                tuple(tuple(_cell(cell) for cell in row) for row in table["rows"]),
                table["note"],
            )
            for table in report.pop("tables")
        )
        return Report(tables=tables, **report)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is not a result of q2 meta-eval") from error


def to_csv(report: Report) -> str:
    """One number a line: table, row, column, value, and the interval (low, high).

    Texts are escaped so that no spreadsheet runs them (:mod:`q2_metric.rows.spreadsheet`).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value", "low", "high"))
    for table in report.tables:
        named = [i for i, column in enumerate(table.columns) if column.kind == "text"]
        for row in table.rows:
            name = " / ".join(str(row[i]) for i in named if row[i])
            for i, cell in enumerate(row):
                if i in named or cell is None:
                    continue
                value, *ends = asdict(cell).values() if isinstance(cell, Interval) else [cell]
                cells = (table.name, name, table.columns[i].title, value, *ends)
                writer.writerow(to_cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return out.getvalue()


def _cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return Interval(**value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{value!r} cannot be in a cell")
