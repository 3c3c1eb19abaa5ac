"""Finds which column of a file holds the response, the knowledge and the other fields."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from q2_metric.errors import InputError
from q2_metric.rows.record import Record, is_chat, looks_folded, turns_of, unfolded, value_of
from q2_metric.text.given import missing

ALIASES: Mapping[str, tuple[str, ...]] = {
    "response": ("response", "prediction", "generated_text", "generated", "output", "answer",
                 "hypothesis", "candidate", "actual_output", "generated_answer", "model_answer",
                 "model_output", "completion", "claim", "summary", "result"),
    # In data sets of dialogues, "context" often holds the earlier turns. Beside one of the other
    # columns, "references" and "reference" hold a gold response: they come last.
    "knowledge": ("knowledge", "evidence", "documents", "document", "passages", "passage",
                  "grounding", "retrieved_contexts", "retrieved_context", "retrieval_context",
                  "retrieved_documents", "retrieved_docs", "source_documents", "source_nodes",
                  "nodes", "chunks", "docs", "contexts", "context", "premise", "sources", "source",
                  "references", "reference"),
    "history": ("history", "chat_history", "dialogue", "dialog", "message", "messages",
                "conversation", "conversations", "turns"),
    "question": ("question", "query", "user_input", "user_query", "input"),
    "id": ("id", "idx", "example_id", "row_id", "uid"),
    "label": ("label", "consistent", "agg_label", "gold", "human"),
}
"""By field, the recognised names of columns, in any case. The first that a file has is used."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The column from which each field of an example is read; ``None``: recognised by its name.
    ``history=""`` means that no history is read, and ``knowledge=""`` that the knowledge is chosen
    later. ``outputs.answer`` is the key "answer" of an object in the column "outputs"."""

    response: str | None = None
    knowledge: str | None = None
    history: str | None = None
    id: str | None = None
    label: str | None = None
    question: str | None = None

    def option(self, field: str) -> str:
        """The option that names a field's column, for error messages; frameworks override this."""
        return f"--{field} (in Python: Columns({field}=...))"


LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "consistent", "supported"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "inconsistent", "not_supported"), False),
}
"""Human labels that are understood, in lower case. True: the response is supported."""


def as_label(value: object) -> bool | None:
    """Reads a human label; true if the response is supported, ``None`` if the label is unknown."""
    return LABELS.get(str(value).strip().lower())


def resolve(
    columns: Columns, records: Sequence[Record], name: str,
    aliases: Mapping[str, Sequence[str]], needed: Sequence[str],
) -> tuple[dict[str, str | None], list[str]]:
    """Finds the column of each field (``None``: there is none) among those of the first rows. Also
    returns warnings.

    ``needed`` fields must have a column. ``name`` stands for the file in error messages.
    InputError: the file lacks a column that the user named, a needed field has no column, or the
    column that the user named for the label has no labels."""
    present = names_in(records)
    if not present:  # no row can be read: each row reports its own problem
        return {field: getattr(columns, field) or names[0] for field, names in aliases.items()}, []
    resolved: dict[str, str | None] = {}
    for field, names in aliases.items():
        asked: str | None = getattr(columns, field)
        if asked:
            check_column(asked, records, name, f"the {field}")
        resolved[field] = next(called(present, names), None) if asked is None else asked or None
    if columns.response and columns.response == columns.knowledge:
        raise InputError(f"{name}: response and knowledge are the same column {columns.response!r}")
    _from_chat(resolved, columns, records)
    for field in needed:
        if resolved[field] is None:
            raise InputError(
                f"{name}: no column looks like the {field}; the columns are {_listed(present)}; "
                f"{_perhaps(present, aliases[field])}name it with {columns.option(field)}")
    return resolved, list(_doubts(resolved, columns, records))


def called(columns: Sequence[str], names: Iterable[str]) -> Iterator[str]:
    """The columns with one of these names, in the order of the names. ``retrievalContext`` counts
    as ``retrieval_context``."""
    known_as = {key.strip().lower().replace("_", ""): key for key in reversed(columns)}
    return (known_as[key] for name in names if (key := name.replace("_", "")) in known_as)


