"""A row as it was read from its file, before it becomes an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from q2_metric.errors import InputError

LONGEST_LINE = 64 * 2**20
"""Maximum bytes of a line, so that a stream without line ends does not fill the memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it was read: its fields, or the problem because of which it cannot be read.

    ``note`` is a warning about a row that can be read.
    """

    where: str
    fields: Mapping[str, object]
    problem: str | None = None
    note: str | None = None


def value_of(fields: Mapping[str, object], column: str) -> object:
    """The value of a column. The column ``outputs.answer`` is the field "answer" of the object
    "outputs".

    >>> value_of({"outputs": {"answer": "Rome"}}, "outputs.answer")
    'Rome'
    """
    if column in fields:
        return fields[column]
    value: object = fields
    for part in column.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def text_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of a UTF-8 file with their line ends, without a byte order mark.

    Raises:
        InputError: (on reading) the file begins like UTF-16 or UTF-32, or a line is longer than
            :data:`LONGEST_LINE`.
    """
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(f"{name}, line {number}: is longer than {LONGEST_LINE:,} bytes; "
                             "give each row a line of its own")
        if number == 1:
            _refuse_utf16(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield line


def _refuse_utf16(first_line: bytes, name: str) -> None:
    if first_line.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise InputError(f"{name}: is UTF-32; save it as UTF-8")
    if first_line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}: is UTF-16; save it as UTF-8")
