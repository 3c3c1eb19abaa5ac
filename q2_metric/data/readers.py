"""Reads data sets: responses with human labels. The files are read as ``q2 score`` reads its own.

A row's number counts from 1 in errors, and from 0 in ids.
"""

import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, NoReturn

from q2_metric.data.catalogue import ENVIRONMENT, folder
from q2_metric.errors import DataError, InputError
from q2_metric.files import read_json
from q2_metric.metrics.bootstrap import SEED
from q2_metric.rows.columns import as_label
from q2_metric.rows.formats import read_fields
from q2_metric.text.given import all_text
from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example that people found ``consistent`` with the knowledge, or not. ``system`` wrote the
    response; ``None`` if the data set does not say. ``relevant`` holds the lines of the knowledge,
    from 0, that people marked as evidence."""

    example: Example
    consistent: bool
    system: str | None = None
    relevant: frozenset[int] = frozenset()


def contexts(items: Iterable[Labelled]) -> list[Example]:
    """An example for each distinct knowledge text, in order, with the id of the first. Its response
    is the first that people found consistent, or "" if there is none."""
    by_knowledge: dict[str, Example] = {}
    for item in items:
        example = item.example
        context = by_knowledge.setdefault(example.knowledge, replace(example, response=""))
        if item.consistent and not context.response:
            by_knowledge[example.knowledge] = replace(context, response=example.response)
    return list(by_knowledge.values())


class SetRow(dict[str, Any]):
    """A row, without empty (null) fields. A field that is read but not there is a DataError."""

    def __init__(self, fields: Mapping[str, Any], path: str | Path, number: int) -> None:
        super().__init__({name: fields[name] for name in fields if fields[name] is not None})
        self.path, self.number = path, number

    def __missing__(self, name: str) -> NoReturn:
        raise self.wrong(f"has no {name!r}, only {', '.join(self)}; is it the right file?")

    def wrong(self, problem: str) -> DataError:
        return DataError(f"{self.path}, row {self.number}: {problem}")

    def text(self, name: str) -> str:
        value = self[name]
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is {value!r}, not a text")
        return value

    def label(self, name: str) -> bool:
        label = as_label(self[name])
        if label is None:
            raise self.wrong(f"the label is {self[name]!r}, not 0 or 1")
        return label


def read_rows(path: str | Path, form: Literal["json", "csv"]) -> list[SetRow]:
    """Reads rows; in a csv file, values are strings."""
    try:
        return [SetRow(fields, path, number)
                for number, (_, fields) in enumerate(read_fields(path, form), start=1)]
    except InputError as error:
        raise DataError(str(error)) from error


def read_true(source: str | Path) -> list[Labelled]:
    """Reads a data set of TRUE (Honovich et al., NAACL 2022), as SCALE's authors published it.
    ``source`` is the name of a set ("q2" for "true/q2"), or a path, with a suffix or a slash, of a
    csv file with the columns ``grounding``, ``generated_text`` and ``label`` (1 = consistent)."""
    name, path = str(source), Path(source)
    if not path.suffix and len(path.parts) == 1:
        path = folder(f"true/{name}") / f"{name}.csv"
    labelled = [
        Labelled(Example(row["generated_text"], row["grounding"], id=str(row.number - 1)),
                 row.label("label"), row.get("model"))
        for row in read_rows(path, "csv")]
    if not labelled:
        raise DataError(f"{path}: has no rows")
    return labelled


SYSTEMS = ("dodeca", "memnet")
"""The systems whose responses to Wizard of Wikipedia people annotated (Q², section 3)."""


def read_annotated(path: Path | None = None) -> list[Labelled]:
    """Reads the 1,088 annotated responses to Wizard of Wikipedia: in each context that of
    dodecaDialogue, then MemNet's. (In the file, the label 1 means **in**consistent.) Order and
    texts are those of the data set ``true/q2``. The history is the message that the response
    answers, if there is one. The id has the form ``episode-round-system``."""
    return [
        Labelled(_example(row, row[f"{system}_response"], system),
                 not row.label(f"{system}_label"), system)
        for row in _annotated(path) for system in SYSTEMS]


def read_gold(path: Path | None = None) -> list[Example]:
    """Reads the 544 contexts of :func:`read_annotated`, each with the response that the human
    speaker gave. The id has the form ``episode-round``."""
    return [_example(row, row["gold"]) for row in _annotated(path)]


def _annotated(path: Path | None) -> list[SetRow]:
    return read_rows(path or folder("wow_q2") / "cross_annotation.csv", "csv")


def read_selected(*, said: Literal["response", "gold"] = "response") -> list[Labelled]:
    """Reads the 600 responses that the Q² paper selected: 150 of each system and class. With
    ``said="gold"``, reads the human responses in the same contexts."""
    directory = folder("wow_q2")
    return [
        Labelled(_example(row, row[said], system), consistent, system)
        for system in SYSTEMS for consistent in (True, False)
        for row in read_rows(
            directory / f"{system}_{'' if consistent else 'in'}consistent.csv", "csv")]


def whole_dialogues(examples: Sequence[Example], path: Path | None = None) -> list[Example]:
    """The examples with all turns before the response as history. ``path`` is the validation set of
    Wizard of Wikipedia; episode and round of an example are its dialogue and wizard's turn.
    DataError: the dialogue is not there, or does not have the example's message."""
    path = path or folder("wow") / "valid_random_split.json"
    dialogues = read_json(path)
    whole = []
    for example in examples:
        episode, number = map(int, (example.id or "").split("-")[:2])
        try:
            turns = dialogues[episode]["dialog"]
            place = 2 * number + ("Wizard" not in turns[0]["speaker"])
            history = tuple(str(turn["text"]) for turn in turns[:place])
        except (LookupError, TypeError) as error:
            raise DataError(f"{path}: has no dialogue {episode} as Wizard of Wikipedia writes it"
                            ) from error
        if [text.strip() for text in history[-1:]] != [text.strip() for text in example.history]:
            raise DataError(f"{path}: round {number} of dialogue {episode} does not answer "
                            f"{' '.join(example.history)!r}; is it the validation set?")
        whole.append(replace(example, history=history))
    return whole


