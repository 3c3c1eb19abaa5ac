"""Reads knowledge pools (``knowledge.json``, or passages), dialogues (``logs.json``) and labels
(``labels.json``), in the formats of two tasks:

https://github.com/alexa/alexa-with-dstc9-track1-dataset,
https://github.com/alexa/alexa-with-dstc10-track2-dataset

Raises InputError if a file is malformed; the message names the snippet, the dialogue and turn, or
the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from q2_metric.errors import InputError
from q2_metric.files import read_json
from q2_metric.knowledge.types import SYSTEM, USER, Dialogue, Key, Pool, Snippet, Turn
from q2_metric.text.given import all_text

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
    """Reads a ``knowledge.json`` of DSTC9 or a list of passages (JSON, or JSON Lines). A passage is
    a string, or an object with the fields of :data:`FIELDS`; the answer is required. InputError:
    the file is malformed or has no snippets, or a snippet has no answer."""
    path = Path(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        from q2_metric.rows.formats import read_fields

        items: Any = [dict(fields) for _, fields in read_fields(path)]
    else:
        items = read_json(path)
    named = ((str(i), item, {}) for i, item in enumerate(items)) if isinstance(items, list) else (
        _documents(items, path))
    return Pool([_snippet(item, own, name, f"{path}: snippet {name}") for name, item, own in named],
                str(path))


def _documents(value: object, path: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yields the name, the text and the ids of each snippet of a ``knowledge.json``, in order:
    {domain: {entity id: {name, docs: {doc id: {title (the question), body}}}}}."""
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
                yield f"{domain}/{entity_id}/{doc_id}", doc, {**of_entity, "doc_id": doc_id}


def _snippet(item: Any, own: Mapping[str, Any], doc_id: str, where: str) -> Snippet:
    if isinstance(item, str):
        item = {"answer": item}
    if not isinstance(item, dict):
        raise InputError(f"{where} is neither a text nor an object")
    given, texts = {**item, **own}, dict[str, str]()
    for field, names in FIELDS.items():
        value = next((given[name] for name in names if given.get(name) is not None), "")
        if not isinstance(value, (str, int)):
            raise InputError(f"{where} has a {field} that is not a text")
        texts[field] = str(value)
    return Snippet(
        texts["domain"], texts["entity_id"] or texts["entity_name"], texts["entity_name"] or None,
        texts["doc_id"] or doc_id, texts["question"], texts["answer"])


class TurnLabel(NamedTuple):
    """If ``target`` is false, the last turn needs no knowledge, and the other fields are empty."""

    target: bool
    knowledge: tuple[Key, ...] = ()
    response: str = ""


def read_logs(path: str | Path) -> list[Dialogue]:
    """Reads the dialogues of a ``logs.json``. The id of a dialogue is its number, from 0."""
    return [_dialogue(turns, f"{path}: dialogue {i}", str(i))
            for i, turns in enumerate(_read_list(path, "dialogues"))]


def read_dialogue(path: str | Path, turn: int | None = None) -> Dialogue:
    """Reads one dialogue from a JSON list of strings, or of turns as in ``logs.json``. ``turn`` is
    the number, from 0, of the last turn to read; ``None`` reads all turns."""
    turns = _read_list(path, "turns")
    if turns and isinstance(turns[0], list):
        raise InputError(f"{path}: holds several dialogues; pass it with --logs, or give a file "
                         "with one dialogue")
    dialogue = _dialogue(turns, str(path), None)
    return dialogue if turn is None else upto(dialogue, turn, str(path))


def upto(dialogue: Dialogue, turn: int, where: str) -> Dialogue:
    count = len(dialogue.turns)
    if not 0 <= turn < count:
        raise InputError(f"{where}: there is no turn {turn}; its turns are 0 to {count - 1}")
    return Dialogue(dialogue.turns[: turn + 1], dialogue.id)


