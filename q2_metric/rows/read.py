"""Reads the rows of a file as examples to score, one at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.rows import record as cells
from q2_metric.rows.columns import ALIASES, Columns, as_label, check_column, described, resolve
from q2_metric.rows.formats import records, shown
from q2_metric.rows.record import Record
from q2_metric.text.given import encodable, is_blank, kind, missing
from q2_metric.types import Example, Passage

Turns = Literal["last", "all"]
PEEKED = 100
"""Rows at the start in which columns are looked for: one jsonl row may lack some."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored. ``index`` counts from 0; ``error`` says where it is, and why."""

    index: int
    id: str | None
    error: str


Row = Example | BadRow


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

    All text is UTF-8; "nan" and "null" are text. :mod:`q2_metric.rows.record` describes values.

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
    given = iter(records(path, form) if given is None else given)
    first = list(islice(given, PEEKED))
    if not first:
        return
    columns = columns or Columns()
    needs = {"response": need_response, "knowledge": columns.knowledge != ""}
    needed = [field for field in needs if needs[field]]
    resolved, doubts = resolve(columns, first, name, aliases, needed)
    for column in group_by:
        check_column(column, first, name, "--group-by")
    for doubt in doubts:
        on_note(f"{name}: {doubt}")
    if on_read is not _ignore and (words := described(resolved, first, turns)):
        on_read(f"{name}: {words}")
    on_columns(Columns(**resolved))
    if turns == "all":
        given, first = _each_turn(chain(first, given), resolved), []
    reader = _Reader(resolved, needs, blank, group_by)
    for index, record in enumerate(chain(first, given)):
        if record.note is not None:
            on_note(f"{record.where}: {record.note}")
            on_note = _ignore
        yield reader.row(index, record)


def _each_turn(records: Iterable[Record], resolved: Mapping[str, str | None]) -> Iterator[Record]:
    """A record for each turn of the assistant."""
    column, id_ = resolved["response"] or "", resolved["id"]
    for record in records:
        chat = cells.unfolded(cells.value_of(record.fields, column))
        messages = chat if isinstance(chat, list) and cells.is_chat(chat) else []
        places = _said_at(messages)
        if not places:
            why = record.problem or ("--turns all needs a chat with a turn of the assistant "
                                     f"(the response is read from the field {column!r})")
            yield replace(record, problem=why)
        for number, place in enumerate(places, start=1):
            fields = {**record.fields, column: messages[:place], "turn": number}
            if id_ and not missing(value := cells.value_of(record.fields, id_)):
                fields[id_] = f"{value}:{number}"
            yield replace(record, where=f"{record.where}, turn {number}", fields=fields)


def _said_at(chat: Sequence[object]) -> list[int]:
    """The number of messages up to each turn of the assistant."""
    with suppress(InputError):
        return [place for place, message in enumerate(chat, start=1)
                if cells.response_at(cells.turns_of([message], "")) is not None]
    return [len(chat)]  # the row's error will say why


