"""A response with a human judgement, and the csv files of such responses."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from q2_metric.errors import DataError
from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example with a human judgement.

    ``consistent`` is true if people found the response supported by the knowledge. ``system`` names
    the model that wrote it, if the set says so.
    """

    example: Example
    consistent: bool
    system: str | None = None


def contexts(items: Iterable[Labelled]) -> list[Example]:
    """Each knowledge once, in order, with its first response that people found consistent.

    The response is "" if none was found consistent; the id is that of the first response.
    """
    by_knowledge: dict[str, Example] = {}
    for item in items:
        example = item.example
        context = by_knowledge.setdefault(example.knowledge, replace(example, response=""))
        if item.consistent and not context.response:
            by_knowledge[example.knowledge] = replace(context, response=example.response)
    return list(by_knowledge.values())


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a csv file; every value is a text, also "nan".

    Raises:
        DataError: the file is missing, is not a csv in UTF-8, or lacks one of ``columns``.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(f"{path}: has no column {missing[0]!r}; is it the right file?")
            rows = list(reader)
    except (OSError, ValueError, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: cannot be read: {error}") from error
    for number, row in enumerate(rows, start=1):
        if any(row[name] is None for name in columns):
            raise DataError(f"{path}, row {number}: is cut short; download the file again")
    return rows


def read_label(value: str, path: Path, number: int) -> bool:
    """True for "1", False for "0".

    Raises:
        DataError: it is another value; ``path`` and ``number`` (from 1) say where.
    """
    if value not in ("0", "1"):
        raise DataError(f"{path}, row {number}: the label is {value!r}, not 0 or 1")
    return value == "1"
