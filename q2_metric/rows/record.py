"""Records: the rows of a file as they were read, before they are converted to examples."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from q2_metric.errors import InputError

LONGEST_LINE = 64 * 2**20
"""In bytes. Without it, a stream without line ends would fill the memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it was read from its file. ``where`` is its place, such as "a.jsonl, line 3".
    ``problem`` says why it cannot be read. ``note`` is a warning about a row that can be read."""

    where: str
    fields: Mapping[str, object]
    problem: str | None = None
    note: str | None = None


def value_of(fields: Mapping[str, object], column: str) -> object:
    """The value of a column in a row; ``None`` if the row lacks the column.

    >>> value_of({"outputs": {"answer": "Rome"}}, "outputs.answer")
    'Rome'
    """
    if column in fields:
        return fields[column]
    value: object = fields
    for part in column.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def text_lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, with their line ends but without a byte order mark. Bytes
    that are not UTF-8 become lone surrogates. While lines are read, raises InputError if the file
    is compressed, UTF-16 or UTF-32, or a line is longer than :data:`LONGEST_LINE`."""
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise InputError(f"{name}, line {number}: is longer than {LONGEST_LINE:,} bytes; "
                             "give each row a line of its own")
        if number == 1:
            if line.startswith(b"\x1f\x8b"):
                raise InputError(f"{name}: {COMPRESSED}")
            if line.startswith((b"\xff\xfe", b"\xfe\xff")) or line.count(0) >= _ZEROS * len(line):
                raise InputError(f"{name}: is UTF-16 or UTF-32; save it as UTF-8")
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield line.decode("utf-8", errors="surrogateescape")


COMPRESSED = "is compressed; decompress it first (gunzip)"
_ZEROS = 0.05
"""In UTF-16, every second byte of an English text is zero. With at least this share of zero bytes
in its first line, a file is not UTF-8."""


def lone_returns(text: str) -> str:
    """Words to add to an error message if carriage returns end the lines of the text; else ""."""
    if re.search(r"\r(?!\n)", text.strip()) is None:
        return ""
    return "; lines end with CR alone: save the file with the line end LF or CR LF"


def are_numbers(ids: Sequence[str]) -> bool:
    """Whether ids are only row numbers: 1, 2, …, as for a file without ids, or 0, 1, …"""
    start = 0 if ids[:1] == ["0"] else 1
    return all(id_ == str(number) for number, id_ in enumerate(ids, start))


def repeated(names: Sequence[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)
