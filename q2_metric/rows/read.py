"""Rows in: examples to score, one at a time.

Reading streams, and a row that cannot be scored becomes a :class:`BadRow` in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from q2_metric.errors import InputError
from q2_metric.rows.columns import ALIASES, Columns, as_label, resolve, unsure
from q2_metric.rows.formats import records, shown
from q2_metric.rows.record import Record
from q2_metric.text.given import all_text, encodable, is_blank, kind, missing
from q2_metric.types import Example

PEEKED = 100
"""Rows looked at to find out which columns there are (jsonl rows may leave some out)."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored, and why.

    ``index`` counts the rows of the file from 0; ``error`` names file and line.
    """

    index: int
    id: str | None
    error: str


Row = Example | BadRow


def read_rows(
    path: str | Path,
    columns: Columns | None = None,
    *,
    aliases: Mapping[str, Sequence[str]] = ALIASES,
    need_response: bool = True,
    blank: bool = False,
    on_columns: Callable[[Columns], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    form: str | None = None,
    found: Iterable[Record] | None = None,
) -> Iterator[Row]:
    """The rows of a file, in order, one at a time.

    The format follows the suffix: ``.jsonl`` (or ``.ndjson``), ``.csv``, ``.tsv``,
    ``.parquet``; ``-`` is jsonl on standard input. All text is UTF-8. Blank lines are no
    rows. Words such as "nan", "None" and "null" are text.

    The response is a string; the knowledge a string or a list of strings, joined by a newline;
    the history, if any, a string with one turn a line or a list of turns, each a string or a chat
    message (an object with a string ``content``). People's label is 0 or 1 (``LABELS`` of
    ``rows/columns.py``) or missing; a column that is only called like one is none.

    Args:
        path: file to read, or ``-``.
        columns: names of the columns where they are not the usual ones.
        aliases: the usual names of each field's column.
        need_response: whether each row must have a response; else it is "" where there is none.
        blank: whether a row with a blank or missing (null) response or knowledge is a good one.
        on_columns: told which columns are read (``None`` where a field has none), before the first
            row, if there is one.
        on_note: told of what was read and is not sure: a key or column that is there twice, another
            column that could be the knowledge, labels that are not understood.
        form: one of :data:`q2_metric.rows.formats.FORMS`, where the suffix does not tell.
        found: the file's records, where they were read already.

    Raises:
        InputError: (when the first row is asked for, or on reading on) the file cannot be
            read, its suffix is unknown, or it has no column for response or knowledge.
        MissingExtra: parquet without pyarrow.
    """
    name = shown(path)
    found = iter(records(path, name, form) if found is None else found)
    first = list(islice(found, PEEKED))
    if not first:
        return
    columns = columns or Columns()
    needs = {"response": need_response, "knowledge": columns.knowledge != ""}
    resolved = resolve(columns, first, name, aliases, [field for field in needs if needs[field]])
    for doubt in _settled(resolved, columns, first, aliases):
        if on_note is not None:
            on_note(f"{name}: {doubt}")
    if on_columns is not None:
        on_columns(Columns(**resolved))
    for index, record in enumerate(chain(first, found)):
        if record.note is not None and on_note is not None:
            on_note(f"{record.where}: {record.note}")
            on_note = None
        yield _row(index, record, resolved, needs, blank=blank,
                   named_label=columns.label is not None)


def _settled(
    resolved: dict[str, str | None], columns: Columns, first: Sequence[Record],
    aliases: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Takes the label's column out where it has no labels; what is not sure, in words."""
    found = list(dict.fromkeys(key for record in first for key in record.fields))
    if doubt := unsure(resolved, columns, found, aliases):
        yield doubt
    if columns.label is None:
        labelled, doubt = _labelled(first, resolved.get("label"))
        if doubt:
            yield doubt
        if not labelled:
            resolved["label"] = None


