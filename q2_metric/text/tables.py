"""Rewrites tables in a text as sentences that a model can read.

A cell becomes "The Population of Brena is 18,400." Tables are in Markdown, or are lines of cells
separated by tabs or commas. JSON also becomes sentences (:mod:`q2_metric.text.records`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from q2_metric.text.records import json_values

LEAST_LINES = 3
"""Minimum lines of a table whose cells are separated by commas, because prose contains commas too.
Other tables need two lines."""
LONGEST_CELL = 60
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,]*\s?%?")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the rewritten text, and the character offset in the original text to which it
    belongs."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    start: int


_Line = list[_Cell]


def read_tables(text: str) -> list[Piece]:
    """The pieces of a text whose tables are rewritten as sentences.

    Joined, the pieces are the rewritten text.

    >>> [piece.text for piece in read_tables("|City|River|\\n|--|--|\\n|Aldo|Irr|")]
    ['The River of Aldo is ', 'Irr', '.\\n']
    """
    pieces: list[Piece] = []
    for fact in json_values(text):
        pieces += [Piece(fact.before, fact.start), Piece(fact.value, fact.start),
                   Piece(".\n", fact.end)]
    if pieces:
        return pieces
    done = 0
    for start, end, table in _tables(text):
        pieces.append(Piece(text[done:start], done))
        pieces += _sentences(table)
        done = end
    pieces.append(Piece(text[done:], done))
    return [piece for piece in pieces if piece.text]


def _sentences(table: list[_Line]) -> Iterator[Piece]:
    header, *rows = table
    for row in rows:
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell.text:
                column = name.text.replace("_", " ")
                yield Piece(f"The {column} of {row[0].text} is ", row[0].start)
                yield Piece(cell.text, cell.start)
                yield Piece(".\n", cell.start + len(cell.text))


def _tables(text: str) -> Iterator[tuple[int, int, list[_Line]]]:
    """Yields the start and end of each table in a text, and its lines: the header and the rows."""
    lines = [(match.start(), match.end(), match[0]) for match in re.finditer(r"[^\n]+", text)]
    at = 0
    while at < len(lines):
        for sign in ("|", "\t", ","):
            last = _last_line(lines, at, sign)
            table = [_cells(line, start, sign) for start, _, line in lines[at:last]
                     if not (sign == "|" and _RULE.fullmatch(line))]
            if _is_table(table, sign):
                yield lines[at][0], lines[last - 1][1], table
                at = last - 1
                break
        at += 1


def _last_line(lines: list[tuple[int, int, str]], first: int, sign: str) -> int:
    """The index of the line after a block of lines with equally many separators ``sign``.

    The block begins with the line ``first``. If that line has no separator, its index is returned.
    """
    count, last = lines[first][2].count(sign), first
    while count and last < len(lines) and lines[last][2].count(sign) == count:
        last += 1
    return last


def _cells(line: str, start: int, sign: str) -> _Line:
    cells, at = [], 0
    for part in line.split(sign):
        cells.append(_Cell(part.strip(), start + at + len(part) - len(part.lstrip())))
        at += len(part) + 1
    if sign == "|" and not cells[0].text and line.lstrip().startswith(sign):
        cells = cells[1:]
    if sign == "|" and cells and not cells[-1].text:
        cells = cells[:-1]
    return cells


def _is_table(table: list[_Line], sign: str) -> bool:
    """Whether lines of cells are a table: a header of words above rows of short cells.

    ``sign`` is the separator of the cells.
    """
    if len(table) < (LEAST_LINES if sign == "," else 2) or len(table[0]) < 2:
        return False
    cells = [cell for line in table for cell in line]
    if len({len(line) for line in table}) > 1 or any(
        len(cell.text) > LONGEST_CELL for cell in cells
    ):
        return False
    if any(not cell.text or _NUMBER.fullmatch(cell.text) for cell in table[0]):
        return False
    # Lines with commas may be prose or verse. In a table, each row contains digits.
    return sign != "," or all(
        any(_NUMBER.fullmatch(cell.text) for cell in row) for row in table[1:])
