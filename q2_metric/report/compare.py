"""Compares two systems: which rows belong together, and how their scores differ."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from q2_metric.metrics.bootstrap import bootstrap_interval

How = Literal["id", "number", "knowledge", "order"]
"""How rows were matched. "number" means by ids that are only row numbers."""

SAME = 0.0005
"""Scores that differ by less than this count as the same, because three digits are shown."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of a metric between two systems, second minus first, over pairs of rows.

    ``interval`` is the 95 % bootstrap percentile interval over pairs. ``better``, ``worse`` and
    ``same`` are numbers of pairs and add up to ``n``. A pair with a missing score is left out.
    """

    metric: str
    n: int
    value: float | None
    interval: tuple[float, float] | None
    better: int
    worse: int
    same: int

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


@dataclass(slots=True)
class SystemValues:
    """The values of a system's rows that are needed to match and compare the rows, in order."""

    ids: list[str] = field(default_factory=list)
    contexts: list[int | None] = field(default_factory=list)
    scores: dict[str, array[float]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], metrics: Iterable[str]) -> None:
        """Adds a row. A missing score is kept as NaN."""
        self.ids.append(row["id"])
        knowledge = row.get("knowledge")
        context = (knowledge, row.get("question"), *(row.get("history") or ()))
        self.contexts.append(None if knowledge is None else hash(context))
        for metric in metrics:
            value = row.get(metric)
            column = self.scores.setdefault(metric, array("d"))
            column.append(math.nan if value is None else value)


def match(first: SystemValues, second: SystemValues) -> tuple[How, list[tuple[int, int]]] | None:
    """Pairs of rows that answer the same turn, as indexes; ``None`` if no row can be matched.

    The first way that works is used:

    1. by id, if the ids of each system are unique and both systems share some. Ids that are only
       row numbers are used only if most rows that share an id also share their knowledge,
       question and history;
    2. by knowledge, question and history; rows with equal texts are matched in order;
    3. by order, if all texts are unknown and both systems have equally many rows.
    """
    if len(set(first.ids)) == len(first.ids) and len(set(second.ids)) == len(second.ids):
        places = {id_: place for place, id_ in enumerate(first.ids)}
        pairs = [(places[id_], i) for i, id_ in enumerate(second.ids) if id_ in places]
        counted = _counts(first) and _counts(second)
        if pairs and not (counted and _differ(first, second, pairs)):
            return "number" if counted else "id", sorted(pairs)
    pairs = _by_context(first, second)
    if pairs:
        return "knowledge", sorted(pairs)
    unknown = all(context is None for context in (*first.contexts, *second.contexts))
    if unknown and first.ids and len(first.ids) == len(second.ids):
        return "order", [(i, i) for i in range(len(first.ids))]
    return None


def _counts(column: SystemValues) -> bool:
    """Whether the ids of a system are only row numbers, as in the output for a file without ids."""
    return all(id_ == str(number) for number, id_ in enumerate(column.ids, start=1))


def _differ(first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]]) -> bool:
    known = [(first.contexts[a], second.contexts[b]) for a, b in pairs]
    same = [a == b for a, b in known if a is not None and b is not None]
    return 2 * sum(same) < len(same)


def _by_context(first: SystemValues, second: SystemValues) -> list[tuple[int, int]]:
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, context in enumerate(first.contexts):
        if context is not None:
            places[context].append(place)
    pairs, used = [], Counter[int]()
    for i, context in enumerate(second.contexts):
        if context is not None and used[context] < len(places.get(context, ())):
            pairs.append((places[context][used[context]], i))
            used[context] += 1
    return pairs


def differences(
    first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]]
) -> list[PairedDifference]:
    """The paired difference of every metric that both systems have."""
    paired = []
    for metric in first.scores:
        if metric not in second.scores:
            continue
        both = [(first.scores[metric][a], second.scores[metric][b]) for a, b in pairs]
        changes = [b - a for a, b in both if not math.isnan(a + b)]
        better = sum(change >= SAME for change in changes)
        worse = sum(change <= -SAME for change in changes)
        paired.append(
            PairedDifference(
                metric,
                len(changes),
                math.fsum(changes) / len(changes) if changes else None,
                bootstrap_interval(changes),
                better,
                worse,
                len(changes) - better - worse,
            )
        )
    return paired