def _labelled(records: Sequence[Record], column: str | None) -> tuple[bool, str]:
    """Whether the column that is called like a label has labels, and not something else; and
    what to say where only most of its values are labels."""
    values = [value for one in records if column is not None
              and not _no_label(value := one.fields.get(column))]
    strange = [value for value in values if as_label(value) is None]
    if 2 * len(strange) >= len(values):
        return False, ""
    if not strange:
        return True, ""
    shown = repr(str(strange[0])[:40])
    if any(map(_is_number, strange)):  # ratings, of which some are 0 or 1
        return False, (f"the column {column!r} is not read as people's label: it has {shown} "
                       "and not only 0 and 1; --label names a column")
    return True, f"the label {shown} (column {column!r}) is not 0 or 1; such rows have no label"


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _no_label(value: object) -> bool:
    """Whether a row has no label; tables of text write NaN as a word."""
    return missing(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan"))


def _label(fields: Mapping[str, object], column: str | None, *, needed: bool) -> bool | None:
    """What people said; a label that is not understood is an error where its column was named."""
    value = fields.get(column) if column else None
    if _no_label(value):
        return None
    label = as_label(value)
    if label is None and needed:
        raise InputError(f"the label (field {column!r}) is {str(value)[:40]!r}, not 0 or 1")
    return label


def _row(
    index: int, record: Record, columns: Mapping[str, str | None], needs: Mapping[str, bool],
    *, blank: bool, named_label: bool,
) -> Row:
    id_ = _id(record.fields, columns["id"], index)
    if record.problem:
        return BadRow(index, id_, f"{record.where}: {record.problem}")

    def text(field: str) -> str:
        if not needs[field] and _lacks(record.fields, columns[field]):
            return ""
        return _text(record.fields, field, columns[field], blank=blank)

    try:
        return Example(
            response=text("response"),
            knowledge=text("knowledge"),
            history=_history(record.fields, columns["history"]),
            id=id_,
            label=_label(record.fields, columns.get("label"), needed=named_label),
        )
    except InputError as error:
        return BadRow(index, id_, f"{record.where}: {error}")


def _id(fields: Mapping[str, object], column: str | None, index: int) -> str | None:
    """A row's id, ``None`` where the file has none.

    A row without one, among others that have one, has no plain number, which may be another's id.
    """
    value = fields.get(column) if column else None
    if missing(value) or value == "":
        return f"(row {index + 1})" if column else None
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _text(
    fields: Mapping[str, object], field: str, column: str | None, *, blank: bool
) -> str:
    """The text of the response or of the knowledge."""
    if column is None or column not in fields:
        raise InputError(f"the {field} is missing: the row has no field {column!r}")
    value = "" if missing(fields[column]) else fields[column]
    if isinstance(value, list) and field == "knowledge":
        there = [item for item in value if not missing(item)]
        value = "\n".join(there) if all_text(there) else value
    if not isinstance(value, str):
        wanted = "a string" + (" or a list of strings" if field == "knowledge" else "")
        raise InputError(f"the {field} (field {column!r}) is {kind(value)}, not {wanted}")
    text = _encodable(value, field, column)
    if not blank and is_blank(text):
        what = "has no visible character" if text.strip() else "is empty"
        raise InputError(f"the {field} (field {column!r}) {what}")
    return text


def _lacks(fields: Mapping[str, object], column: str | None) -> bool:
    value = fields.get(column) if column else None
    return value is None or (isinstance(value, str) and is_blank(value))


def _history(fields: Mapping[str, object], column: str | None) -> tuple[str, ...]:
    value = fields.get(column) if column else None
    if missing(value):
        return ()
    turns = value.splitlines() if isinstance(value, str) else value
    if isinstance(turns, list):
        said = (turn.get("content") if isinstance(turn, dict) else turn for turn in turns)
        turns = [turn for turn in said if not missing(turn)]
    if not isinstance(turns, list) or not all_text(turns):
        raise InputError(
            f"the history (field {column!r}) is {kind(value)}, not a string or a list of strings"
        )
    return tuple(_encodable(turn, "history", column) for turn in turns if turn.strip())


def _encodable(text: str, field: str, column: str | None) -> str:
    return encodable(text, f"the {field} (field {column!r})")
