"""Reads knowledge pools (sets of snippets) from files and from lists of passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.knowledge.dstc import knowledge_of
from q2_metric.knowledge.types import Pool, Snippet

FIELDS: Mapping[str, tuple[str, ...]] = {
    "answer": ("answer", "body", "text", "passage"),
    "question": ("question", "title"),
    "domain": ("domain",),
    "entity_id": ("entity_id",),
    "entity_name": ("entity_name", "name", "topic"),
    "doc_id": ("doc_id", "id"),
}
"""The names that each field can have in a file; the first that occurs is used."""


def passages(texts: Sequence[str]) -> Pool:
    """Creates a knowledge pool from plain passages. The doc id of a passage is its number, from 0.

    Raises:
        InputError: there are no passages, or one is blank.
    """
    return Pool([Snippet("", "", None, str(i), "", text) for i, text in enumerate(texts)])


def read_pool(path: str | Path) -> Pool:
    """Reads a ``knowledge.json`` of DSTC9 or a list of passages (JSON, or JSON Lines).

    A passage is a string, or an object with the fields of :data:`FIELDS`; the answer is required.

    Raises:
        InputError: the file is malformed or has no snippets, or a snippet has no answer; the
            message names the file or snippet.
    """
    path = Path(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        from q2_metric.rows.formats import read_fields

        items: Any = [dict(fields) for _, fields in read_fields(path)]
    else:
        items = read_json(path)
    if not isinstance(items, list):
        return knowledge_of(items, path)
    return Pool([_snippet(item, i, str(path)) for i, item in enumerate(items)], str(path))


def _snippet(item: Any, place: int, source: str) -> Snippet:
    if isinstance(item, str):
        item = {"answer": item}
    if not isinstance(item, dict):
        raise InputError(f"{source}: snippet {place} is neither a text nor an object")
    texts: dict[str, str] = {}
    for field, names in FIELDS.items():
        value = next((item[name] for name in names if item.get(name) is not None), "")
        if not isinstance(value, (str, int)):
            raise InputError(f"{source}: snippet {place} has a {field} that is not a text")
        texts[field] = str(value)
    if not texts["answer"].strip():
        raise InputError(f"{source}: snippet {place} has no answer (body)")
    return Snippet(
        texts["domain"],
        texts["entity_id"] or texts["entity_name"],
        texts["entity_name"] or None,
        texts["doc_id"] or str(place),
        texts["question"],
        texts["answer"],
    )
