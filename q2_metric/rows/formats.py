"""Reads the rows of a file, folder or standard input unchanged, whatever the format."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

from q2_metric.errors import InputError, Q2Error, unreadable
from q2_metric.files import STDIN
from q2_metric.rows.delimited import read_table
from q2_metric.rows.documents import read_document, read_jsonl
from q2_metric.rows.parquet import arrow_files, read_arrow, read_parquet
from q2_metric.rows.record import COMPRESSED, Record
from q2_metric.rows.traces import chats, holds_traces


def read_fields(
    path: str | Path, form: str | None = None
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yields each row of a file as (place, values by column), such as ("a.jsonl, line 3", {…}).

    It is for files of other things than responses, such as labels. The arguments and errors are
    those of :func:`records`, and a row that cannot be read is an InputError too.
    """
    for record in records(path, shown(path), form):
        if record.problem:
            raise InputError(f"{record.where}: {record.problem}")
        yield record.where, record.fields


def shown(path: str | Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == STDIN else str(path)


def tells(path: str | Path) -> bool:
    """Whether the format is known without ``--format``: by the suffix, or as a folder."""
    return Path(path).suffix.lower() in _READERS or os.path.isdir(path)


def records(path: str | Path, name: str, form: str | None = None) -> Iterator[Record]:
    """Yields the rows of a file, of a folder that ``datasets`` saved, or of standard input ("-").
    A file of traces has a row for each trace (:mod:`q2_metric.rows.traces`).

    ``name`` is for error messages. ``form`` (:data:`FORMS`) is needed if no suffix tells the
    format. InputError: the file cannot be read, or its suffix is unknown. Raised while rows are
    read. MissingExtra: a parquet file needs pyarrow."""
    read, first = _records(path, name, form), []
    for record in read:
        first.append(record)
        if not record.problem:
            break
    whole = chain(first, read)
    yield from chats(whole, name) if first and holds_traces(first[-1].fields) else whole


def _records(path: str | Path, name: str, form: str | None) -> Iterator[Record]:
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError(f"{name}: is closed")
        yield from _READERS[f".{form or 'jsonl'}"](sys.stdin.buffer, name)
        return
    if os.path.isdir(path):
        for part in arrow_files(Path(path)):
            yield from _records(part, str(part), "arrow")
        return
    suffix = f".{form}" if form else Path(path).suffix.lower()
    if suffix not in _READERS and os.path.exists(path):
        if suffix == ".gz":
            raise InputError(f"{name}: {COMPRESSED}")
        raise InputError(
            f"{name}: cannot tell the format from the suffix {suffix!r}; "
            f"use one of {', '.join(_READERS)} (for the command q2, name it with --format, or use "
            "- for jsonl on standard input)")
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


_READERS: Mapping[str, Callable[[IO[bytes], str], Iterator[Record]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_document,
    ".csv": partial(read_table, delimiter=","),
    ".tsv": partial(read_table, delimiter="\t"),
    ".parquet": read_parquet,
    ".arrow": read_arrow,
}


FORMS = ("jsonl", "json", "csv", "tsv", "parquet", "arrow")
