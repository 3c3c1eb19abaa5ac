"""Reads the rows of a file, folder or standard input unchanged, whatever the format."""

import csv
import io
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

from q2_metric.errors import InputError, Q2Error, unreadable
from q2_metric.files import STDIN, json_problem, parse_json
from q2_metric.rows.parquet import arrow_files, read_columns
from q2_metric.rows.record import LONGEST_LINE, Record, repeated
from q2_metric.rows.traces import chats, holds_traces
from q2_metric.text.given import kind

_LARGEST = 2**30
"""In bytes: a JSON document is read into memory as a whole."""


def read_fields(
    path: str | Path, form: str | None = None
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yields each row of a file as (place, values by column), such as ("a.jsonl, line 3", {…}).

    It is for files of other things than responses, such as labels. The arguments and errors are
    those of :func:`records`, and a row that cannot be read is an InputError too.
    """
    for record in records(path, form):
        if record.problem:
            raise InputError(f"{record.where}: {record.problem}")
        yield record.where, record.fields


def shown(path: str | Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == STDIN else str(path)


def tells(path: str | Path) -> bool:
    """Whether the format is known without ``--format``: by the suffix, or as a folder."""
    return Path(path).suffix.lower() in _READERS or os.path.isdir(path)


def records(path: str | Path, form: str | None = None) -> Iterator[Record]:
    """Yields the rows of a file, of a folder that ``datasets`` saved, or of standard input ("-").
    A file of traces has a row for each trace (:mod:`q2_metric.rows.traces`).

    ``form`` (:data:`FORMS`) is needed if no suffix tells the format. InputError: the file cannot be
    read, or its suffix is unknown. Raised while rows are read. MissingExtra: a parquet file needs
    pyarrow."""
    read, first = _records(path, form), []
    for record in read:
        first.append(record)
        if not record.problem:
            break
    whole = chain(first, read)
    yield from chats(whole, shown(path)) if first and holds_traces(first[-1].fields) else whole


def _records(path: str | Path, form: str | None) -> Iterator[Record]:
    name = shown(path)
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError(f"{name}: is closed")
        yield from _READERS[f".{form or 'jsonl'}"](sys.stdin.buffer, name)
        return
    if os.path.isdir(path):
        for part in arrow_files(Path(path)):
            yield from _records(part, "arrow")
        return
    suffix = f".{form}" if form else Path(path).suffix.lower()
    if suffix not in _READERS and os.path.exists(path):
        raise InputError(f"{name}: " + (_COMPRESSED if suffix == ".gz" else (
            f"cannot tell the format from the suffix {suffix!r}; use one of {', '.join(_READERS)} "
            "(for the command q2, name it with --format, or use - for jsonl on standard input)")))
    try:
        with open(path, "rb") as file:
            yield from _READERS[suffix](file, name)
    except Q2Error:
        raise
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file" if str(path) else
                         "the name of a file to read is empty; give its path") from None
    except OSError as error:
        raise unreadable(name, error) from error


def _lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, with their line ends but without a byte order mark. Bytes
    that are not UTF-8 become lone surrogates. While lines are read, raises InputError if the file
    is compressed, UTF-16 or UTF-32, or a line is longer than :data:`LONGEST_LINE`."""
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise InputError(f"{name}, line {number}: is longer than {LONGEST_LINE:,} bytes; "
                             "give each row a line of its own")
        if number == 1:
            if line.startswith(b"\x1f\x8b"):
                raise InputError(f"{name}: {_COMPRESSED}")
            if line.startswith((b"\xff\xfe", b"\xfe\xff")) or line.count(0) >= _ZEROS * len(line):
                raise InputError(f"{name}: is UTF-16 or UTF-32; save it as UTF-8")
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield line.decode("utf-8", errors="surrogateescape")


_COMPRESSED = "is compressed; decompress it first (gunzip)"
_ZEROS = 0.05
"""In UTF-16, every second byte of an English text is zero. With at least this share of zero bytes
in its first line, a file is not UTF-8."""


# --- JSON -------------------------------------------------------------------------------------


def _jsonl(file: IO[bytes], name: str) -> Iterator[Record]:
    """A JSON object on each line."""
    for number, line in enumerate(_lines(file, name), start=1):
        if line.strip():
            yield _json_row(f"{name}, line {number}", line)


def _json_row(where: str, line: str) -> Record:
    twice: list[str | None] = []
    try:
        value = parse_json(line, partial(_object, twice))
    except (ValueError, RecursionError) as error:
        whole = ("; for a single JSON document, name the file .json or use --format json"
                 if line.strip() in ("[", "{") else "")
        return Record(where, {}, f"is not JSON ({json_problem(error)}){whole}")
    return _of_json(
        where, value, f"has the key {twice[0]!r} twice; the last is read" if twice else None)


def _object(twice: list[str | None], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds a JSON object. Of a repeated key, the last value counts."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice.append(repeated([name for name, _ in pairs]))
    return fields


def _of_json(where: str, value: object, note: str | None = None) -> Record:
    if isinstance(value, dict):
        return Record(where, value, note=note)
    return Record(where, {}, f"is not a JSON object but {kind(value)}")


def _document(file: IO[bytes], name: str) -> Iterator[Record]:
    """A JSON document: an array of rows, or an object with such an array or with one list for each
    column. It is jsonl if its first line is an object and more lines follow."""
    # A pipe can be read only once.
    file = file if file.seekable() else io.BytesIO(file.read(_LARGEST + 1))
    lines = (line for line in _lines(file, name) if line.strip())
    first, more = next(lines, ""), next(lines, "")
    file.seek(0)
    if more and _json_row(name, first).problem is None:
        yield from _jsonl(file, name)
        return
    whole = file.read(_LARGEST + 1)
    if len(whole) > _LARGEST:
        raise InputError(f"{name}: is longer than {_LARGEST:,} bytes; save it as jsonl, a row on "
                         "each line")
    try:
        value = parse_json(whole.decode("utf-8-sig", errors="surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: is not JSON ({json_problem(error)})") from error
    for number, row in enumerate(_rows(value, name), start=1):
        yield _of_json(f"{name}, row {number}", row)


_ROWS = ("data", "rows", "examples", "records", "samples", "items", "results", "instances",
         "dataset", "test", "validation", "train")
"""Keys under which an object may contain the rows."""


def _rows(value: Any, name: str) -> Iterable[Any]:
    if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
        value = _listed(value)  # orient="index"
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
    columns = list(map(_listed, value.values()))
    if all(isinstance(one, list) for one in columns) and len(set(map(len, columns))) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return [value]


def _listed(value: Any) -> Any:
    """The values of an object by row numbers, as pandas' ``to_json`` writes it; others as given."""
    by_number = isinstance(value, dict) and value and all(map(str.isdigit, value))
    return list(value.values()) if by_number else value


# --- csv and tsv ------------------------------------------------------------------------------


def _table(file: IO[bytes], name: str, separator: str) -> Iterator[Record]:
    """A table with a header. A comma stands for the separator of the header: spreadsheets write
    semicolons in countries where the decimal sign is a comma."""
    texts = _lines(file, name)
    first = next(texts, "")
    if separator == ",":
        separator = next((sign for sign in ",;\t" if sign in first), ",")
    header: list[str] = []
    note = None
    for place, (number, cells, problem) in enumerate(_cells(chain([first], texts), separator)):
        where = f"{name}, line {number}"
        if place == 0:
            if problem:
                raise InputError(f"{where}: the header {problem}")
            header = cells
            if (twice := repeated(header)) is not None:
                note = f"the header has the column {twice!r} twice; the last is read"
            continue
        if len(cells) > len(header) and not problem:
            if place == len(header) == 1:
                raise InputError(
                    f"{where}: has {len(cells)} cells, but the header has one, {header[0]!r}; the "
                    "first line must name all columns: delete a title above it, and put a cell "
                    "that contains the separator in quotation marks")
            problem = f"has {len(cells)} fields where the header has {len(header)}"
        fields = {} if problem else dict(zip(header, cells, strict=False))
        yield Record(where, fields, problem, note)
        note = None


def _cells(texts: Iterator[str], separator: str) -> Iterator[tuple[int, list[str], str | None]]:
    """Yields (number of the first line, cells, problem or ``None``) of each row that is not blank.

    If a row has a stray quotation mark, only this row is unreadable: the lines after its first are
    read again. Each is read at most twice, because the wrong row ends at the next stray mark."""
    csv.field_size_limit(2**31 - 1)
    waiting, row = deque[str](), list[str]()

    def lines() -> Iterator[str]:
        while line := waiting.popleft() if waiting else next(texts, ""):
            row.append(line)
            yield line

    number, width = 1, 0
    while True:
        problem = None
        try:
            # strict=True makes a stray quote an error. Otherwise the row would swallow later rows.
            cells = next(csv.reader(lines(), delimiter=separator, strict=True))
        except StopIteration:
            return
        except csv.Error as error:
            cells, problem = [], f"has a misplaced quotation mark ({error})"
            if str(error).startswith("new-line"):
                problem = ("cannot be read; lines end with CR alone: save the file with the line "
                           "end LF or CR LF")
        else:
            if width not in (0, len(cells)) and _has_row(row[1:], width, separator):
                problem = "has a misplaced quotation mark (it closes lines later)"
        if problem:
            waiting.extendleft(reversed(row[1:]))
            del row[1:]
        if problem or cells:
            yield number, cells, problem
        width = width or len(cells)
        number += len(row)
        row.clear()


def _has_row(lines: Sequence[str], width: int, separator: str) -> bool:
    for line in lines:
        with suppress(csv.Error):
            if len(next(csv.reader([line], delimiter=separator, strict=True), [])) == width:
                return True
    return False


_READERS: Mapping[str, Callable[[IO[bytes], str], Iterator[Record]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _document,
    ".csv": partial(_table, separator=","),
    ".tsv": partial(_table, separator="\t"),
    ".parquet": partial(read_columns, form="parquet"),
    ".arrow": partial(read_columns, form="Arrow"),
}
"""By suffix, the reader of a format. Bytes of texts that are not UTF-8 become lone surrogates."""

FORMS = ("jsonl", "json", "csv", "tsv", "parquet", "arrow")
