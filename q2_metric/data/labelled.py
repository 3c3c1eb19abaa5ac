"""Responses with human labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from q2_metric.errors import DataError
from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example with a human label.

    ``consistent`` is true if people found that the knowledge supports the response. ``system`` is
    the name of the model that wrote the response, or ``None`` if the data set does not say.
    """

    example: Example
    consistent: bool
    system: str | None = None


def contexts(items: Iterable[Labelled]) -> list[Example]:
    """One example for each distinct knowledge text, in order.

    The response of the example is the first response to this knowledge that people found
    consistent, or "" if there is none. The id is that of the first response to this knowledge.
    """
    by_knowledge: dict[str, Example] = {}
    for item in items:
        example = item.example
        context = by_knowledge.setdefault(example.knowledge, replace(example, response=""))
        if item.consistent and not context.response:
            by_knowledge[example.knowledge] = replace(context, response=example.response)
    return list(by_knowledge.values())


def read_label(value: str, path: Path, number: int) -> bool:
    """Converts the label "1" to True and "0" to False.

    Args:
        value: the label.
        path: path of the file, for the error message.
        number: number of the row, from 1, for the error message.

    Raises:
        DataError: the label is neither "1" nor "0".
    """
    if value not in ("0", "1"):
        raise DataError(f"{path}, row {number}: the label is {value!r}, not 0 or 1")
    return value == "1"
