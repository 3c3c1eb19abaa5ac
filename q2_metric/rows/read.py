"""Reads the rows of a file as examples to score, one at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from q2_metric.errors import InputError
from q2_metric.rows.columns import (
    ALIASES,
    LABELS,
    Columns,
    as_label,
    check_column,
    described,
    resolve,
)
from q2_metric.rows.examples import BadRow as BadRow
from q2_metric.rows.examples import ExampleReader, no_label
from q2_metric.rows.examples import Row as Row
from q2_metric.rows.formats import records, shown
from q2_metric.rows.record import Record, value_of
from q2_metric.rows.shapes import is_chat, looks_folded, response_at, turns_of, unfolded
from q2_metric.text.given import missing

Turns = Literal["last", "all"]
PEEKED = 100
"""Rows at the start in which columns are looked for: one jsonl row may lack some."""


def _ignore(_told: object) -> None:
    """What a callback does by default."""


def read_rows(
    path: str | Path, columns: Columns | None = None, *,
    aliases: Mapping[str, Sequence[str]] = ALIASES, need_response: bool = True, blank: bool = False,
    on_columns: Callable[[Columns], None] = _ignore, on_note: Callable[[str], None] = _ignore,
    on_read: Callable[[str], None] = _ignore, group_by: Sequence[str] = (), form: str | None = None,
    given: Iterable[Record] | None = None, turns: Turns = "last",
) -> Iterator[Row]:
    """Yields the rows of a file in order: an example for each row, or a :class:`BadRow`.

    All text is UTF-8; "nan" and "null" are text. :mod:`q2_metric.rows.shapes` describes values.

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
        turns: of a chat, the assistant's "last" turn is the response, or each of "all" is a row.

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
    for doubt in _settled(resolved, columns, first):
        on_note(f"{name}: {doubt}")
    if on_read is not _ignore and (words := described(resolved, first, turns)):
        on_read(f"{name}: {words}")
    on_columns(Columns(**resolved))
    if turns == "all":
        given, first = _each_turn(chain(first, given), resolved), []
    reader = ExampleReader(resolved, needs, blank, group_by)
    for index, record in enumerate(chain(first, given)):
        if record.note is not None:
            on_note(f"{record.where}: {record.note}")
            on_note = _ignore
        yield reader.row(index, record)


def _each_turn(records: Iterable[Record], resolved: Mapping[str, str | None]) -> Iterator[Record]:
    """A record for each turn of the assistant."""
    column, id_ = resolved["response"] or "", resolved["id"]
    for record in records:
        chat = unfolded(value_of(record.fields, column))
        places = _said_at(chat) if isinstance(chat, list) and is_chat(chat) else []
        if record.problem or not isinstance(chat, list) or not places:
            why = record.problem or ("--turns all needs a chat with a turn of the assistant "
                                     f"(the response is read from the field {column!r})")
            yield replace(record, problem=why)
            continue
        for number, place in enumerate(places, start=1):
            fields = {**record.fields, column: chat[:place], "turn": number}
            if id_ and not missing(value := value_of(record.fields, id_)):
                fields[id_] = f"{value}:{number}"
            yield replace(record, where=f"{record.where}, turn {number}", fields=fields)


def _said_at(chat: Sequence[object]) -> list[int]:
    """The number of messages up to each turn of the assistant."""
    try:
        return [place for place, message in enumerate(chat, start=1)
                if response_at(turns_of([message], "")) is not None]
    except InputError:  # the row's error will say why
        return [len(chat)]


def _settled(
    resolved: dict[str, str | None], columns: Columns, first: Sequence[Record],
) -> Iterator[str]:
    """Yields warnings. Removes the label's column from ``resolved`` if it holds no labels; if the
    user named it, that is an InputError."""
    knowledge = resolved.get("knowledge")
    if knowledge and any(looks_folded(value_of(one.fields, knowledge)) for one in first):
        yield (f"the knowledge (column {knowledge!r}) looks like a list, but it is neither JSON "
               "nor a Python list of texts; it is read as one text")
    label = resolved.get("label")
    if label is None:
        return
    values = [value for one in first if not no_label(value := value_of(one.fields, label))]
    strange = [str(value) for value in values if as_label(value) is None]
    named = columns.label is not None
    if named and values and len(strange) == len(values):
        raise InputError(f"the column {label!r} has no human labels: it contains "
                         f"{strange[0][:40]!r}; labels are {', '.join(LABELS)}")
    if not named and 2 * len(strange) >= len(values):
        resolved["label"] = None
    elif not named and any(map(_is_number, strange)):  # ratings, some of which are 0 or 1
        resolved["label"] = None
        yield (f"the column {label!r} is not read as the human label: it contains "
               f"{strange[0][:40]!r} and not only 0 and 1; --label names a column")
    elif strange:
        yield (f"the label {strange[0][:40]!r} (column {label!r}) is not 0 or 1; such rows have "
               "no label")


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False
