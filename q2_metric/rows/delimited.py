"""Reads csv and tsv files. If a row has a stray quotation mark, only this row is unreadable."""

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import IO

from q2_metric.errors import InputError
from q2_metric.rows.record import Record, lone_returns, repeated, text_lines


def read_table(file: IO[bytes], name: str, delimiter: str) -> Iterator[Record]:
    """Yields the rows of a UTF-8 table with a header. Blank lines are skipped.

    If ``delimiter`` is a comma and the header has only semicolons or tabs, these separate the
    cells: spreadsheets write semicolons in countries where the decimal sign is a comma. InputError:
    the header cannot be read or has one cell although the first row has more, the file is UTF-16,
    or a line is too long."""
    csv.field_size_limit(2**31 - 1)
    # Bytes that are not UTF-8 become lone surrogates.
    texts = (line.decode("utf-8", errors="surrogateescape") for line in text_lines(file, name))
    first = next(texts, "")
    lines = _Lines(chain([first], texts))
    if delimiter == ",":
        delimiter = _separator(first)
    header: list[str] | None = None
    note: str | None = None
    rows = 0
    while True:
        lines.row = []
        where = f"{name}, line {lines.read + 1}"
        try:
            # strict=True makes a stray quote an error. Otherwise the row would swallow later rows.
            cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
        except StopIteration:
            return
        except csv.Error as error:
            problem = _problem(error, lines.row)
            if header is None:
                raise InputError(f"{where}: the header {problem}") from error
            yield Record(where, {}, problem)
            lines.put_back()
            continue
        if not cells:
            continue
        if header is None:
            header = cells
            if (twice := repeated(header)) is not None:
                note = f"the header has the column {twice!r} twice; the last is read"
            continue
        rows += 1
        if len(cells) != len(header) and _has_row(lines.row[1:], len(header), delimiter):
            yield Record(where, {}, "has a misplaced quotation mark (it closes lines later)")
            lines.put_back()
        elif len(cells) > len(header):
            if rows == 1 == len(header):
                raise InputError(f"{where}: has {len(cells)} cells, but the header has one, "
                                 f"{header[0]!r}; {_ONE_CELL}")
            yield Record(where, {}, f"has {len(cells)} fields where the header has {len(header)}")
        else:
            yield Record(where, dict(zip(header, cells, strict=False)), note=note)
            note = None


_ONE_CELL = ("the first line must name all columns: delete a title above it, and put a cell that "
             "contains the separator in quotation marks")


def _problem(error: csv.Error, row: Sequence[str]) -> str:
    if str(error).startswith("new-line"):
        return f"cannot be read{lone_returns(''.join(row).encode('utf-8', 'surrogateescape'))}"
    return f"has a misplaced quotation mark ({error})"


def _separator(header: str) -> str:
    """The separator of a csv file: a comma, or a semicolon or tab if its header has no comma.

    >>> _separator("question;answer"), _separator("question,answer;1"), _separator("answer")
    (';', ',', ',')
    """
    return next((sign for sign in ",;\t" if sign in header), ",")


class _Lines:
    """The lines of a table, of which those that were wrongly read as part of a row can be put back.

    A stray quotation mark makes the csv reader take the following lines for a part of the same row.
    The row is then its first line only, and the others are read again: each at most twice, because
    the wrong row ends at the next stray quotation mark.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self.read = 0
        self.row: list[str] = []
        self._waiting: deque[str] = deque()
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else next(self._lines)
        self.read += 1
        self.row.append(line)
        return line

    def put_back(self) -> None:
        later = self.row[1:]
        self.read -= len(later)
        self._waiting.extendleft(reversed(later))


def _has_row(lines: Sequence[str], width: int, delimiter: str) -> bool:
    for line in lines:
        with suppress(csv.Error):
            if len(next(csv.reader([line], delimiter=delimiter, strict=True), [])) == width:
                return True
    return False
