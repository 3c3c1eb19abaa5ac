"""Rewrites tables as sentences: "The Population of Brena is 18,400." Tables are in Markdown, or are
lines of cells separated by tabs or commas. JSON also becomes sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from q2_metric.text.records import json_values

LEAST_LINES = 3
"""If commas separate the cells, because prose contains commas too. Other tables need two lines."""
LONGEST_CELL = 60
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?")
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,]*\s?%?")


@dataclass(frozen=True, slots=True)
class Piece:
    """``start`` is the character in the original text to which the piece belongs."""

    text: str
    start: int


_Line = list[Piece]
"""The cells of a line."""


def read_tables(text: str) -> list[Piece]:
    """The pieces of the text whose tables are rewritten.

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
    """The start and end of each table, and its lines: the header and the rows."""
    lines = [(match.start(), match.end(), match[0]) for match in re.finditer(r"[^\n]+", text)]
    ends = [(sign, _ends(lines, sign)) for sign in ("|", "\t", ",")]
    at = 0
    while at < len(lines):
        sign, last = next(((sign, some[at]) for sign, some in ends if some[at]), ("", at + 1))
        if sign:
            table = [_cells(line, start, sign) for start, _, line in lines[at:last]
                     if not _is_rule(line, sign)]
            yield lines[at][0], lines[last - 1][1], table
        at = last


def _ends(lines: list[tuple[int, int, str]], sign: str) -> list[int]:
    """For each line, the index of the line after the table that begins with it; 0 if none does. A
    table is a header of words above rows of short cells. The lines are read once, from the last."""
    ends = [0] * len(lines)
    count = last = rows = width = 0
    fit = True  # whether the lines from here to ``last`` can be rows of one table
    for at in reversed(range(len(lines))):
        start, _, line = lines[at]
        if line.count(sign) != count:
            count, last, rows, width, fit = line.count(sign), at + 1, 0, 0, True
        if not count:
            continue
        if _is_rule(line, sign):
            ends[at] = ends[at + 1] if rows else 0
            continue
        cells = _cells(line, start, sign)
        fit = fit and (not rows or len(cells) == width) and all(
            len(cell.text) <= LONGEST_CELL for cell in cells)
        header = len(cells) > 1 and not any(
            not cell.text or _NUMBER.fullmatch(cell.text) for cell in cells)
        if fit and header and rows + 1 >= (LEAST_LINES if sign == "," else 2):
            ends[at] = last
        # Lines with commas may be prose or verse. In a table, each row contains digits.
        fit = fit and (sign != "," or any(_NUMBER.fullmatch(cell.text) for cell in cells))
        rows, width = rows + 1, len(cells)
    return ends


def _is_rule(line: str, sign: str) -> bool:
    """Whether a line only separates the header of a Markdown table from the rows."""
    return sign == "|" and _RULE.fullmatch(line) is not None


def _cells(line: str, start: int, sign: str) -> _Line:
    cells, at = [], 0
    for part in line.split(sign):
        cells.append(Piece(part.strip(), start + at + len(part) - len(part.lstrip())))
        at += len(part) + 1
    if sign == "|" and not cells[0].text and line.lstrip().startswith(sign):
        cells = cells[1:]
    if sign == "|" and cells and not cells[-1].text:
        cells = cells[:-1]
    return cells
