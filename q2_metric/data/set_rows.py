"""Reads the rows of a data set's file. The readers are those of ``q2 score``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

from q2_metric.errors import DataError, InputError
from q2_metric.rows.columns import as_label
from q2_metric.rows.formats import read_fields


class SetRow(dict[str, Any]):
    """A row, without empty (null) fields. ``number`` counts from 1. A field that is read but not
    there is a DataError."""

    def __init__(self, fields: Mapping[str, Any], path: str | Path, number: int) -> None:
        super().__init__({name: fields[name] for name in fields if fields[name] is not None})
        self.path, self.number = path, number

    def __missing__(self, name: str) -> NoReturn:
        raise self.wrong(f"has no {name!r}, only {', '.join(self)}; is it the right file?")

    def wrong(self, problem: str) -> DataError:
        return DataError(f"{self.path}, row {self.number}: {problem}")

    def text(self, name: str) -> str:
        value = self[name]
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is {value!r}, not a text")
        return value

    def label(self, name: str) -> bool:
        label = as_label(self[name])
        if label is None:
            raise self.wrong(f"the label is {self[name]!r}, not 0 or 1")
        return label


def read_rows(path: str | Path, form: Literal["json", "csv"]) -> list[SetRow]:
    """Reads rows; in a csv file, values are strings."""
    try:
        return [SetRow(fields, path, number)
                for number, (_, fields) in enumerate(read_fields(path, form), start=1)]
    except InputError as error:
        raise DataError(str(error)) from error