def names_in(records: Iterable[Record]) -> list[str]:
    """The names of all columns, in order."""
    return list(dict.fromkeys(key for record in records for key in record.fields))


def _perhaps(keys: Sequence[str], names: Sequence[str]) -> str:
    for key in keys:
        lower = key.strip().lower()
        if any(name in re.split(r"[\W_]+", lower) for name in names) or difflib.get_close_matches(
                lower, names, n=1, cutoff=0.8):
            return f"is it {key!r}? "
    return ""


def check_column(column: str, records: Sequence[Record], name: str, purpose: str) -> None:
    """Raises InputError if none of the first rows has the column. ``name`` stands for the file in
    its message, and ``purpose`` says what the column is for ("the response")."""
    names = names_in(records)
    if names and column not in names and all(
            value_of(record.fields, column) is None for record in records):
        raise InputError(f"{name}: there is no column {column!r} for {purpose}; the columns are "
                         f"{_listed(names)}")


_CHATS = ("messages", "conversation", "conversations", "user_input", "dialogue", "dialog", "turns",
          "message", "chat")
"""May hold dialogues, whose last turn is the response if no column has responses."""


def _from_chat(resolved: dict[str, str | None], columns: Columns,
               records: Sequence[Record]) -> None:
    """Uses a column of whole chats for those fields for which no column was found."""
    chat = next((key for key in called(names_in(records), _CHATS)
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


def _doubts(
    resolved: dict[str, str | None], columns: Columns, records: Sequence[Record],
) -> Iterator[str]:
    """Yields warnings. Removes the label's column from ``resolved`` if it holds no labels."""
    knowledge = resolved["knowledge"]
    if knowledge and any(looks_folded(value_of(one.fields, knowledge)) for one in records):
        yield (f"the knowledge (column {knowledge!r}) looks like a list, but it is neither JSON "
               "nor a Python list of texts; it is read as one text")
    label, named = resolved["label"], columns.label is not None
    if label is None:
        return
    values = [value for one in records if not _no_label(value := value_of(one.fields, label))]
    strange = [str(value).strip() for value in values if as_label(value) is None]
    if named and values and len(strange) == len(values):
        raise InputError(f"the column {label!r} has no human labels: it contains "
                         f"{strange[0][:40]!r}; labels are {', '.join(LABELS)}")
    if not named and 2 * len(strange) >= len(values):
        resolved["label"] = None
    elif not named and any(map(_NUMBER.fullmatch, strange)):  # ratings, some of them 0 or 1
        resolved["label"] = None
        yield (f"the column {label!r} is not read as the human label: it contains "
               f"{strange[0][:40]!r} and not only 0 and 1; --label names a column")
    elif strange:
        yield (f"the label {strange[0][:40]!r} (column {label!r}) is not 0 or 1; such rows have "
               "no label")


_NUMBER = re.compile(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?", re.IGNORECASE)


def _no_label(value: object) -> bool:
    return missing(value) or (isinstance(value, str) and value.strip().lower() in ("", "nan"))


def described(resolved: Mapping[str, str | None], records: Sequence[Record], turns: str) -> str:
    """A line such as "read response from 'answer'; kept: 'model'". It is empty if each column has
    the name of its field and the file has no other columns."""
    words = [f"{field} from {column!r}{_form(field, column, records, turns)}"
             for field, column in resolved.items() if column]
    others = [key for key in names_in(records) if key not in resolved.values()]
    if not others and words == [f"{field} from {field!r}" for field in resolved if resolved[field]]:
        return ""
    rest = f"; kept: {_listed(others)}" if others else ""
    return f"read {', '.join(words)}{rest}"


def _form(field: str, column: str, records: Sequence[Record], turns: str) -> str:
    values = [value_of(record.fields, column) for record in records]
    if any(map(is_chat, values)):
        which = "the last" if turns == "last" else "each"
        return {"response": f" ({which} turn of the assistant)",
                "knowledge": " (what tools returned)",
                "history": " (the turns before the response)"}.get(field, "")
    if field == "knowledge" and any(isinstance(unfolded(one), (list, dict)) for one in values):
        return " (passages)"
    return ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
