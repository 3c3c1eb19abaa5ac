"""Writes output rows to files: jsonl, csv and parquet."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from q2_metric.files import check_place, check_written
from q2_metric.rows.fields import Field, Layout, OutputRow
from q2_metric.rows.parquet import pyarrow


def check_output(path: str | Path, inputs: Sequence[str | Path] = ()) -> None:
    """Checks that an output can be written to a path. Raises InputError if the suffix is unknown,
    the folder does not exist or the path is an input, and MissingExtra if parquet needs pyarrow."""
    check_place(path, SUFFIXES)
    check_written([path], inputs)
    if Path(path).suffix.lower() == ".parquet":
        pyarrow()


def write_rows(
    suffix: str, path: Path, layout: Layout, rows: Iterable[OutputRow], raw_csv: bool = False
) -> None:
    """Writes rows, each with the same fields in the same order, in UTF-8 and without NaN. In csv,
    lists and objects are JSON, and texts are escaped (:func:`to_cell`) unless ``raw_csv``."""
    if suffix == ".parquet":
        _write_parquet(path, layout, rows)
        return
    # newline="", because the csv module writes its own line ends.
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if suffix == ".csv":
            _write_csv(file, layout, rows, str if raw_csv else to_cell)
        else:
            file.writelines(map(json_line, rows))


SUFFIXES = (".jsonl", ".csv", ".parquet")


def _write_csv(
    file: IO[str], layout: Layout, rows: Iterable[OutputRow], text: Callable[[str], str]
) -> None:
    def cell(value: object) -> object:
        if isinstance(value, str):
            return text(value)
        return _json(value) if isinstance(value, (bool, list, dict)) else value

    plain = csv.writer(file, lineterminator="\n")
    # The csv module does not quote a lone carriage return, which would end the row on reading.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(field.name for field in layout.fields)
    for row in rows:
        cells = list(map(cell, row.values()))
        returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if returns else plain).writerow(cells)


_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # some spreadsheets accept the full-width signs


def to_cell(text: str) -> str:
    """Escapes a text for a csv cell, so that no spreadsheet runs it as a formula.

    An apostrophe is written before a formula, also before apostrophes and a formula, so that
    removing one always restores the text (:func:`from_cell`).

    >>> to_cell("=1+1"), to_cell("'=1+1"), to_cell("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """The text for which :func:`to_cell` returned this content.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_line(row: OutputRow) -> str:
    return _json(row) + "\n"


def _write_parquet(path: Path, layout: Layout, rows: Iterable[OutputRow]) -> None:
    pa, parquet = pyarrow()
    schema = pa.schema([(field.name, _parquet_type(pa, field)) for field in layout.fields])
    as_json = [field.name for field in layout.fields if field.form == "json"]
    rows = ({**row, **{name: _json(row[name]) for name in as_json if row[name] is not None}}
            for row in rows)
    # Opened here, because pyarrow does not accept file names that are not valid Unicode.
    with open(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        while group := each_text(list(islice(rows, 4096)), _escaped):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _escaped(text: str) -> str:
    """Escapes lone surrogates, as in jsonl and csv: a file name may be no valid Unicode."""
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text replaced by ``change(text)``; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(item, change) for item in value]
    if isinstance(value, dict):
        return {name: each_text(item, change) for name, item in value.items()}
    return value


def _parquet_type(pa: Any, field: Field) -> Any:
    if field.form in ("object", "objects"):
        whole = pa.struct([(part.name, _parquet_type(pa, part)) for part in field.fields])
        return pa.list_(whole) if field.form == "objects" else whole
    return {
        "text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "yes-no": pa.bool_(),
        "texts": pa.list_(pa.string()), "json": pa.string(),
    }[field.form]