@dataclass(frozen=True, slots=True)
class _Reader:
    """Converts records to examples, or to bad rows. ``columns`` has the column of each field, and
    ``needs`` whether each row must have a response and knowledge. ``blank`` allows these to be
    blank. Columns in ``group_by`` are also copied to ``other`` if a field is read from them."""

    columns: Mapping[str, str | None]
    needs: Mapping[str, bool]
    blank: bool
    group_by: Sequence[str]

    def row(self, index: int, record: Record) -> Row:
        id_ = _id(record.fields, self.columns["id"], index)
        if record.problem:
            return BadRow(index, id_, f"{record.where}: {record.problem}")
        try:
            return self._example(record.fields, id_)
        except InputError as error:
            return BadRow(index, id_, f"{record.where}: {error}")

    def _example(self, fields: Mapping[str, object], id_: str | None) -> Example:
        response = self._response(fields)
        knowledge, passages = self._knowledge(fields)
        asked, where = self._cell(fields, "question")
        return Example(
            response, knowledge, self._history(fields), id_,
            as_label(self._cell(fields, "label")[0]),
            question=encodable(asked, where)
            if isinstance(asked, str) and not is_blank(asked) else None,
            passages=passages, other=self._other(fields),
        )

    def _response(self, fields: Mapping[str, object]) -> str:
        value, where = self._needed(fields, "response")
        if value is None:
            return ""
        if cells.is_chat(value):
            turns = cells.turns_of(value, where)
            place = cells.response_at(turns)
            if place is None:
                raise InputError(f"{where} is a chat without a turn of the assistant")
            value = turns[place].text
        elif not isinstance(value, str):
            raise InputError(f"{where} is {kind(value)}, not a string")
        return self._checked(value, where)

    def _knowledge(self, fields: Mapping[str, object]) -> tuple[str, tuple[Passage, ...]]:
        value, where = self._needed(fields, "knowledge")
        if value is None:
            return "", ()
        if cells.is_chat(value):  # the knowledge is the tool results before the response
            turns = cells.turns_of(value, where)
            given = [passage for turn in turns[:cells.response_at(turns)]
                     if turn.role == "tool" and turn.text.strip()
                     for passage in _by_tool(turn.text)]
        else:
            given = cells.passages_of(value, where)
            if isinstance(value, str) and given == [(value, None)]:  # one text is not a list
                return self._checked(value, where), ()
        text, passages = joined(given)
        return self._checked(text, where), passages

    def _history(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        value, where = self._cell(fields, "history")
        turns = cells.turns_of(value, where)
        if cells.is_chat(value):
            column, place = self.columns["history"] or "", cells.response_at(turns)
            if self.columns["response"] == column:
                turns = turns[:place]
            elif place is not None and place == len(turns) - 1 and (
                    column.strip().lower() not in ("history", "chat_history")
                    or turns[place].text == self._cell(fields, "response")[0]):
                turns = turns[:-1]  # removes the response, or the turn that the response replaces
        said = [turn.text for turn in turns if turn.role not in ("system", "tool")]
        return tuple(encodable(text, where) for text in said if text.strip())

    def _other(self, fields: Mapping[str, object]) -> dict[str, Any]:
        read = {name for name in self.columns.values() if name}
        names = [name for name in fields if name not in read]
        values = {name: cells.kept(cells.value_of(fields, name))
                  for name in (*names, *self.group_by)}
        return {name: value for name, value in values.items() if value is not None}

    def _cell(self, fields: Mapping[str, object], field: str) -> tuple[object, str]:
        """The value in a field's column, and words for the field in messages."""
        column = self.columns[field]
        value = cells.value_of(fields, column) if column else None
        return value, f"the {field} (field {column!r})"

    def _needed(self, fields: Mapping[str, object], field: str) -> tuple[object, str]:
        """As :meth:`_cell`, of the response or knowledge. The value is ``None`` if the row lacks
        it and may do so."""
        value, where = self._cell(fields, field)
        blank = value is None or (isinstance(value, str) and is_blank(value))
        if blank and not self.needs[field]:
            return None, where
        if value is None and self.columns[field] not in fields:
            raise InputError(
                f"the {field} is missing: the row has no field {self.columns[field]!r}")
        return "" if missing(value) else value, where

    def _checked(self, text: str, where: str) -> str:
        encodable(text, where)
        if not self.blank and is_blank(text):
            problem = "has no visible character" if text.strip() else "is empty"
            raise InputError(f"{where} {problem}")
        return text


def _by_tool(text: str) -> list[tuple[str | None, str | None]]:
    with suppress(InputError):
        return cells.passages_of(text, "")
    return [(text, None)]  # JSON of another form than documents


def joined(passages: Sequence[tuple[str | None, str | None]]) -> tuple[str, tuple[Passage, ...]]:
    """Joins passages, given as (text, id), into one text, and says where each is in it.

    A passage without a text counts too, so that the others keep their numbers.

    >>> joined([("Rome.", "a"), (None, None), ("Oslo.", None)])[0]
    'Rome.\\nOslo.'
    """
    text, places = "", []
    for passage, id_ in passages:
        text += "" if passage is None else f"\n{passage}"
        end = max(0, len(text) - 1)
        places.append(Passage(end - len(passage or ""), end, id_))
    return text[1:], tuple(places)


def _id(fields: Mapping[str, object], column: str | None, index: int) -> str | None:
    """``None`` if the file has no ids. A row without its id gets "(row 3)", because a plain 3 could
    be another row's id."""
    value = cells.value_of(fields, column) if column else None
    if missing(value) or value == "":
        return f"(row {index + 1})" if column else None
    return str(value).encode("utf-8", errors="replace").decode("utf-8")
