"""Cuts long token sequences into windows, for chunks and for the inputs of models, and searches
the units of a text for the one that best supports a claim (SCALE, section 3.2)."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

PAPER_CHUNK_SIZE = 512
"""In tokens (SCALE, section 4.1). The later code of SCALE's authors uses 1000."""
Range = tuple[int, int]


def window_bounds(count: int, size: int, step: int, *, full_last: bool = False) -> list[Range]:
    """The ranges (first, last) of windows that cover ``count`` tokens; ``last`` is not included.
    The last window never lies inside the one before; with ``full_last``, it is no shorter.

    >>> window_bounds(9, 4, 3), window_bounds(9, 4, 3, full_last=True)
    ([(0, 4), (3, 7), (6, 9)], [(0, 4), (3, 7), (5, 9)])
    """
    firsts = range(0, max(1, count - size + step), step)
    bounds = [(first, min(first + size, count)) for first in firsts]
    if full_last:
        bounds[-1] = (max(0, count - size), count)
    return bounds


def authors_windows(count: int, size: int, overlap: float) -> list[Range]:
    """The windows of the package scale-score. It counts them with the exact step, but places them
    with the rounded step. So the last window may lie inside the one before, and the end of a very
    long text may be in none."""
    step = int(size * (1 - overlap))
    numbers = range(math.ceil(count / (size * (1 - overlap))))
    return [(step * i, min(step * i + size, count)) for i in numbers]


def chunks(offsets: Sequence[Range], size: int, overlap: float = 0.25) -> list[Range]:
    """The character ranges of chunks of at most ``size`` tokens, which cover all tokens. Each
    repeats the share ``overlap`` in [0, 1) of the one before.

    >>> chunks([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], size=4)
    [(0, 7), (6, 9)]
    """
    if not offsets:
        return []
    step = max(1, int(size * (1 - overlap)))
    return [(offsets[first][0], offsets[last - 1][1])
            for first, last in window_bounds(len(offsets), size, step)]


def sentence_chunks(text: str, sentences: Sequence[Range], size: int) -> list[Range]:
    """Chunks of whole sentences, of at most ``size`` words or of one longer sentence."""
    bounds, count = list[Range](), 0
    for start, end in sentences:
        words = len(text[start:end].split())
        if bounds and count + words <= size:
            bounds[-1], count = (bounds[-1][0], end), count + words
        else:
            bounds.append((start, end))
            count = words
    return bounds


class UnitRange(NamedTuple):
    """Neighbouring units, from ``first`` to before ``last``, of the search with this index."""

    search: int
    first: int
    last: int


def divide(first: int, last: int, branches: int) -> list[Range]:
    """At most ``branches`` parts of the range, whose sizes differ by at most one."""
    branches = min(branches, last - first)
    whole, rest = divmod(last - first, branches)
    return list(itertools.pairwise(
        first + i * whole + min(i, rest) for i in range(branches + 1)))


def fitting(sizes: Sequence[int], first: int, last: int, limit: int) -> list[Range]:
    """Halves a range of units until each part has at most ``limit`` tokens or is a single unit."""
    if last - first <= 1 or sum(sizes[first:last]) <= limit:
        return [(first, last)]
    return [part for half in divide(first, last, 2) for part in fitting(sizes, *half, limit)]


def tree_search(
    sizes: Sequence[Sequence[int]], judge: Callable[[Sequence[UnitRange]], Sequence[float]],
    branches: int = 2, limit: int = 512,
) -> list[int | None]:
    """The index of the best unit of each search; ``None`` for a search without units.

    Each level keeps the best of ``branches`` parts, or the first of equal ones: O(branches * log n)
    judgements for n units. All searches share one call of ``judge`` per level. With as many
    branches as units, each unit is judged alone. ``sizes`` has the number of tokens of each unit of
    each search, ``branches`` is at least 2, and a part of more than ``limit`` tokens is divided
    before it is judged.
    """
    chosen: list[int | None] = [None] * len(sizes)
    level = [UnitRange(i, *part) for i, units in enumerate(sizes) if units
             for part in divide(0, len(units), branches)]
    while level:
        level = [UnitRange(part.search, *piece) for part in level
                 for piece in fitting(sizes[part.search], part.first, part.last, limit)]
        best: dict[int, tuple[float, UnitRange]] = {}
        for part, score in zip(level, judge(level), strict=True):
            if part.search not in best or score > best[part.search][0]:
                best[part.search] = (score, part)
        level = []
        for i, (_, part) in best.items():
            if part.last - part.first == 1:
                chosen[i] = part.first
            else:
                level += [UnitRange(i, *piece) for piece in divide(part.first, part.last, branches)]
    return chosen
