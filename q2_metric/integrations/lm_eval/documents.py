"""Reads the rows of the tasks, as lm-evaluation-harness requests them (``custom_dataset``).

Each function takes the metadata of the run, and returns the split ``test`` with ``id``,
``knowledge``, ``history`` (oldest turn first), ``response`` (the gold one, or ""), and in the
user's own rows ``question``. All raise :class:`~q2_metric.errors.DataError` if the data set is not
here and cannot be downloaded.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from q2_metric.data.catalogue import CATALOGUE, download, here
from q2_metric.data.readers import contexts, read_annotated, read_gold, read_true
from q2_metric.errors import InputError
from q2_metric.rows.columns import ALIASES, Columns
from q2_metric.rows.formats import records
from q2_metric.rows.read import BadRow, read_rows
from q2_metric.types import Example

if TYPE_CHECKING:
    from datasets import Dataset

_LOG = logging.getLogger(__name__)

LONG = 250
"""In words. SCALE reads such a document in several chunks."""

CUSTOM_ALIASES = {
    **ALIASES,
    # Only names for the answer of a person. A column "prediction" contains the answer of a model.
    "response": ("gold", "target", "response", "answer", "summary"),
    "history": (*ALIASES["history"], "question", "query"),
}
"""The column names that the task ``q2_custom`` recognises, by field."""


def wow(**_: Any) -> dict[str, Dataset]:
    """The 544 annotated contexts of Wizard of Wikipedia, with the original responses of people."""
    download("wow_q2")
    return _test_split(read_gold())


def dialfact(**_: Any) -> dict[str, Dataset]:
    """Each evidence text of DialFact, with a response that people judged supported. If only a part
    of the data set is here, this part is used, and a warning says so."""
    part = here("true/dialfact_a") and not here("true/dialfact")
    if part:
        _LOG.warning("q2_dialfact uses only %s; q2 data download true/dialfact fetches the whole "
                     "set", CATALOGUE["true/dialfact_a"].description)
    return _test_split(_contexts("dialfact_a" if part else "dialfact"))


def summeval(**_: Any) -> dict[str, Dataset]:
    """The 100 articles of SummEval. The response is a summary that people judged consistent."""
    return _test_split(_contexts("summeval"))


def long_document(**_: Any) -> dict[str, Dataset]:
    """The articles of QAGS-CNN/DM that have at least :data:`LONG` words."""
    return _test_split(item for item in _contexts("qags_cnndm")
                       if len(item.knowledge.split()) >= LONG)


def custom(
    data_files: str | list[str] | None = None, knowledge_column: str | None = None,
    history_column: str | None = None, response_column: str | None = None, **_: Any,
) -> dict[str, Dataset]:
    """The rows of the user's files (.jsonl, .csv, .tsv, .parquet), with all other columns.

    A column of mixed types becomes JSON texts. A ``…_column`` is needed for columns whose names are
    not in :data:`CUSTOM_ALIASES`. If only some rows have a gold response, a warning says how many.
    Knowledge may be blank; such a row has no score. InputError: no file is named, or a file or a
    row cannot be read."""
    if not data_files:
        raise InputError(
            """q2_custom needs a file: --metadata '{"data_files": "/folder/rows.jsonl"}'""")
    columns = _MetadataColumns(response_column, knowledge_column, history_column)
    files = [data_files] if isinstance(data_files, str) else data_files
    rows: list[dict[str, Any]] = []
    for file in files:
        given = list(records(file))
        read = read_rows(file, columns, aliases=CUSTOM_ALIASES, need_response=False, blank=True,
                         given=given)
        for record, row in zip(given, read, strict=True):
            if isinstance(row, BadRow):
                raise InputError(row.error)
            rows.append({**record.fields, **_row(str(len(rows)), row)})
    if not rows:
        raise InputError(f"{', '.join(files)}: there are no rows")
    with_gold = sum(bool(row["response"]) for row in rows)
    if 0 < with_gold < len(rows):
        _LOG.warning("only %d of %d rows have a gold response: f1 and bleu are computed on these",
                     with_gold, len(rows))
    return _split(rows)


class _MetadataColumns(Columns):
    def option(self, field: str) -> str:
        return f"{field}_column in --metadata"


def detect(**_: Any) -> dict[str, Dataset]:
    """Annotated responses of Wizard of Wikipedia to judge; ``consistent`` is the human label."""
    download("wow_q2")
    return _split([{**_row(str(i), item.example), "consistent": item.consistent}
                   for i, item in enumerate(read_annotated())])


def _contexts(name: str) -> list[Example]:
    download(f"true/{name}")
    return contexts(read_true(name))


def _test_split(examples: Iterable[Example]) -> dict[str, Dataset]:
    return _split([_row(str(i), item) for i, item in enumerate(examples)])


def _row(number: str, example: Example) -> dict[str, Any]:
    return {"id": example.id or number, "knowledge": example.knowledge,
            "history": list(example.history), "response": example.response,
            **({"question": example.question} if example.question else {})}


def _split(rows: Sequence[Mapping[str, Any]]) -> dict[str, Dataset]:
    import datasets

    text = datasets.Value("string")
    features = {"id": text, "knowledge": text, "history": datasets.Sequence(text), "response": text}
    columns = {name: [row.get(name) for row in rows]
               for name in dict.fromkeys([*features, *(name for row in rows for name in row)])}
    for name in columns:
        if name not in features:
            kind, columns[name] = _cells(columns[name])
            features[name] = datasets.Value(kind)
    return {"test": datasets.Dataset.from_dict(columns, features=datasets.Features(features))}


def _cells(values: Sequence[object]) -> tuple[str, list[object]]:
    """(Type of the column, as ``datasets`` names it; values). Mixed types become JSON texts."""
    types = {type(value) for value in values if value is not None}
    for one, kind in ((bool, "bool"), (int, "int64"), (float, "float64")):
        if types == {one} and not any(isinstance(value, int) and abs(value) >= 2**63
                                      for value in values):
            return kind, list(values)
    as_text = str if types == {str} else partial(json.dumps, ensure_ascii=False, default=str)
    return "string", [value if value is None else
                      as_text(value).encode("utf-8", "replace").decode() for value in values]
