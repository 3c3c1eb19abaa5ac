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
    """Reads the rows of a file as dictionaries from field names to values.

    Args:
        path: path of the file.
        form: format of the file. In a csv file, all values are strings.
        needed: names of the fields that each row must have.

    Raises:
        DataError: the file is missing, has another format, or a row does not have all fields.
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
        path: path of the file, for the error message.
        number: number of the row, from 1, for the error message.

    Raises:
        DataError: the field is not a text.
    """
    value = row[name]
    if not isinstance(value, str):
        raise DataError(f"{path}, row {number}: {name!r} is {value!r}, not a text")
    return value
