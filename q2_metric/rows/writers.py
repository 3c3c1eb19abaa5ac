"""Writes output rows to files: jsonl, csv and parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from q2_metric.files import check_place, check_written
from q2_metric.rows.fields import Field, Layout, OutputRow
from q2_metric.rows.parquet import pyarrow
from q2_metric.rows.spreadsheet import to_cell

_ROW_GROUP = 4096
"""Minimum number of rows that are written to a parquet file at a time."""


class Writer(Protocol):
    """Writes rows to an open output file."""

    def write(self, rows: Sequence[OutputRow]) -> None:
        """Appends rows. All rows have the same fields in the same order."""
        ...


def check_output(path: str | Path, inputs: Sequence[str | Path] = ()) -> None:
    """Checks that an output can be written to a path. Nothing is written yet.

    Args:
        path: path of the output.
        inputs: paths of the input files, which must not be overwritten.

    Raises:
        InputError: the suffix is unknown, the folder does not exist, or the path is an input.
        MissingExtra: a parquet file needs pyarrow.
    """
    check_place(path, SUFFIXES)
    check_written([path], inputs)
    if Path(path).suffix.lower() == ".parquet":
        pyarrow()


OpenWriter = Callable[[Path, Layout, bool], AbstractContextManager[Writer]]
"""A function ``open(path, layout, raw_csv)`` that opens a writer. If ``raw_csv`` is true, texts in
csv are written unchanged."""


def writer_of(path: str | Path) -> OpenWriter:
    """Returns the function that opens a writer for the format that the suffix of ``path`` names.

    This function may be called with another path, such as that of a temporary file. The writer
    writes UTF-8. In csv, lists and objects are written as JSON, and texts are escaped so that no
    spreadsheet runs them as formulas (:mod:`q2_metric.rows.spreadsheet`).
    """
    return _OPENED[Path(path).suffix.lower()]


@contextmanager
def _jsonl(path: Path, _layout: Layout, _raw_csv: bool) -> Iterator[Writer]:
    with _text(path) as file:
        yield _JsonlWriter(file)


@contextmanager
def _csv(path: Path, layout: Layout, raw_csv: bool) -> Iterator[Writer]:
    with _text(path) as file:
        yield _CsvWriter(file, layout, raw_csv)


@contextmanager
def _parquet(path: Path, layout: Layout, _raw_csv: bool) -> Iterator[Writer]:
    # Opened here, because pyarrow does not accept file names that are not valid Unicode.
    with open(path, "wb") as whole, _ParquetWriter(whole, layout) as writer:
        yield writer


def _text(path: Path) -> IO[str]:
    # newline="", because the csv module writes its own line ends.
    return open(path, "w", encoding="utf-8", errors="backslashreplace", newline="")


_OPENED: Mapping[str, OpenWriter] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
SUFFIXES = tuple(_OPENED)
"""Suffixes of the files that can be written."""


class _JsonlWriter:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, rows: Sequence[OutputRow]) -> None:
        self._file.writelines(json_line(row) for row in rows)


class _CsvWriter:
    def __init__(self, file: IO[str], layout: Layout, raw: bool) -> None:
        self._text: Callable[[str], str] = str if raw else to_cell
        self._plain = csv.writer(file, lineterminator="\n")
        # A carriage return within a cell would end the row when the file is read. The csv module
        # does not quote such a cell by itself.
        self._quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._plain.writerow(field.name for field in layout.fields)

    def write(self, rows: Sequence[OutputRow]) -> None:
        for row in rows:
            cells = [self._cell(value) for value in row.values()]
            returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
            (self._quoted if returns else self._plain).writerow(cells)

    def _cell(self, value: object) -> object:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return self._text(value)
        return _json(value) if isinstance(value, (list, dict)) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_line(row: OutputRow) -> str:
    """Converts an output row to a line of jsonl, with the line end."""
    return _json(row) + "\n"


class _ParquetWriter:
    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self._pa, parquet = pyarrow()
        self._schema = self._pa.schema(
            [(field.name, _parquet_type(self._pa, field)) for field in layout.fields]
        )
        self._writer = parquet.ParquetWriter(file, self._schema)
        self._json = [field.name for field in layout.fields if field.form == "json"]
        self._waiting: list[OutputRow] = []

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def write(self, rows: Sequence[OutputRow]) -> None:
        self._waiting += [
            {**row, **{name: _json(row[name]) for name in self._json if row[name] is not None}}
            for row in rows] if self._json else rows
        if len(self._waiting) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        try:
            table = self._pa.Table.from_pylist(self._waiting, schema=self._schema)
        except UnicodeEncodeError:  # a file name that is not valid Unicode
            rows = [_encodable(row) for row in self._waiting]
            table = self._pa.Table.from_pylist(rows, schema=self._schema)
        self._writer.write_table(table)
        self._waiting = []


def _encodable(value: Any) -> Any:
    """A copy of a JSON value in which lone surrogates (which UTF-8 cannot hold) are escaped, as in
    jsonl and csv."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return value


def _parquet_type(pa: Any, field: Field) -> Any:
    if field.form in ("object", "objects"):
        whole = pa.struct([(part.name, _parquet_type(pa, part)) for part in field.fields])
        return pa.list_(whole) if field.form == "objects" else whole
    return {
        "text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "yes-no": pa.bool_(),
        "texts": pa.list_(pa.string()), "json": pa.string(),
    }[field.form]
