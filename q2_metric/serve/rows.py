"""Reads the rows of requests, as rows of files are read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from q2_metric.errors import InputError
from q2_metric.rows.columns import Columns
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.read import BadRow, Row, read_rows
from q2_metric.rows.record import Record

ScoreRows = Callable[[Sequence[Row]], Awaitable[list[OutputRow]]]

LONGEST_ANSWER, LONGEST_SOURCES = 20_000, 200_000
"""In characters, of an answer (or question) and of its sources."""

MOST_ROWS = 64
"""Of a request."""

NO_ID = "(row 1)"
"""The id of a row that is read by itself and has a blank id."""


class _FieldNames(Columns):
    def option(self, field: str) -> str:
        return f"the name {field!r}"


def row_of(where: str, given: object, *, place: int = 0, need_response: bool = True) -> Row:
    """A row of a request; a BadRow, whose error begins with ``where``, if it cannot be scored."""
    if not isinstance(given, Mapping):
        return BadRow(place, None, f"{where}: is not an object")
    try:
        # Each row is read by itself: its neighbours do not change which fields are read.
        [row] = read_rows(where, _FieldNames(), given=[Record(where, given)], blank=True,
                           need_response=need_response)
    except InputError as error:
        words = str(error).strip()
        return BadRow(place, None, words if words.startswith(where) else f"{where}: {words}")
    if row.id == NO_ID:
        row = replace(row, id=None)
    for field, longest in (("response", LONGEST_ANSWER), ("knowledge", LONGEST_SOURCES)):
        if (length := len(getattr(row, field, ""))) > longest:
            return BadRow(place, row.id, f"{where}: the {field} has {length:,} characters; it may "
                          f"have at most {longest:,}; use q2 score for longer texts")
    return row
