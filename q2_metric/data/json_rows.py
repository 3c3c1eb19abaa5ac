"""Reads JSON data sets: an array of objects, one object a line, or columns as pandas writes
them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import DataError
from q2_metric.files import json_problem, read_text


def read_json(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a JSON file. Each row must have the fields ``needed``.

    Raises:
        DataError: the file is missing, has none of these forms, or a row lacks a field.
    """
    text = read_text(path, DataError)
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        rows = _lines(text, path)
    if isinstance(rows, dict):
        rows = _columns(rows, path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: is not a list of objects; is it the right file?")
    for number, row in enumerate(rows, start=1):
        for name in needed:
            if row.get(name) is None:
                raise DataError(f"{path}, row {number}: has no {name!r}; is it the right file?")
    return rows


def text_of(row: dict[str, Any], name: str, path: Path, number: int) -> str:
    """The text in a field of a row.

    Raises:
        DataError: the field is not a text; ``number`` counts rows from 1.
    """
    value = row[name]
    if not isinstance(value, str):
        raise DataError(f"{path}, row {number}: {name!r} is {value!r}, not a text")
    return value


def _lines(text: str, path: Path) -> list[Any]:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                problem = json_problem(error)
                raise DataError(f"{path}, line {number}: is not JSON ({problem})") from error
    return rows


def _columns(columns: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """The rows of a table ``{column: {index: value}}``."""
    if not columns or not all(isinstance(column, dict) for column in columns.values()):
        # One object alone is a file of one row.
        return [columns]
    keys = list(next(iter(columns.values())))
    for name, column in columns.items():
        if list(column) != keys:
            raise DataError(f"{path}: the column {name!r} has other rows than the first column")
    return [{name: column[key] for name, column in columns.items()} for key in keys]
