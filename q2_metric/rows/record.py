"""Records: the rows of a file as they were read, before they are converted to examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from q2_metric.errors import InputError

LONGEST_LINE = 64 * 2**20
"""Maximum number of bytes in a line. Without it, a stream without line ends would fill the memory.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it was read from its file.

    - ``where``: the place of the row, for messages, such as "a.jsonl, line 3".
    - ``fields``: the row's values, by column.
    - ``problem``: why the row cannot be read; ``None`` if it can.
    - ``note``: a warning about a row that can be read; ``None`` without one.
    """

    where: str
    fields: Mapping[str, object]
    problem: str | None = None
    note: str | None = None


def value_of(fields: Mapping[str, object], column: str) -> object:
    """The value of a column in a row; ``None`` if the row lacks the column.

    The column ``outputs.answer`` is the key "answer" of the object in the column "outputs".

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
    """Yields the lines of a UTF-8 file, with their line ends but without a byte order mark.

    Args:
        file: the open file.
        name: name of the file in error messages.

    Raises:
        InputError: the file is UTF-16 or UTF-32, or a line is longer than :data:`LONGEST_LINE`.
            Raised while lines are read.
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
