"""Reads the rows of a data set's file with the readers that ``q2 score`` uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import DataError, InputError
from q2_metric.rows.formats import read_fields


def read_rows(
    path: Path, form: Literal["json", "csv"], needed: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of a file. In csv, all values are texts.

    Raises:
        DataError: the file is missing, is not in the form ``form``, or a row lacks a field of
            ``needed``.
    """
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
    """The text in a field of a row.

    Args:
        row: the row.
        name: name of the field.
        path: path of the file, for the error.
        number: number of the row, from 1, for the error.

    Raises:
        DataError: the field is not a text.
    """
    value = row[name]
    if not isinstance(value, str):
        raise DataError(f"{path}, row {number}: {name!r} is {value!r}, not a text")
    return value
