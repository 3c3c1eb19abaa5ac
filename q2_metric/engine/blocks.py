"""Cuts rows into blocks, which are scored and then written to disk, and blocks into slices."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from q2_metric.rows.read import Row
from q2_metric.types import Example

CHARACTERS = 200_000
"""A block ends at this many characters: finished rows should be saved and displayed soon."""

SLICE = 32
"""Maximum number of rows that a metric gets at a time. It fills the batches on a CPU."""

T = TypeVar("T")


def characters(row: Row) -> int:
    """The characters of response and knowledge; 0 for a row that cannot be scored."""
    return len(row.response) + len(row.knowledge) if isinstance(row, Example) else 0


def cut(rows: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """A block ends at ``most`` rows, or when its sum of ``size(row)`` reaches :data:`CHARACTERS`.

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
    """Cuts a block into slices, which depend on the rows only: every run has the same batches.

    The ``first`` block of a file begins with short slices, so that the progress bar moves soon.

    >>> list(map(len, slices(range(70), first=True)))
    [1, 2, 4, 8, 16, 32, 7]
    """
    size, start = 1 if first else SLICE, 0
    while start < len(rows):
        yield rows[start : start + size]
        start, size = start + size, min(2 * size, SLICE)
