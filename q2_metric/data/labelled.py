"""Responses with human judgements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from q2_metric.errors import DataError
from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example with a human judgement.

    ``consistent`` is true if people found the response supported by the knowledge. ``system`` names
    the model that wrote the response, if the set says so.
    """

    example: Example
    consistent: bool
    system: str | None = None


def contexts(items: Iterable[Labelled]) -> list[Example]:
    """Each knowledge text once, in order, with its first response that people found consistent.

    If people found no response consistent, the response is "". The id is the id of the first
    response.
    """
    by_knowledge: dict[str, Example] = {}
    for item in items:
        example = item.example
        context = by_knowledge.setdefault(example.knowledge, replace(example, response=""))
        if item.consistent and not context.response:
            by_knowledge[example.knowledge] = replace(context, response=example.response)
    return list(by_knowledge.values())


def read_label(value: str, path: Path, number: int) -> bool:
    """Reads a label: True for "1", False for "0".

    Args:
        value: the text of the label.
        path: path of the file, for the error.
        number: number of the row, from 1, for the error.

    Raises:
        DataError: it is another value.
    """
    if value not in ("0", "1"):
        raise DataError(f"{path}, row {number}: the label is {value!r}, not 0 or 1")
    return value == "1"
