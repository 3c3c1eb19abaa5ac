"""Cuts rows into blocks, which are scored and then written to disk, and blocks into slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from q2_metric.rows.read import Row
from q2_metric.types import Example

CHARACTERS = 200_000
"""A block ends when its rows have this many characters in total, even if it has few rows. Long rows
take long to score, and finished rows should be saved and displayed soon."""

SLICE = 32
"""Maximum number of rows that a metric gets at a time. This number fills the batches on a CPU."""

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


def slices(rows: Sequence[T], *, first: bool) -> Iterator[Sequence[T]]:
    """Cuts a block into slices, in order. A metric scores the rows of a slice together.

    The slices depend on nothing but the rows, so that every run gives the models the same batches.

    Args:
        rows: rows of the block.
        first: whether the block is the first of its file. It then begins with short slices, so that
            the progress bar moves soon.

    >>> list(map(len, slices(range(70), first=True)))
    [1, 2, 4, 8, 16, 32, 7]
    """
    size, start = 1 if first else SLICE, 0
    while start < len(rows):
        yield rows[start : start + size]
        start, size = start + size, min(2 * size, SLICE)
