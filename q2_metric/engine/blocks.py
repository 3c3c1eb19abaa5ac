"""Cuts rows into blocks. The rows of a block are scored together, then written to disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from q2_metric.rows.read import Row
from q2_metric.types import Example

CHARACTERS = 200_000
"""A block ends when its rows have this many characters in total, even if it has few rows. Long rows
take long to score, and finished rows should be saved and displayed soon."""

T = TypeVar("T")


def characters(row: Row) -> int:
    """The number of characters in a row's response and knowledge together.

    A row that cannot be scored counts as 0.
    """
    return len(row.response) + len(row.knowledge) if isinstance(row, Example) else 0


def cut(rows: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Cuts rows into blocks, in order.

    A block ends when it has ``most`` rows, or when the sum of ``size(row)`` over its rows reaches
    :data:`CHARACTERS`.

    >>> list(cut(["a", "b", "c"], 2, len))
    [['a', 'b'], ['c']]
    """
    block: list[T] = []
    total = 0
    for row in rows:
        block.append(row)
        total += size(row)
        if len(block) == most or total >= CHARACTERS:
            yield block
            block, total = [], 0
    if block:
        yield block
