"""Responses with human labels."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from q2_metric.types import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example that people found ``consistent`` with the knowledge, or not.

    ``system`` wrote the response; ``None`` if the data set does not say. ``relevant`` holds the
    lines of the knowledge, from 0, that people marked as evidence.
    """

    example: Example
    consistent: bool
    system: str | None = None
    relevant: frozenset[int] = frozenset()


def contexts(items: Iterable[Labelled]) -> list[Example]:
    """One example for each distinct knowledge text, in order, with the id of the first.

    Its response is the first that people found consistent, or "" if there is none.
    """
    by_knowledge: dict[str, Example] = {}
    for item in items:
        example = item.example
        context = by_knowledge.setdefault(example.knowledge, replace(example, response=""))
        if item.consistent and not context.response:
            by_knowledge[example.knowledge] = replace(context, response=example.response)
    return list(by_knowledge.values())

