"""Converts rows as they were read from a file (records) to examples that metrics can score.

A record that cannot be scored becomes a :class:`BadRow`, which says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError
from q2_metric.rows.columns import as_label
from q2_metric.rows.record import Record, value_of
from q2_metric.rows.shapes import DialogueTurn, is_chat, kept, passages_of, response_at, turns_of
from q2_metric.text.given import encodable, is_blank, kind, missing
from q2_metric.types import Example, Passage


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored.

    ``index`` is the row's index in the file, from 0. ``id`` is its id, if it has one. ``error``
    says where the row is and why it cannot be scored.
    """

    index: int
    id: str | None
    error: str


Row = Example | BadRow


@dataclass(frozen=True, slots=True)
class ExampleReader:
    """Converts rows as they were read from a file to examples, or to bad rows.

    Attributes:
        columns: the column of each field, such as "response"; ``None`` for a field without a
            column.
        needs: for the fields "response" and "knowledge", whether each row must contain the field.
        blank: whether a row with a blank response or blank knowledge is valid.
        named_label: whether the user named the column of the human label. If so, an unknown label
            is an error. If not, the column was recognised by its name, and an unknown label is
            ignored.
        group_by: columns that are also copied to the example's ``other``, even if a field is read
            from them.
    """

    columns: Mapping[str, str | None]
    needs: Mapping[str, bool]
    blank: bool
    named_label: bool
    group_by: Sequence[str] = ()

    def row(self, index: int, record: Record) -> Row:
        """Converts a record to an example, or to a bad row if it cannot be scored.

        ``index`` is the index of the row in the file, from 0.
        """
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
            _label(fields, self.columns.get("label"), needed=self.named_label),
            question=encodable(asked, _named("question", question))
            if isinstance(asked, str) and not is_blank(asked) else None,
            passages=passages, other=self._other(fields),
        )

    def _response(self, fields: Mapping[str, object]) -> str:
        column = self.columns["response"]
        if not self.needs["response"] and _lacks(fields, column):
            return ""
        value = _there(fields, "response", column)
        if is_chat(value):
            turns = self._turns(value, "response", column)
            place = response_at(turns)
            if place is None:
                raise InputError(
                    f"{_named('response', column)} is a chat without a turn of the assistant")
            value = turns[place].text
        elif not isinstance(value, str):
            raise InputError(
                f"{_named('response', column)} is {kind(value)}, not a string")
        return self._checked(value, "response", column)

    def _knowledge(self, fields: Mapping[str, object]) -> tuple[str, tuple[Passage, ...]]:
        column = self.columns["knowledge"]
        if not self.needs["knowledge"] and _lacks(fields, column):
            return "", ()
        value = _there(fields, "knowledge", column)
        where = _named("knowledge", column)
        if is_chat(value):  # the knowledge is the tool results before the response
            turns = self._turns(value, "knowledge", column)
            before = turns[:response_at(turns)]
            given = [passage for turn in before if turn.role == "tool"
                     for passage in passages_of(turn.text, where)]
        else:
            given = passages_of(value, where)
            if isinstance(value, str) and given == [(value, None)]:  # one text is not a list
                return self._checked(value, "knowledge", column), ()
        text, passages = joined(given)
        return self._checked(text, "knowledge", column), passages

    def _history(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        column = self.columns["history"]
        value = value_of(fields, column) if column else None
        if column is None or missing(value):
            return ()
        turns = self._turns(value, "history", column)
        if is_chat(value):
            place = response_at(turns)
            own = self.columns["response"] == column
            if own:
                turns = turns[:place]
            elif place is not None and place == len(turns) - 1 and (
                    column.strip().lower() not in _BEFORE
                    or turns[place].text == value_of(fields, self.columns["response"] or "")):
                turns = turns[:-1]  # removes the response, or the turn that the response replaces
        said = [turn.text for turn in turns if turn.role not in ("system", "tool")]
        return tuple(encodable(text, _named("history", column)) for text in said if text.strip())

    def _other(self, fields: Mapping[str, object]) -> dict[str, Any]:
        """The row's values in the columns from which no field is read, by name of the column.

        The columns to group by are included in any case.
        """
        read = {name for name in self.columns.values() if name}
        names = [name for name in fields if name not in read]
        values = {name: kept(value_of(fields, name)) for name in (*names, *self.group_by)}
        return {name: value for name, value in values.items() if value is not None}

    def _turns(self, value: object, field: str, column: str | None) -> list[DialogueTurn]:
        return turns_of(value, _named(field, column))

    def _checked(self, text: str, field: str, column: str | None) -> str:
        text = encodable(text, _named(field, column))
        if not self.blank and is_blank(text):
            problem = "has no visible character" if text.strip() else "is empty"
            raise InputError(f"{_named(field, column)} {problem}")
        return text


_BEFORE = ("history", "chat_history")
"""Names of columns with the turns before the response. In other columns of chats, the response may
be the last turn."""


def joined(passages: Sequence[tuple[str | None, str | None]]) -> tuple[str, tuple[Passage, ...]]:
    """Joins passages into one text, separated by line breaks.

    Args:
        passages: (text, id) of each passage. A passage without a text still counts, so that the
            numbers of the other passages do not change.

    Returns:
        The joined text; and for each passage its start and end in this text (character offsets),
            and its id.

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
    """Whether a cell contains no label. An empty text and the word "nan" count as no label."""
    return missing(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan"))


def _label(fields: Mapping[str, object], column: str | None, *, needed: bool) -> bool | None:
    """The human label of a row: true if the response is supported, ``None`` without a label.

    If ``needed`` is true, an unknown label raises an error; otherwise it counts as no label.
    """
    value = value_of(fields, column) if column else None
    if no_label(value):
        return None
    label = as_label(value)
    if label is None and needed:
        raise InputError(f"the label (field {column!r}) is {str(value)[:40]!r}, not 0 or 1")
    return label


def _id(fields: Mapping[str, object], column: str | None, index: int) -> str | None:
    """The id of a row. ``None`` if the file has no column of ids.

    If the file has ids and this row has none, its id becomes "(row 3)", because a plain 3 could be
    the id of another row.
    """
    value = value_of(fields, column) if column else None
    if missing(value) or value == "":
        return f"(row {index + 1})" if column else None
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _there(fields: Mapping[str, object], field: str, column: str | None) -> object:
    """The value of a required field, such as "response", in a row; "" if the value is null.

    Args:
        fields: the row, by column.
        field: name of the field, for the error.
        column: the column of the field.

    Raises:
        InputError: the row has no such column.
    """
    if column is None or (column not in fields and value_of(fields, column) is None):
        raise InputError(f"the {field} is missing: the row has no field {column!r}")
    value = value_of(fields, column)
    return "" if missing(value) else value


def _lacks(fields: Mapping[str, object], column: str | None) -> bool:
    value = value_of(fields, column) if column else None
    return value is None or (isinstance(value, str) and is_blank(value))


def _named(field: str, column: str | None) -> str:
    return f"the {field} (field {column!r})"