def _example(row: dict[str, str], response: str, system: str | None = None) -> Example:
    return Example(
        response, row["knowledge"], (row["message"],) if row["message"].strip() else (),
        id="-".join(filter(None, (row["episode_idx"], row["round"], system))))


REFERENCE = "Original Ground Truth"
"""The ``model`` of USR's reference responses, which are not a model's."""
_QUALITY = "Uses Knowledge"


class Rated(NamedTuple):
    """``rating`` is the mean of people's ratings of "Uses Knowledge", in [0, 1]."""

    example: Example
    rating: float


def read_usr(path: str | Path, *, leave_out: Sequence[str] = (REFERENCE,)) -> list[Rated]:
    """Reads Topical-Chat responses that people rated (USR: Mehri and Eskenazi, ACL 2020,
    http://shikib.com/usr). The fact of a context is the knowledge; 8 of the 60 contexts have none,
    and are left out. The id "3-1" means the second response to the fourth context."""
    rated = []
    for row in read_rows(path, "json"):
        fact, turns = row.text("fact").strip(), row.text("context").splitlines()
        if not isinstance(row["responses"], list):
            raise row.wrong("'responses' is not a list")
        if fact in ("", "_nofact"):
            continue
        for place, response in enumerate(row["responses"]):
            text, model, rating = _rated(row, response)
            if model not in leave_out:
                history = tuple(turn for turn in turns if turn.strip())
                example = Example(text, fact, history, id=f"{row.number - 1}-{place}")
                rated.append(Rated(example, rating))
    return rated


