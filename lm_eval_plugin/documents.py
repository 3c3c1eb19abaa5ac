"""The rows of the tasks, as lm-evaluation-harness asks for them (``custom_dataset``).

Each function takes the metadata of the run (most of it is for others) and gives a split
``test`` whose rows have the columns that ``q2 score`` reads: ``id``, ``knowledge``,
``history`` (oldest turn first), ``response``. The response is the gold one, or "" where
there is none; in :func:`detect` it is the one to judge, with ``consistent`` beside it.

All raise :class:`~q2_metric.errors.DataError` where the set is neither here nor can be
downloaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.data.catalogue import CATALOGUE
from q2_metric.data.download import download, folder, state
from q2_metric.data.labelled import contexts
from q2_metric.data.true import read_true
from q2_metric.data.wow import read_annotated, read_gold
from q2_metric.errors import InputError
from q2_metric.rows.columns import ALIASES, Columns
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

if TYPE_CHECKING:
    from datasets import Dataset

_LOG = logging.getLogger(__name__)

LONG = 250
"""Words from which a document counts as long: two chunks and more of 200 tokens."""

CUSTOM_ALIASES = {
    **ALIASES,
    # Only names of a person's answer: a column "prediction" is another model's.
    "response": ("gold", "target", "response", "answer", "summary"),
    "history": (*ALIASES["history"], "question", "query"),
}
"""Column names that ``q2_custom`` recognises."""


def wow(**_: Any) -> dict[str, Dataset]:
    """The 544 annotated Wizard of Wikipedia contexts, with the person's response."""
    return _test_split(read_gold(_file("wow_q2", "cross_annotation.csv")))


def dialfact(**_: Any) -> dict[str, Dataset]:
    """Each evidence of DialFact; the response is one that people found supported.

    Where only a part of the set is on this machine, it is that part, and a warning says so.
    """
    whole, part = CATALOGUE["true/dialfact"], CATALOGUE["true/dialfact_a"]
    if state(whole) == "missing" and state(part) != "missing":
        _LOG.warning("q2_dialfact is %s here; all of it: q2 data download %s",
                     part.description, whole.name)
        return _test_split(contexts(read_true(folder(part.name) / "dialfact_a.csv")))
    return _test_split(contexts(read_true(_file("true/dialfact", "dialfact.csv"))))


def summeval(**_: Any) -> dict[str, Dataset]:
    """The 100 articles of SummEval; the response is a summary found consistent."""
    return _test_split(contexts(read_true(_file("true/summeval", "summeval.csv"))))


def long_document(**_: Any) -> dict[str, Dataset]:
    """The articles of QAGS-CNN/DM with at least :data:`LONG` words."""
    articles = contexts(read_true(_file("true/qags_cnndm", "qags_cnndm.csv")))
    return _test_split(item for item in articles if len(item.knowledge.split()) >= LONG)


def custom(
    data_files: str | list[str] | None = None,
    knowledge_column: str | None = None,
    history_column: str | None = None,
    response_column: str | None = None,
    **_: Any,
) -> dict[str, Dataset]:
    """The rows of the user's file (.jsonl, .csv, .tsv, .parquet).

    Args:
        data_files: the file, or several.
        knowledge_column, history_column, response_column: where the names are not among
            :data:`CUSTOM_ALIASES`; the response is the gold one and may be missing, in some
            rows or in all (a warning tells how many have one).

    Raises:
        InputError: no file is named, it cannot be read, or a row lacks its knowledge.
    """
    if not data_files:
        raise InputError(
            "q2_custom needs a file of yours: "
            """--metadata '{"data_files": "/folder/rows.jsonl"}'"""
        )
    columns = Columns(response_column, knowledge_column, history_column)
    files = [data_files] if isinstance(data_files, str) else data_files
    rows: list[Example] = []
    for file in files:
        for row in read_rows(file, columns, aliases=CUSTOM_ALIASES, need_response=False):
            if isinstance(row, BadRow):
                raise InputError(row.error)
            rows.append(row)
    if not rows:
        raise InputError(f"{', '.join(files)}: there are no rows")
    with_gold = sum(bool(row.response) for row in rows)
    if 0 < with_gold < len(rows):
        _LOG.warning("%d of %d rows have a gold response: f1 and bleu are of these alone",
                     with_gold, len(rows))
    return _test_split(rows)


def detect(**_: Any) -> dict[str, Dataset]:
    """The 1,088 annotated Wizard of Wikipedia responses, with people's judgement."""
    items = read_annotated(_file("wow_q2", "cross_annotation.csv"))
    rows = [_row(str(i), item.example) for i, item in enumerate(items)]
    labels = [item.consistent for item in items]
    return _split([{**row, "consistent": label} for row, label in zip(rows, labels, strict=True)])


def _file(data_set: str, name: str) -> Path:
    """The file of a data set, fetched where it is not here yet."""
    return next(path for path in download(data_set) if path.name == name)


def _test_split(examples: Iterable[Example]) -> dict[str, Dataset]:
    return _split([_row(str(i), item) for i, item in enumerate(examples)])


def _row(number: str, example: Example) -> dict[str, Any]:
    return {
        "id": example.id or number,
        "knowledge": example.knowledge,
        "history": list(example.history),
        "response": example.response,
    }


def _split(rows: list[dict[str, Any]]) -> dict[str, Dataset]:
    from datasets import Dataset, Features, Sequence, Value

    text = Value("string")
    features = {"id": text, "knowledge": text, "history": Sequence(text), "response": text}
    if "consistent" in rows[0]:
        features["consistent"] = Value("bool")
    return {"test": Dataset.from_list(rows, features=Features(features))}
