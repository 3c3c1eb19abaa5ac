"""Converts rows as they were read from a file (records) to examples that metrics can score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError
from q2_metric.rows.columns import as_label
from q2_metric.rows.record import Record, value_of
from q2_metric.rows.shapes import is_chat, kept, passages_of, response_at, turns_of
from q2_metric.text.given import encodable, is_blank, kind, missing
from q2_metric.types import Example, Passage


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored. ``index`` counts from 0; ``error`` says where the row is and
    why."""

    index: int
    id: str | None
    error: str


Row = Example | BadRow


@dataclass(frozen=True, slots=True)
class ExampleReader:
    """Converts rows as they were read from a file to examples, or to bad rows.

    ``columns`` has the column of each field, and ``needs`` whether each row must have a response
    and knowledge. ``blank`` allows these to be blank. Columns in ``group_by`` are also copied to
    ``other`` if a field is read from them.
    """

    columns: Mapping[str, str | None]
    needs: Mapping[str, bool]
    blank: bool
    group_by: Sequence[str] = ()

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
        question = self.columns.get("question")
        asked = value_of(fields, question) if question else None
        return Example(
            response, knowledge, self._history(fields), id_,
            _label(fields, self.columns.get("label")),
            question=encodable(asked, _named("question", question))
            if isinstance(asked, str) and not is_blank(asked) else None,
            passages=passages, other=self._other(fields),
        )

    def _response(self, fields: Mapping[str, object]) -> str:
        value, where = self._value(fields, "response"), _named("response", self.columns["response"])
        if value is None:
            return ""
        if is_chat(value):
            turns = turns_of(value, where)
            place = response_at(turns)
            if place is None:
                raise InputError(f"{where} is a chat without a turn of the assistant")
            value = turns[place].text
        elif not isinstance(value, str):
            raise InputError(f"{where} is {kind(value)}, not a string")
        return self._checked(value, where)

    def _knowledge(self, fields: Mapping[str, object]) -> tuple[str, tuple[Passage, ...]]:
        value = self._value(fields, "knowledge")
        where = _named("knowledge", self.columns["knowledge"])
        if value is None:
            return "", ()
        if is_chat(value):  # the knowledge is the tool results before the response
            turns = turns_of(value, where)
            given = [passage for turn in turns[:response_at(turns)]
                     if turn.role == "tool" and turn.text.strip()
                     for passage in _by_tool(turn.text)]
        else:
            given = passages_of(value, where)
            if isinstance(value, str) and given == [(value, None)]:  # one text is not a list
                return self._checked(value, where), ()
        text, passages = joined(given)
        return self._checked(text, where), passages

    def _history(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        column = self.columns["history"]
        value = value_of(fields, column) if column else None
        if column is None or missing(value):
            return ()
        where = _named("history", column)
        turns = turns_of(value, where)
        if is_chat(value):
            place = response_at(turns)
            if self.columns["response"] == column:
                turns = turns[:place]
            elif place is not None and place == len(turns) - 1 and (
                    column.strip().lower() not in _BEFORE
                    or turns[place].text == value_of(fields, self.columns["response"] or "")):
                turns = turns[:-1]  # removes the response, or the turn that the response replaces
        said = [turn.text for turn in turns if turn.role not in ("system", "tool")]
        return tuple(encodable(text, where) for text in said if text.strip())

    def _other(self, fields: Mapping[str, object]) -> dict[str, Any]:
        read = {name for name in self.columns.values() if name}
        names = [name for name in fields if name not in read]
        values = {name: kept(value_of(fields, name)) for name in (*names, *self.group_by)}
        return {name: value for name, value in values.items() if value is not None}

    def _value(self, fields: Mapping[str, object], field: str) -> object | None:
        """The value of the response or knowledge. ``None`` if the row lacks it and may do so."""
        column = self.columns[field]
        value = value_of(fields, column) if column else None
        blank = value is None or (isinstance(value, str) and is_blank(value))
        if blank and not self.needs[field]:
            return None
        if value is None and column not in fields:
            raise InputError(f"the {field} is missing: the row has no field {column!r}")
        return "" if missing(value) else value

    def _checked(self, text: str, where: str) -> str:
        encodable(text, where)
        if not self.blank and is_blank(text):
            problem = "has no visible character" if text.strip() else "is empty"
            raise InputError(f"{where} {problem}")
        return text


def _by_tool(text: str) -> list[tuple[str | None, str | None]]:
    try:
        return passages_of(text, "")
    except InputError:  # JSON of another form than documents
        return [(text, None)]


_BEFORE = ("history", "chat_history")
"""Columns with the turns before the response. In others, the last turn may be the response."""


def joined(passages: Sequence[tuple[str | None, str | None]]) -> tuple[str, tuple[Passage, ...]]:
    """Joins passages, given as (text, id), into one text, and says where each is in it.

    A passage without a text counts too, so that the others keep their numbers.

    >>> joined([("Rome.", "a"), (None, None), ("Oslo.", None)])[0]
    'Rome.\\nOslo.'
    """
    text, places, there = "", [], False
    for passage, id_ in passages:
        if passage is not None:
            text += ("\n" if there else "") + passage
            there = True
        places.append(Passage(len(text) - len(passage or ""), len(text), id_))
    return text, tuple(places)


def no_label(value: object) -> bool:
    return missing(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan"))


def _label(fields: Mapping[str, object], column: str | None) -> bool | None:
    value = value_of(fields, column) if column else None
    return None if no_label(value) else as_label(value)


def _id(fields: Mapping[str, object], column: str | None, index: int) -> str | None:
    """``None`` if the file has no ids. A row without its id gets "(row 3)", because a plain 3 could
    be another row's id."""
    value = value_of(fields, column) if column else None
    if missing(value) or value == "":
        return f"(row {index + 1})" if column else None
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _named(field: str, column: str | None) -> str:
    return f"the {field} (field {column!r})"
