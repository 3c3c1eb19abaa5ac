"""Tree search for the unit of the knowledge that best supports a claim (SCALE, section 3.2)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnitRange:
    """Neighbouring units, from ``first`` to before ``last``, of the search with this index."""

    search: int
    first: int
    last: int


def divide(first: int, last: int, branches: int) -> list[tuple[int, int]]:
    """At most ``branches`` parts of the range, whose sizes differ by at most one."""
    count = last - first
    branches = min(branches, count)
    whole, rest = divmod(count, branches)
    return list(itertools.pairwise(
        first + i * whole + min(i, rest) for i in range(branches + 1)))


def fitting(sizes: Sequence[int], first: int, last: int, limit: int) -> list[tuple[int, int]]:
    """Halves a range of units until each part has at most ``limit`` tokens or is a single unit."""
    if last - first <= 1 or sum(sizes[first:last]) <= limit:
        return [(first, last)]
    return [
        part
        for half in divide(first, last, 2)
        for part in fitting(sizes, *half, limit)
    ]


def tree_search(
    sizes: Sequence[Sequence[int]], judge: Callable[[Sequence[UnitRange]], Sequence[float]],
    branches: int = 2, limit: int = 512,
) -> list[int | None]:
    """The index of the best unit of each search; ``None`` for a search without units.

    Each level keeps the best of ``branches`` parts, or the first of equal ones: O(branches * log n)
    judgements for n units. All searches share one call of ``judge`` per level. With as many
    branches as units, each unit is judged alone.

    Args:
        sizes: for each search, the number of tokens of each unit.
        branches: at least 2.
        limit: maximum tokens of a part that is judged. A longer part is divided first.
    """
    chosen: list[int | None] = [None] * len(sizes)
    level = [
        UnitRange(i, *part)
        for i, units in enumerate(sizes)
        if units
        for part in divide(0, len(units), branches)
    ]
    while level:
        level = [
            UnitRange(part.search, *piece)
            for part in level
            for piece in fitting(sizes[part.search], part.first, part.last, limit)
        ]
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
