"""Reads the rows of a data set's file. The readers are those of ``q2 score``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import DataError, InputError
from q2_metric.rows.formats import read_fields


class SetRow(dict[str, Any]):
    """A row. ``number`` counts from 1."""

    def __init__(self, fields: Any, path: Path, number: int) -> None:
        super().__init__(fields)
        self.path, self.number = path, number

    def wrong(self, problem: str) -> DataError:
        return DataError(f"{self.path}, row {self.number}: {problem}")

    def text(self, name: str) -> str:
        value = self[name]
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is {value!r}, not a text")
        return value

    def label(self, name: str) -> bool:
        if self[name] not in ("0", "1"):
            raise self.wrong(f"the label is {self[name]!r}, not 0 or 1")
        return bool(self[name] == "1")


def read_rows(
    path: str | Path, form: Literal["json", "csv"], needed: Sequence[str]
) -> list[SetRow]:
    """Reads rows, each with all ``needed`` fields; in a csv file, values are strings."""
    path = Path(path)
    try:
        rows = [SetRow(fields, path, number)
                for number, (_, fields) in enumerate(read_fields(path, form), start=1)]
    except InputError as error:
        raise DataError(str(error)) from error
    for row in rows:
        for name in needed:
            if row.get(name) is None:
                raise row.wrong(f"has no {name!r}; is it the right file?")
    return rows
