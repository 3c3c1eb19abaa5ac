"""Reads the rows of .jsonl files, and of .json files: an array of rows, an object with such an
array or with one list for each column, or jsonl."""

import io
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any

from q2_metric.errors import InputError
from q2_metric.files import json_problem, parse_json
from q2_metric.rows.record import Record, lone_returns, record_of, repeated, text_lines
from q2_metric.text.given import kind

LARGEST = 2**30
"""In bytes: a JSON document is read into memory as a whole."""

_ROWS = ("data", "rows", "examples", "records", "samples", "items", "results", "instances",
         "dataset", "test", "validation", "train")
"""Keys under which an object may contain the rows."""


def read_jsonl(file: IO[bytes], name: str) -> Iterator[Record]:
    """Yields the rows of a file in UTF-8 with a JSON object on each line."""
    for number, line in enumerate(text_lines(file, name), start=1):
        where = f"{name}, line {number}"
        if not line.strip():
            continue
        try:
            twice: list[str | None] = []
            value = parse_json(line.decode("utf-8"), partial(_object, twice))
        except UnicodeDecodeError:
            yield Record(where, {}, "is not UTF-8")
        except (ValueError, RecursionError) as error:
            whole = ("; for a single JSON document, name the file .json or use --format json"
                     if line.strip() in (b"[", b"{") else "")
            yield Record(where, {}, f"is not JSON ({json_problem(error)}){lone_returns(line)}"
                                    f"{whole}")
        else:
            note = f"has the key {twice[0]!r} twice; the last is read" if twice else None
            yield record_of(where, value, note)


def _object(twice: list[str | None], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds a JSON object. Of a repeated key, the last value counts."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice.append(repeated([name for name, _ in pairs]))
    return fields


def read_document(file: IO[bytes], name: str) -> Iterator[Record]:
    """Yields the rows of a JSON document in UTF-8. It is jsonl if its first line is an object and
    more lines follow. While rows are read, raises InputError if the file is not JSON, contains no
    rows, or is too large."""
    # A pipe can be read only once.
    file = file if file.seekable() else io.BytesIO(file.read(LARGEST + 1))
    given = text_lines(file, name)
    first = next((line for line in given if line.strip()), b"")
    rest = next((line for line in given if line.strip()), b"")
    if rest and next(read_jsonl(io.BytesIO(first), name)).problem is None:
        file.seek(0)
        yield from read_jsonl(file, name)
        return
    whole = bytearray(first + rest)
    for line in given:
        whole += line
        if len(whole) > LARGEST:
            raise InputError(f"{name}: is longer than {LARGEST:,} bytes; save it as jsonl, a row "
                             "on each line")
    try:
        value = parse_json(whole.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{name}: is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}: is not JSON ({json_problem(error)}){lone_returns(whole)}") from error
    for number, row in enumerate(_rows(value, name), start=1):
        yield record_of(f"{name}, row {number}", row)


def _rows(value: Any, name: str) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise InputError(f"{name}: holds {kind(value)}, not a list of rows")
    if isinstance(names := value.get("columns"), list) and isinstance(value.get("data"), list):
        return [dict(zip(names, row, strict=False)) if isinstance(row, list) else row
                for row in value["data"]]  # orient="split" of pandas
    held = {key.lower(): item for key, item in value.items()
            if isinstance(item, list) and item and all(isinstance(one, dict) for one in item)}
    for key in (*_ROWS, *([next(iter(held))] if len(held) == len(value) == 1 else ())):
        if key in held:
            return held[key]
    if value and all(key.isdigit() and isinstance(row, dict) for key, row in value.items()):
        return list(value.values())  # orient="index"
    columns = [column for item in value.values() if (column := _column(item)) is not None]
    if len(columns) == len(value) and len(set(map(len, columns))) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return [value]


def _column(value: object) -> list[Any] | None:
    """The cells of a column: a list, or the object by row numbers of pandas' ``to_json``."""
    if isinstance(value, Mapping) and value and all(str(key).isdigit() for key in value):
        return list(value.values())
    return value if isinstance(value, list) else None
