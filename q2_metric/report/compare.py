"""Compares the scores of two systems: matches their rows, and computes the paired differences."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from q2_metric.metrics.bootstrap import bootstrap_interval

How = Literal["id", "number", "knowledge", "order"]
"""By what the rows of two systems were matched: by id; by ids that are only row numbers ("number");
by knowledge, question and history ("knowledge"); or by their order."""

SAME = 0.0005
"""Scores that differ by less than this count as equal, because scores are shown with three digits.
"""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How the scores of a metric differ between two systems, over pairs of matched rows.

    - ``n``: number of pairs in which both rows have a score. Other pairs are left out.
    - ``value``: mean difference, second system minus first.
    - ``interval``: 95 % bootstrap percentile interval of the mean difference.
    - ``better``, ``worse``, ``same``: number of pairs in which the second score is higher, lower,
      or differs by less than :data:`SAME`.
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
        """Whether the interval excludes 0, so that the difference is hardly due to chance."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


@dataclass(slots=True)
class SystemValues:
    """What is needed to match and compare the rows of a system, in the order of the rows.

    - ``ids``: the id of each row.
    - ``contexts``: a hash of each row's knowledge, question and history; ``None`` if the knowledge
      is unknown.
    - ``scores``: by metric, the score of each row, with NaN for a missing score.
    """

    ids: list[str] = field(default_factory=list)
    contexts: list[int | None] = field(default_factory=list)
    scores: dict[str, array[float]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], metrics: Iterable[str]) -> None:
        """Adds an output row with its scores by these metrics."""
        self.ids.append(row["id"])
        knowledge = row.get("knowledge")
        context = (knowledge, row.get("question"), *(row.get("history") or ()))
        self.contexts.append(None if knowledge is None else hash(context))
        for metric in metrics:
            value = row.get(metric)
            column = self.scores.setdefault(metric, array("d"))
            column.append(math.nan if value is None else value)


def match(first: SystemValues, second: SystemValues) -> tuple[How, list[tuple[int, int]]] | None:
    """Matches the rows of two systems that answer the same dialogue turn.

    The first of these methods that works is used:

    1. by id, if the ids of each system are unique and both systems share some. Ids that are only
       row numbers are used only if most rows with the same id also have the same knowledge,
       question and history;
    2. by knowledge, question and history. Rows with equal texts are matched in order;
    3. by order, if all texts are unknown and both systems have the same number of rows.

    Returns:
        The method, and the pairs (index of a row of the first system, index of a row of the
            second). ``None`` if no row can be matched.
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
    """Whether the ids of a system are only the row numbers 1, 2, …, as in the scores of a file that
    has no ids."""
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
    """The paired difference of each metric that both systems have.

    ``pairs`` are the matched rows: (index in the first system, index in the second).
    """
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
