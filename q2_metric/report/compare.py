"""Compares the scores of two systems by paired differences, for the page and for the gate."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from q2_metric.report.paired import mean, paired
from q2_metric.scoring import NO_CLAIM, NoClaim
from q2_metric.scoring.outcome import merged, of_row

if TYPE_CHECKING:
    from q2_metric.report.paired import Floats, Measure

How = Literal["id", "number", "knowledge", "order"]
"""How rows were matched; "number": by ids that are only row numbers, "knowledge": by IDENTITY."""

SAME = 0.0005
"""Scores that differ by less count as equal: they are shown with three digits."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How the scores of a metric differ between two systems, over matched rows.

    ``n`` is the number of pairs in which both rows count in the means. ``value`` is the mean
    difference, second minus first, with its 95 % bootstrap percentile interval. ``better``,
    ``worse`` and ``same`` count the pairs, by :data:`SAME`. ``p_bootstrap`` and ``p_randomised``
    are two-sided p-values (:func:`~q2_metric.report.paired.paired`); ``None``: not tested.
    """

    metric: str
    n: int
    value: float | None
    interval: tuple[float, float] | None
    better: int
    worse: int
    same: int
    p_bootstrap: float | None = None
    p_randomised: float | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0, so that the difference is hardly due to chance."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


IDENTITY = ("knowledge", "question", "history")
"""What identifies a row. Only the response may differ between two systems."""


@dataclass(slots=True)
class SystemValues:
    """What is needed to match and compare the rows of a system, in their order. ``contexts`` are
    hashes of each row's :data:`IDENTITY`; ``None`` if its texts are unknown. ``scores`` has, by
    metric, each row's number that counts in the mean, or NaN."""

    no_claim: NoClaim = NO_CLAIM
    ids: list[str] = field(default_factory=list)
    contexts: list[tuple[int, ...] | None] = field(default_factory=list)
    scores: dict[str, array[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, no_claim: NoClaim, rows: Iterable[Mapping[str, Any]], metrics: Iterable[str]
    ) -> SystemValues:
        values = cls(no_claim)
        for row in rows:
            values.add(row, metrics)
        return values

    def add(self, row: Mapping[str, Any], metrics: Iterable[str]) -> None:
        self.ids.append(row["id"])
        parts = (row.get("knowledge"), row.get("question"), tuple(row.get("history") or ()))
        self.contexts.append(None if parts[0] is None else tuple(map(hash, parts)))
        numbers = merged(of_row(row), self.no_claim)
        for metric in metrics:
            value = numbers.get(metric)
            self.scores.setdefault(metric, array("d")).append(math.nan if value is None else value)


@dataclass(frozen=True, slots=True)
class Matched:
    """The rows of two systems that belong together, as pairs of indexes. ``changed`` are the pairs
    that are matched by id although these parts of :data:`IDENTITY` differ."""

    how: How
    pairs: list[tuple[int, int]]
    changed: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)


def match(first: SystemValues, second: SystemValues) -> Matched | None:
    """Matches the rows of two systems that answer the same dialogue turn; ``None`` if none can be.

    The first of these methods that works is used:

    1. by id, if the ids of each system are unique and both systems share some. Ids that are only
       row numbers are used only if most rows with the same id also have the same :data:`IDENTITY`;
    2. by :data:`IDENTITY`. Rows with equal texts are matched in order;
    3. by order, if all texts are unknown and both systems have the same number of rows.
    """
    if len(set(first.ids)) == len(first.ids) and len(set(second.ids)) == len(second.ids):
        places = {id_: place for place, id_ in enumerate(first.ids)}
        pairs = sorted((places[id_], i) for i, id_ in enumerate(second.ids) if id_ in places)
        changed = _changed(first, second, pairs)
        counted = _counts(first) and _counts(second)
        if pairs and not (counted and 2 * len(changed) > len(pairs)):
            return Matched("number" if counted else "id", pairs, changed)
    pairs = _by_context(first, second)
    if pairs:
        return Matched("knowledge", sorted(pairs))
    unknown = all(context is None for context in (*first.contexts, *second.contexts))
    if unknown and first.ids and len(first.ids) == len(second.ids):
        return Matched("order", [(i, i) for i in range(len(first.ids))])
    return None


def _counts(column: SystemValues) -> bool:
    """Whether the ids are only the row numbers 1, 2, …, as for a file that has no ids."""
    return all(id_ == str(number) for number, id_ in enumerate(column.ids, start=1))


def _changed(
    first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[str, ...]]:
    changed = {}
    for a, b in pairs:
        one, other = first.contexts[a], second.contexts[b]
        if one is not None and other is not None and one != other:
            changed[a, b] = tuple(part for part, was, now in zip(IDENTITY, one, other, strict=True)
                                  if was != now)
    return changed


def _by_context(first: SystemValues, second: SystemValues) -> list[tuple[int, int]]:
    places: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, context in enumerate(first.contexts):
        if context is not None:
            places[context].append(place)
    pairs, used = [], Counter[tuple[int, ...]]()
    for i, context in enumerate(second.contexts):
        if context is not None and used[context] < len(places.get(context, ())):
            pairs.append((places[context][used[context]], i))
            used[context] += 1
    return pairs


def differences(
    first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]], *,
    tests: bool = False,
) -> list[PairedDifference]:
    """The paired difference of each metric that both systems have; with ``tests``, its p-values."""
    return [difference(metric, [first.scores[metric][a] for a, _ in pairs],
                       [second.scores[metric][b] for _, b in pairs], tests=tests)
            for metric in first.scores if metric in second.scores]


def difference(
    metric: str, first: Sequence[float], second: Sequence[float], *, tests: bool = False,
    corpus: tuple[Floats, Floats, Measure] | None = None,
) -> PairedDifference:
    """The paired difference of two systems' scores of the same rows; NaN does not count. ``corpus``
    has the statistics of both systems, if the system's score is not the mean of its rows."""
    import numpy as np

    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    there = ~np.isnan(one + other)
    changes = (other - one)[there]
    better, worse = int((changes >= SAME).sum()), int((changes <= -SAME).sum())
    counted = np.ones_like(one)
    a, b, measure = corpus or (
        np.stack([one, counted], 1), np.stack([other, counted], 1), mean)
    value = None
    if len(changes):
        sums = [measure(rows[there].sum(0, keepdims=True)) for rows in (a, b)]
        value = float((sums[1] - sums[0])[0]) if corpus else math.fsum(changes) / len(changes)
    interval, *p_values = paired(a[there], b[there], measure, tests=tests)
    return PairedDifference(metric, len(changes), value, interval, better, worse,
                            len(changes) - better - worse, *p_values)
