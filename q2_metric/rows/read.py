"""Reads the rows of a file as examples to score, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from q2_metric.rows.columns import (
    ALIASES,
    Columns,
    as_label,
    check_column,
    described,
    resolve,
    unsure,
)
from q2_metric.rows.examples import BadRow as BadRow
from q2_metric.rows.examples import ExampleReader, no_label
from q2_metric.rows.examples import Row as Row
from q2_metric.rows.formats import records, shown
from q2_metric.rows.record import Record, value_of
from q2_metric.rows.shapes import looks_folded

PEEKED = 100
"""Rows at the start in which columns are looked for: one jsonl row may lack some."""


def read_rows(
    path: str | Path,
    columns: Columns | None = None,
    *,
    aliases: Mapping[str, Sequence[str]] = ALIASES,
    need_response: bool = True,
    blank: bool = False,
    on_columns: Callable[[Columns], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    on_read: Callable[[str], None] | None = None,
    group_by: Sequence[str] = (),
    form: str | None = None,
    given: Iterable[Record] | None = None,
) -> Iterator[Row]:
    """Yields the rows of a file in order: an example for each row, or a :class:`BadRow`.

    All text is UTF-8; words such as "nan" and "null" are text. :mod:`q2_metric.rows.shapes`
    describes the values that a cell may have.

    Args:
        path: the file to read; "-" is standard input.
        columns: the columns that the user named; ``None`` if all are recognised by their names.
        aliases: by field, the column names that are recognised.
        need_response: if false, a missing response is "".
        blank: whether a row with a blank or missing (null) response or knowledge is valid.
        on_columns: is called before the first row, with the column that is read for each field.
        on_note: is called with each warning about the columns.
        on_read: is called once with a line that says which column is read for each field.
        group_by: columns that are copied to ``other`` even if a field is read from them.
        form: the format (:data:`q2_metric.rows.formats.FORMS`), if the suffix does not tell it.
        given: the records of the file, if they were already read.

    Raises:
        InputError: the file cannot be read, or lacks a needed column. Raised while rows are read.
        MissingExtra: a parquet file needs pyarrow.
    """
    name = shown(path)
    given = iter(records(path, name, form) if given is None else given)
    first = list(islice(given, PEEKED))
    if not first:
        return
    columns = columns or Columns()
    needs = {"response": need_response, "knowledge": columns.knowledge != ""}
    resolved = resolve(columns, first, name, aliases, [field for field in needs if needs[field]])
    for column in group_by:
        check_column(column, first, f"{name}: ", " for --group-by")
    _tell(resolved, columns, first, name, aliases, on_note, on_read)
    if on_columns is not None:
        on_columns(Columns(**resolved))
    reader = ExampleReader(resolved, needs, blank, columns.label is not None, group_by)
    for index, record in enumerate(chain(first, given)):
        if record.note is not None and on_note is not None:
            on_note(f"{record.where}: {record.note}")
            on_note = None
        yield reader.row(index, record)


def _tell(
    resolved: dict[str, str | None], columns: Columns, first: Sequence[Record], name: str,
    aliases: Mapping[str, Sequence[str]], on_note: Callable[[str], None] | None,
    on_read: Callable[[str], None] | None,
) -> None:
    """Removes the label's column from ``resolved`` if it holds no labels."""
    for doubt in _settled(resolved, columns, first, aliases):
        if on_note is not None:
            on_note(f"{name}: {doubt}")
    if on_read is not None and (words := described(resolved, first)):
        on_read(f"{name}: {words}")


def _settled(
    resolved: dict[str, str | None], columns: Columns, first: Sequence[Record],
    aliases: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Yields warnings. Removes the label's column from ``resolved`` if it holds no labels."""
    names = list(dict.fromkeys(key for record in first for key in record.fields))
    if doubt := unsure(resolved, columns, names, aliases):
        yield doubt
    knowledge = resolved.get("knowledge")
    if knowledge and any(looks_folded(value_of(one.fields, knowledge)) for one in first):
        yield (f"the knowledge (column {knowledge!r}) looks like a list, but it is neither JSON "
               "nor a Python list of texts; it is read as one text")
    if columns.label is None:
        labelled, doubt = _labelled(first, resolved.get("label"))
        if doubt:
            yield doubt
        if not labelled:
            resolved["label"] = None


def _labelled(records: Sequence[Record], column: str | None) -> tuple[bool, str]:
    """Whether a column that was not named holds labels, and a warning if it holds others too."""
    values = [value for record in records if column is not None
              and not no_label(value := value_of(record.fields, column))]
    strange = [value for value in values if as_label(value) is None]
    if 2 * len(strange) >= len(values):
        return False, ""
    if not strange:
        return True, ""
    shown = repr(str(strange[0])[:40])
    if any(map(_is_number, strange)):  # ratings, some of which are 0 or 1
        return False, (f"the column {column!r} is not read as the human label: it contains {shown} "
                       "and not only 0 and 1; --label names a column")
    return True, f"the label {shown} (column {column!r}) is not 0 or 1; such rows have no label"


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
