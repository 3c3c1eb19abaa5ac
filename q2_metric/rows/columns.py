"""Finds which column of a file holds the response, the knowledge and the other fields.

The user may name a column. Otherwise the column is recognised by its name (:data:`ALIASES`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from q2_metric.errors import InputError
from q2_metric.rows.record import Record, value_of
from q2_metric.rows.shapes import is_chat, turns_of, unfolded

ALIASES: Mapping[str, tuple[str, ...]] = {
    "response": (
        "response",
        "prediction",
        "generated_text",
        "generated",
        "output",
        "answer",
        "hypothesis",
        "candidate",
        "actual_output",
        "generated_answer",
        "model_answer",
        "model_output",
        "completion",
        "claim",
        "summary",
        "result",
    ),
    "knowledge": (
        "knowledge",
        "evidence",
        "documents",
        "document",
        "passages",
        "passage",
        "grounding",
        "retrieved_contexts",
        "retrieved_context",
        "retrieval_context",
        "retrieved_documents",
        "retrieved_docs",
        "source_documents",
        "source_nodes",
        "nodes",
        "chunks",
        "docs",
        # In data sets of dialogues, "context" often holds the earlier turns.
        "contexts",
        "context",
        "premise",
        "sources",
        "source",
        # Last: in a file that also has one of the columns above, this is a gold response.
        "references",
        "reference",
    ),
    "history": ("history", "chat_history", "dialogue", "dialog", "message", "messages",
                "conversation", "conversations", "turns"),
    "question": ("question", "query", "user_input", "user_query", "input"),
    "id": ("id", "idx", "example_id", "row_id", "uid"),
    "label": ("label", "consistent", "agg_label", "gold", "human"),
}
"""By field, the column names that are recognised. If a file has several of them, the first in this
list is used. Upper and lower case are the same."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The column from which each field of an example is read.

    ``None`` means that the column is recognised by its name (:data:`ALIASES`). ``history=""`` means
    that no history is read. ``knowledge=""`` means that no knowledge is read, because it is chosen
    later. The name ``outputs.answer`` stands for the key "answer" of an object in the column
    "outputs".
    """

    response: str | None = None
    knowledge: str | None = None
    history: str | None = None
    id: str | None = None
    label: str | None = None
    question: str | None = None

    def option(self, field: str) -> str:
        """The option with which the user names the column of a field, for error messages. A
        framework with other options overrides this method."""
        return f"--{field} (in Python: Columns({field}=...))"


LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "consistent", "supported"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "inconsistent", "not_supported"), False),
}
"""Human labels that are understood, in lower case. True means that the response is supported."""


def as_label(value: object) -> bool | None:
    """Reads a human label such as 1, "no" or "supported".

    Returns true if it says that the response is supported, and false if it says that the response
    is not. ``None`` if the label is unknown.
    """
    return LABELS.get(str(value).strip().lower())


def resolve(
    columns: Columns,
    records: Sequence[Record],
    name: str,
    aliases: Mapping[str, Sequence[str]],
    needed: Sequence[str],
) -> dict[str, str | None]:
    """Finds the column of each field among the columns of the first rows.

    Args:
        columns: the columns that the user named.
        records: the first rows of the file.
        name: name of the file in error messages.
        aliases: by field, the column names that are recognised.
        needed: the fields that must have a column.

    Returns:
        The name of the column by field. ``None`` if no column was found for the field.

    Raises:
        InputError: the file lacks a column that the user named, or a needed field has no column.
    """
    present = list(dict.fromkeys(key for record in records for key in record.fields))
    if not present:  # no row can be read: each row reports its own problem
        return {field: getattr(columns, field) or names[0] for field, names in aliases.items()}
    by_lower = {key.strip().lower(): key for key in reversed(present)}
    resolved: dict[str, str | None] = {}
    for field, names in aliases.items():
        asked: str | None = getattr(columns, field)
        if asked is None:
            resolved[field] = next((by_lower[a] for a in names if a in by_lower), None)
        else:
            if asked:
                check_column(asked, records, f"{name}: ", f" for the {field}")
            resolved[field] = asked or None
    _from_chat(resolved, columns, records)
    for field in needed:
        if resolved[field] is None:
            raise InputError(
                f"{name}: no column looks like the {field}; the columns are {_listed(present)}; "
                f"{_perhaps(present, aliases[field])}name it with {columns.option(field)}"
            )
    return resolved


def _perhaps(keys: Sequence[str], names: Sequence[str]) -> str:
    """A question such as "is it 'Answer'? " that suggests a column for an error message.

    "" if no column in ``keys`` has a name similar to one of ``names``.
    """
    for key in keys:
        lower = key.strip().lower()
        if any(name in re.split(r"[\W_]+", lower) for name in names) or difflib.get_close_matches(
                lower, names, n=1, cutoff=0.8):
            return f"is it {key!r}? "
    return ""


def check_column(column: str, records: Sequence[Record], name: str, purpose: str = "") -> None:
    """Checks that at least one of the first rows has the column.

    Args:
        column: name of the column.
        records: the first rows of the file.
        name: begins the error message, such as "answers.csv: ".
        purpose: follows the column in the error message, such as " for --group-by".

    Raises:
        InputError: no row has the column.
    """
    names = list(dict.fromkeys(key for record in records for key in record.fields))
    if names and column not in names and all(
            value_of(record.fields, column) is None for record in records):
        raise InputError(
            f"{name}there is no column {column!r}{purpose}; the columns are {_listed(names)}")


_CHATS = ("messages", "conversation", "conversations", "user_input", "dialogue", "dialog", "turns",
          "message", "chat")
"""Names of columns that may hold whole dialogues. If a file has no column of responses, the last
turn of the dialogue is the response."""


def _from_chat(resolved: dict[str, str | None], columns: Columns,
               records: Sequence[Record]) -> None:
    """Uses a column of whole chats for those fields for which no column was found.

    The response and the history are then read from the chat, and so is the knowledge if the chat
    contains results of tools. ``resolved``, the column by field, is changed in place.
    """
    named = {key.strip().lower(): key for record in records for key in record.fields}
    chats = (named[name] for name in _CHATS if name in named)
    chat = next((key for key in chats
                 if any(is_chat(record.fields.get(key)) for record in records)), None)
    if chat is None:
        return
    if resolved.get("question") == chat and columns.question is None:
        resolved["question"] = None
    for field in ("response", "history"):
        if resolved.get(field) is None and getattr(columns, field) is None:
            resolved[field] = chat
    if resolved.get("knowledge") is None and columns.knowledge is None and any(
            turn.role == "tool" for record in records if is_chat(record.fields.get(chat))
            for turn in turns_of(record.fields[chat], "")):
        resolved["knowledge"] = chat


def unsure(resolved: Mapping[str, str | None], columns: Columns, present: Sequence[str],
           aliases: Mapping[str, Sequence[str]]) -> str:
    """A warning if several columns of the file could hold the knowledge; "" if only one could.

    Args:
        resolved: the column that is read for each field (:func:`resolve`).
        columns: the columns that the user named. If the user named the column of the knowledge,
            there is no warning.
        present: the columns of the file.
        aliases: by field, the column names that are recognised. If the knowledge is read from the
            column with the first of these names, there is no warning.
    """
    read, others = resolved["knowledge"], []
    if read and columns.knowledge is None and read.strip().lower() != aliases["knowledge"][0]:
        # Beside retrieved texts, "reference" is a gold response, and "source" is a name.
        passed = _NO_RIVALS if read.strip().lower() in _RETRIEVED else ()
        others = [name for name in present if name not in resolved.values()
                  and name.strip().lower() in aliases["knowledge"]
                  and name.strip().lower() not in passed]
    return "" if not others else (
        f"the knowledge is read from {read!r}, not from {_listed(others)}; --knowledge names "
        "the column (in Python: Columns(knowledge=...))")


_RETRIEVED = ("documents", "passages", "retrieved_contexts", "retrieved_context", "contexts",
              "retrieval_context", "retrieved_documents", "retrieved_docs", "source_documents",
              "source_nodes", "nodes", "chunks", "docs")
_NO_RIVALS = ("reference", "references", "source", "sources")


def described(resolved: Mapping[str, str | None], records: Sequence[Record]) -> str:
    """A message that says from which column each field is read, such as "read response from
    'answer', knowledge from 'docs'; kept: 'model'".

    "" if each column has the name of its field and the file has no other columns.
    """
    words = [f"{field} from {column!r}{_form(field, column, records)}"
             for field, column in resolved.items() if column]
    others = [repr(key) for key in dict.fromkeys(key for record in records for key in record.fields)
              if key not in resolved.values()]
    plain = all(column in (None, field) for field, column in resolved.items())
    if plain and not others and all(" (" not in one for one in words):
        return ""
    rest = f"; kept: {_listed(others, quoted=True)}" if others else ""
    return f"read {', '.join(words)}{rest}"


def _form(field: str, column: str, records: Sequence[Record]) -> str:
    """Words for a message that say how a field is read from its column; "" for plain texts.

    For a column of chats they name the part of the chat, such as " (the turns before the
    response)". For lists of texts as knowledge they are " (passages)".
    """
    values = [value_of(record.fields, column) for record in records]
    if any(map(is_chat, values)):
        return {"response": " (the last turn of the assistant)",
                "knowledge": " (what tools returned)",
                "history": " (the turns before the response)"}.get(field, "")
    if field == "knowledge" and any(isinstance(unfolded(one), (list, dict)) for one in values):
        return " (passages)"
    return ""


def _listed(names: Sequence[str], *, quoted: bool = False) -> str:
    shown = ", ".join(name if quoted else repr(name) for name in names[:20])
    return shown + (", …" if len(names) > 20 else "")
