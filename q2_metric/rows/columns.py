"""Which column of a file holds which field: the usual names, and those that were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from q2_metric.errors import InputError
from q2_metric.rows.record import Record

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
        "claim",
        "summary",
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
        # In dialogues this often means the earlier turns.
        "contexts",
        "context",
        "premise",
        "source",
        # Last: beside any of these it is a gold response.
        "references",
        "reference",
    ),
    "history": ("history", "dialogue", "dialog", "message", "messages", "conversation", "turns"),
    "id": ("id", "idx", "example_id", "row_id", "uid"),
    "label": ("label", "consistent", "agg_label", "gold", "human"),
}
"""Column names that are recognised, the first that is there wins; case does not matter."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns to read; ``None`` for the usual ones (:data:`ALIASES`).

    ``history=""`` reads no history; ``knowledge=""`` no knowledge: it is then chosen later.
    """

    response: str | None = None
    knowledge: str | None = None
    history: str | None = None
    id: str | None = None
    label: str | None = None


LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "consistent", "supported"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "inconsistent", "not_supported"), False),
}
"""People's labels that are understood, in lower case."""


def as_label(value: object) -> bool | None:
    """Whether a label says supported; ``None`` for one that is not understood."""
    return LABELS.get(str(value).strip().lower())


def resolve(
    columns: Columns,
    records: Sequence[Record],
    name: str,
    aliases: Mapping[str, Sequence[str]],
    needed: Sequence[str],
) -> dict[str, str | None]:
    """The column of each field, out of those that the first rows have."""
    found = list(dict.fromkeys(key for record in records for key in record.fields))
    if not found:  # nothing readable yet: each row says for itself what is wrong
        return {field: getattr(columns, field) or names[0] for field, names in aliases.items()}
    by_lower = {key.strip().lower(): key for key in reversed(found)}
    resolved: dict[str, str | None] = {}
    for field, names in aliases.items():
        asked: str | None = getattr(columns, field)
        if asked is None:
            resolved[field] = next((by_lower[a] for a in names if a in by_lower), None)
        elif asked in found or not asked:
            resolved[field] = asked or None
        else:
            raise InputError(
                f"{name}: there is no column {asked!r} for the {field}; "
                f"the columns are {_listed(found)}"
            )
    for field in needed:
        if resolved[field] is None:
            raise InputError(
                f"{name}: no column looks like the {field}; the columns are {_listed(found)}; "
                f"name it with --{field} (in Python: Columns({field}=...))"
            )
    return resolved


def unsure(resolved: Mapping[str, str | None], columns: Columns, found: Sequence[str],
           aliases: Mapping[str, Sequence[str]]) -> str:
    """What to say where another column could have been meant too; "" where none could.

    Args:
        resolved: of :func:`resolve`.
        columns: that were asked for: what is named is sure.
        found: the columns of the file.
        aliases: the usual names of each field's column; the first of them is sure.
    """
    read, others = resolved["knowledge"], []
    if read and columns.knowledge is None and read.strip().lower() != aliases["knowledge"][0]:
        others = [name for name in found
                  if name != read and name.strip().lower() in aliases["knowledge"]]
    return "" if not others else (
        f"the knowledge is read from {read!r}, not from {_listed(others)}; --knowledge names "
        "the column (in Python: Columns(knowledge=...))")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown + (", …" if len(names) > 20 else "")