def _rated(row: SetRow, response: Any) -> tuple[str, str, float]:
    fields = response if isinstance(response, dict) else {}
    text, given = fields.get("response"), fields.get(_QUALITY)
    ratings = given if isinstance(given, list) else [given]
    numbers = [rating for rating in ratings if isinstance(rating, (int, float))]
    if not isinstance(text, str) or not numbers or len(numbers) < len(ratings):
        raise row.wrong(f"a response has no text or no {_QUALITY!r} ratings")
    return text.strip(), str(fields.get("model", "")), sum(numbers) / len(numbers)


def read_dnli(path: str | Path, *, neutral: bool = True) -> list[Labelled]:
    """Reads Dialogue NLI (Welleck et al., ACL 2019, https://wellecks.com/dialogue_nli): the part of
    its test set whose labels people verified, a JSON array in spite of its suffix ``.jsonl``. Of a
    pair, the first sentence is the knowledge, and the second the response. Neutral pairs are not
    consistent (Q², section 5.3); if ``neutral`` is false, they are left out."""
    pairs, labels = [], ("positive", "neutral", "negative")
    for row in read_rows(path, "json"):
        if row["label"] not in labels:
            raise row.wrong(f"the label is {row['label']!r}, not one of {', '.join(labels)}")
        example = Example(row.text("sentence2"), row.text("sentence1"),
                          id=str(row.get("id") or row.number))
        if neutral or row["label"] != "neutral":
            pairs.append(Labelled(example, row["label"] == "positive"))
    return pairs


def read_screeneval(path: str | Path) -> list[Labelled]:
    """Reads ScreenEval (Lattimer et al., EMNLP 2023, https://github.com/asappresearch/scale-score):
    sentences (the responses) about long dialogues. The knowledge is the dialogue, one utterance a
    line: ``original_convo`` if there is one, or else ``convo``."""
    labelled = []
    for row in read_rows(path, "json"):
        name = "original_convo" if "original_convo" in row else "convo"
        turns = row[name].split("\n") if isinstance(row[name], str) else row[name]
        if not isinstance(turns, list) or not all_text(turns):
            raise row.wrong(f"{name!r} is not a dialogue")
        lines = [" ".join(turn.split()) for turn in turns]
        if row["agg_label"] not in (0, 1):
            raise row.wrong("'agg_label' is not true or false")
        relevant = row.get("rel_utt") or []
        if not isinstance(relevant, list) or not all(
            isinstance(place, int) and 0 <= place < len(lines) for place in relevant
        ):
            raise row.wrong(f"'rel_utt' is {relevant!r}, not a list of indices of the "
                            f"{len(lines)} utterances")
        sentence = " ".join(row.text("inferred_summary").split())
        example = Example(sentence, "\n".join(lines), id=str(row.number - 1))
        labelled.append(
            Labelled(example, bool(row["agg_label"]), relevant=frozenset(relevant)))
    return labelled


def dev_files() -> dict[str, Path]:
    """The files of the development sets, by name of the set; DataError if there are none."""
    own, suffix = os.environ.get(ENVIRONMENT), ".jsonl.gz"
    found = sorted(Path(own, "dev").glob(f"*{suffix}")) if own else ()
    if not found:
        raise DataError(f"there is no development set on this machine; put files dev/NAME{suffix} "
                        f"into the folder that {ENVIRONMENT} names")
    return {path.name.removesuffix(suffix): path for path in found}


def read_dev(path: str | Path, limit: int | None = None) -> list[Labelled]:
    """Reads a development set. A row has ``premise`` (the knowledge), ``hypothesis`` (the response)
    and ``label``; any label other than "supported" means unsupported. From a file of more than
    ``limit`` rows, the same rows are drawn at random in every call."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [SetRow(json.loads(line), path, n) for n, line in enumerate(file, start=1)]
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    rows = [Labelled(Example(line.text("hypothesis"), line.text("premise"),
                             id=str(line.number - 1)), line.text("label") == "supported")
            for line in lines]
    if limit is None or limit >= len(rows):
        return rows
    return [rows[i] for i in sorted(Random(SEED).sample(range(len(rows)), limit))]