def read_labels(path: str | Path) -> list[TurnLabel]:
    """Reads a ``labels.json``: the labels of the dialogues in ``logs.json``, in order."""
    return [_label(label, f"{path}: label {i}")
            for i, label in enumerate(_read_list(path, "labels"))]


def _read_list(path: str | Path, what: str) -> list[Any]:
    items = read_json(path)
    if not isinstance(items, list):
        raise InputError(f"{path}: is not a list of {what}")
    return items


class LabelledTurns(NamedTuple):
    dialogues: list[Dialogue]
    labels: list[TurnLabel]

    def at(self, places: Sequence[int]) -> LabelledTurns:
        return LabelledTurns([self.dialogues[i] for i in places], [self.labels[i] for i in places])

    def seeking(self) -> LabelledTurns:
        """The dialogues whose last turn needs knowledge; InputError if none does."""
        kept = [i for i, label in enumerate(self.labels) if label.target]
        if not kept:
            raise InputError("no labelled turn needs knowledge")
        return self.at(kept)


def read_labelled(logs: str | Path | None, labels: str | Path, pool: Pool) -> LabelledTurns:
    """Reads dialogues and their labels, whose snippets must all be in the pool. Without ``logs``,
    the dialogue of a label is its response, and labels without a response are left out."""
    read = read_labels(labels)
    for i, label in enumerate(read):
        for key in label.knowledge:
            pool.find(key, f"{labels}: label {i}")
    if logs is None:
        read = [label for label in read if label.response.strip()]
        return LabelledTurns([Dialogue.of(label.response) for label in read], read)
    dialogues = read_logs(logs)
    if len(read) != len(dialogues):
        raise InputError(f"{labels}: has {len(read)} labels for {len(dialogues)} dialogues")
    return LabelledTurns(dialogues, read)


def _dialogue(value: Any, where: str, id_: str | None) -> Dialogue:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where} has no turns")
    turns = [_turn(turn, f"{where}, turn {i}", len(value) - i) for i, turn in enumerate(value)]
    if not any(turn.text.strip() for turn in turns):
        raise InputError(f"{where} has no text")
    return Dialogue(tuple(turns), id_)


def _turn(value: Any, where: str, from_end: int) -> Turn:
    if isinstance(value, str):
        return Turn(value, USER if from_end % 2 else SYSTEM)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise InputError(f"{where} has no text")
    speaker = value.get("speaker", "")
    if speaker not in (USER, SYSTEM, ""):
        raise InputError(f"{where} has the speaker {speaker!r}; it must be 'U' or 'S'")
    nbest = value.get("nbest") or []
    hypotheses: list[Any] = [None] if not isinstance(nbest, list) else [
        item.get("hyp") if isinstance(item, dict) else item for item in nbest]
    if not all_text(hypotheses):
        raise InputError(f"{where} has an 'nbest' that is not a list of hypotheses with 'hyp'")
    others = dict.fromkeys(text for text in hypotheses if text != value["text"])
    return Turn(value["text"], speaker, tuple(others))


def _label(value: Any, where: str) -> TurnLabel:
    if not isinstance(value, dict) or not isinstance(value.get("target"), bool):
        raise InputError(f"{where} has no 'target' (true or false)")
    if not value["target"]:
        return TurnLabel(False)
    knowledge = value.get("knowledge")
    if not isinstance(knowledge, list) or not knowledge:
        raise InputError(f"{where} needs knowledge but names no snippet")
    keys: list[Key] = []
    for item in knowledge:
        match item:
            case {"domain": str() | int() as domain, "entity_id": str() | int() as entity,
                  "doc_id": str() | int() as doc}:
                keys.append((str(domain), str(entity), str(doc)))
            case _:
                raise InputError(f"{where} names a snippet without domain, entity_id or doc_id")
    response = value.get("response", "")
    if not isinstance(response, str):
        raise InputError(f"{where} has a response that is not a text")
    return TurnLabel(True, tuple(keys), response)
