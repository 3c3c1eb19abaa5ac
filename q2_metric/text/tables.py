"""Rewrites tables as sentences: "The Population of Brena is 18,400." Tables are in Markdown, or are
lines of cells separated by tabs or commas. JSON becomes sentences with the names of fields and
records: "The price of chair is 89"."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

LEAST_LINES = 3
"""If commas separate the cells, because prose contains commas too. Other tables need two lines."""
LONGEST_CELL, LONGEST_JSON = 60, 100_000
"""In characters."""
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?")
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,]*\s?%?")
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null|[{}\[\]]')
_NAMES = ("name", "title", "label", "id")
"""The first of these fields that a record contains names it."""
_READ = {"true": "true", "false": "false, not true", "null": "unknown"}


class Piece(NamedTuple):
    """``start`` is the character in the original text to which the piece belongs."""

    text: str
    start: int


def read_tables(text: str) -> list[Piece]:
    """The pieces of the text whose tables are rewritten.

    >>> [piece.text for piece in read_tables("|City|River|\\n|--|--|\\n|Aldo|Irr|")]
    ['The River of Aldo is ', 'Irr', '.\\n']
    """
    pieces, done = list(_json_pieces(text)), 0
    if pieces:
        return pieces
    for start, end, table in _tables(text):
        pieces.append(Piece(text[done:start], done))
        pieces += _sentences(table)
        done = end
    pieces.append(Piece(text[done:], done))
    return [piece for piece in pieces if piece.text]


def _sentences(table: list[list[Piece]]) -> Iterator[Piece]:
    header, *rows = table
    for row in rows:
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell.text:
                column = name.text.replace("_", " ")
                yield Piece(f"The {column} of {row[0].text} is ", row[0].start)
                yield Piece(cell.text, cell.start)
                yield Piece(".\n", cell.start + len(cell.text))


def _tables(text: str) -> Iterator[tuple[int, int, list[list[Piece]]]]:
    """The start and end of each table, and its lines: the header and the rows."""
    lines = [(match.start(), match.end(), match[0]) for match in re.finditer(r"[^\n]+", text)]
    ends = [(sign, _ends(lines, sign)) for sign in ("|", "\t", ",")]
    at = 0
    while at < len(lines):
        sign, last = next(((sign, some[at]) for sign, some in ends if some[at]), ("", at + 1))
        if sign:
            table = [cells(line, start, sign) for start, _, line in lines[at:last]
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
        row = cells(line, start, sign)
        fit = fit and (not rows or len(row) == width) and all(
            len(cell.text) <= LONGEST_CELL for cell in row)
        # Only the corner above the names of the rows may be empty.
        header = len(row) > 1 and all(
            cell.text and not _NUMBER.fullmatch(cell.text)
            for cell in (row if row[0].text else row[1:]))
        if fit and header and rows + 1 >= (LEAST_LINES if sign == "," else 2):
            ends[at] = last
        # Lines with commas may be prose or verse. In a table, each row contains digits.
        fit = fit and (sign != "," or any(_NUMBER.fullmatch(cell.text) for cell in row))
        rows, width = rows + 1, len(row)
    return ends


def _is_rule(line: str, sign: str) -> bool:
    """Whether a line only separates the header of a Markdown table from the rows."""
    return sign == "|" and _RULE.fullmatch(line) is not None


def cells(line: str, start: int, sign: str = "|") -> list[Piece]:
    """The cells of a line that begins at ``start`` and that the sign separates."""
    found, at = [], 0
    for part in line.split(sign):
        found.append(Piece(part.strip(), start + at + len(part) - len(part.lstrip())))
        at += len(part) + 1
    if sign == "|" and not found[0].text and line.lstrip().startswith(sign):
        found = found[1:]
    if sign == "|" and found and not found[-1].text:
        found = found[:-1]
    return found


_Field = tuple[str, str, int, int]
"""The name of a field of a record, its value, and the value's start and end in the text."""


def _json_pieces(text: str) -> Iterator[Piece]:
    """The values in a text that is a JSON object or array, in sentences; none for other texts.

    >>> [one.text for one in _json_pieces('[{"name": "chair", "price": 89}]')][3:5]
    ['The price of chair is ', '89']
    """
    plain = text.strip()
    if plain[:1] not in ("{", "[") or len(plain) > LONGEST_JSON:
        return
    try:
        json.loads(plain)
    except (ValueError, RecursionError):
        return
    # The objects and arrays that are being read, each with the field whose value it is.
    records: list[tuple[str, list[_Field]]] = []
    key = ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if token[2]:
            key = json.loads(token[1])
        elif sign in "{[":
            records.append((key or (records[-1][0] if records else ""), []))
            key = ""
        elif sign in "}]":
            yield from _of_record(*records.pop())
            key = ""
        else:
            quoted = sign[0] == '"'
            value = str(json.loads(sign)) if quoted else _READ.get(sign, sign)
            owner, fields = records[-1]
            fields.append((key or owner, value, token.start() + quoted, token.end() - quoted))


def _of_record(key: str, fields: list[_Field]) -> Iterator[Piece]:
    named = {name: value for name, value, _, _ in reversed(fields)}
    owner = next((named[name] for name in _NAMES if name in named), key)
    for name, value, start, end in fields:
        of = f" of {owner}" if owner and value != owner and name != owner else ""
        yield Piece(f"The {name.replace('_', ' ') or 'value'}{of} is ", start)
        yield Piece(value, start)
        yield Piece(".\n", end)
