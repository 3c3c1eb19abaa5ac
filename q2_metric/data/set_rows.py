"""Reads the rows of a data set's file. The readers are those of ``q2 score``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import DataError, InputError
from q2_metric.rows.formats import read_fields


def read_rows(
    path: Path, form: Literal["json", "csv"], needed: Sequence[str]
) -> list[dict[str, Any]]:
    """Reads rows, each with all ``needed`` fields; in a csv file, values are strings."""
    try:
        rows = [dict(fields) for _, fields in read_fields(path, form)]
    except InputError as error:
        raise DataError(str(error)) from error
    for number, row in enumerate(rows, start=1):
        for name in needed:
            if row.get(name) is None:
                raise DataError(f"{path}, row {number}: has no {name!r}; is it the right file?")
    return rows


def text_of(row: dict[str, Any], name: str, path: Path, number: int) -> str:
    """``number``, the row, counts from 1."""
    value = row[name]
    if not isinstance(value, str):
        raise DataError(f"{path}, row {number}: {name!r} is {value!r}, not a text")
    return value
