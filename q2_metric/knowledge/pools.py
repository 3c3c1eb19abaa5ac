"""Reads knowledge pools (sets of snippets) from files and from lists of passages."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError
from q2_metric.files import read_json
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
    InputError: there are no passages, or one is blank."""
    return Pool([Snippet("", "", None, str(i), "", text) for i, text in enumerate(texts)])


def read_pool(path: str | Path) -> Pool:
    """Reads a ``knowledge.json`` of DSTC9 or a list of passages (JSON, or JSON Lines).

    A passage is a string, or an object with the fields of :data:`FIELDS`; the answer is required.
    InputError: the file is malformed or has no snippets, or a snippet has no answer; the message
    names the file or snippet."""
    path = Path(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        from q2_metric.rows.formats import read_fields

        items: Any = [dict(fields) for _, fields in read_fields(path)]
    else:
        items = read_json(path)
    named = ((str(i), item) for i, item in enumerate(items)) if isinstance(items, list) else (
        _documents(items, path))
    return Pool([_snippet(item, name, f"{path}: snippet {name}") for name, item in named],
                str(path))


def _documents(value: object, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name and the fields of each snippet of a ``knowledge.json``, in the order of the
    file: {domain: {entity id: {name, docs: {doc id: {title (the question), body}}}}}."""
    if not isinstance(value, dict):
        raise InputError(f"{path}: is not an object of domains; is it a knowledge file?")
    for domain, entities in value.items():
        if not isinstance(entities, dict):
            raise InputError(f"{path}: domain {domain!r} is not an object of entities")
        for entity_id, entity in entities.items():
            if not isinstance(entity, dict) or not isinstance(entity.get("docs"), dict):
                raise InputError(f"{path}: entity {domain}/{entity_id} has no 'docs'")
            of_entity = {"domain": domain, "entity_id": entity_id, "name": entity.get("name")}
            for doc_id, doc in entity["docs"].items():
                name = f"{domain}/{entity_id}/{doc_id}"
                if not isinstance(doc, dict):
                    raise InputError(f"{path}: snippet {name} is not an object with title and body")
                yield name, {**doc, **of_entity, "doc_id": doc_id}


def _snippet(item: Any, doc_id: str, where: str) -> Snippet:
    """``doc_id`` is for a passage that has none."""
    if isinstance(item, str):
        item = {"answer": item}
    if not isinstance(item, dict):
        raise InputError(f"{where} is neither a text nor an object")
    texts: dict[str, str] = {}
    for field, names in FIELDS.items():
        value = next((item[name] for name in names if item.get(name) is not None), "")
        if not isinstance(value, (str, int)):
            raise InputError(f"{where} has a {field} that is not a text")
        texts[field] = str(value)
    return Snippet(
        texts["domain"], texts["entity_id"] or texts["entity_name"], texts["entity_name"] or None,
        texts["doc_id"] or doc_id, texts["question"], texts["answer"])
