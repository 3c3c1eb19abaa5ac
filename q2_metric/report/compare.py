"""Compares the scores of systems by paired differences: for the page, the gate and the table."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from q2_metric.metrics.bootstrap import SEED, percentiles, resampled
from q2_metric.rows.record import are_numbers
from q2_metric.scoring import NoClaim
from q2_metric.scoring.outcome import merged, of_row

Floats = NDArray[np.float64]
How = Literal["id", "number", "knowledge", "order"]
"""How rows were matched; "number": by ids that are only row numbers, "knowledge": by IDENTITY."""

SAME = 0.0005
"""Scores that differ by less count as equal: they are shown with three digits."""

TRIALS = 10_000
"""Trials of the approximate randomisation (sacrebleu's default)."""

_AT_ONCE = 1 << 20
"""Swaps of rows that are drawn at a time."""

_EQUAL = 1e-12
"""Differences of scores that differ by less are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How the scores of a metric differ between two systems, over matched rows.

    ``n`` is the number of pairs in which both rows count in the means. ``value`` is the mean
    difference, second minus first, with its 95 % bootstrap percentile interval. ``better``,
    ``worse`` and ``same`` count the pairs, by :data:`SAME`. ``p_bootstrap`` and ``p_randomised``
    are two-sided p-values (:func:`difference`); ``None``: not tested.
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


class SystemValues:
    """What is needed to match and compare the rows of a system, in their order. ``contexts`` are
    hashes of each row's :data:`IDENTITY`; ``None`` if its texts are unknown (a row without
    knowledge has a context). ``scores`` has, by metric, each row's number that counts in the mean,
    or NaN."""

    def __init__(
        self, no_claim: NoClaim, rows: Iterable[Mapping[str, Any]], metrics: Sequence[str]
    ) -> None:
        self.ids: list[str] = []
        self.contexts: list[tuple[int, ...] | None] = []
        self.scores = {metric: array("d") for metric in metrics}
        for row in rows:
            self.ids.append(row["id"])
            parts = (row.get("knowledge"), row.get("question"), tuple(row.get("history") or ()))
            unknown = parts[0] is None and row.get("reason") != "no_knowledge"
            self.contexts.append(None if unknown else tuple(map(hash, parts)))
            numbers = merged(of_row(row), no_claim)
            for metric, values in self.scores.items():
                value = numbers.get(metric)
                values.append(math.nan if value is None else value)

    @property
    def unchecked(self) -> str:
        """What to say if texts are unknown, so that rows matched by id may differ; else ""."""
        return ("some rows have no texts: whether the matched rows have the same knowledge was not "
                "checked" if None in self.contexts else "")


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
       row numbers are used only if at most half of the pairs have other texts, and if the next
       method finds no more pairs with the same texts;
    2. by :data:`IDENTITY`. Rows with equal texts are matched in order;
    3. by order, if all texts are unknown and both systems have the same number of rows.
    """
    there = _places(second)
    alike = sorted(pair for context, rows in _places(first).items()
                   for pair in zip(rows, there.get(context, ()), strict=False))
    if len(set(first.ids)) == len(first.ids) and len(set(second.ids)) == len(second.ids):
        places = {id_: place for place, id_ in enumerate(first.ids)}
        pairs = sorted((places[id_], i) for i, id_ in enumerate(second.ids) if id_ in places)
        changed = _changed(first, second, pairs)
        counted = are_numbers(first.ids) and are_numbers(second.ids)
        same = len(pairs) - len(changed)
        if pairs and not (counted and (same < len(changed) or same < len(alike))):
            return Matched("number" if counted else "id", pairs, changed)
    if alike:
        return Matched("knowledge", alike)
    unknown = all(context is None for context in (*first.contexts, *second.contexts))
    if unknown and first.ids and len(first.ids) == len(second.ids):
        return Matched("order", [(i, i) for i in range(len(first.ids))])
    return None


def _changed(
    first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[str, ...]]:
    contexts = {(a, b): (first.contexts[a], second.contexts[b]) for a, b in pairs}
    return {pair: tuple(part for part, was, now in zip(IDENTITY, one, other, strict=True)
                        if was != now)
            for pair, (one, other) in contexts.items() if one and other and one != other}


def _places(system: SystemValues) -> dict[tuple[int, ...], list[int]]:
    """The rows with the same :data:`IDENTITY`."""
    places: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, context in enumerate(system.contexts):
        if context is not None:
            places[context].append(place)
    return places


def differences(
    first: SystemValues, second: SystemValues, pairs: Sequence[tuple[int, int]], *,
    tests: bool = False,
) -> list[PairedDifference]:
    """The paired difference of each metric that both systems have; with ``tests``, its p-values."""
    return [difference(metric, [first.scores[metric][a] for a, _ in pairs],
                       [second.scores[metric][b] for _, b in pairs], tests=tests)
            for metric in first.scores if metric in second.scores]


def difference(
    metric: str, first: Sequence[float] | Floats, second: Sequence[float] | Floats,
    measure: Callable[[Floats], Floats] | None = None, *, tests: bool = False,
) -> PairedDifference:
    """The paired difference of two systems on the same rows.

    Args:
        first: the score of each row, or NaN if it does not count; with ``measure``, the row's
            statistics, in the shape (rows, statistics).
        measure: the scores of sets of rows, from the sums of their statistics.
        tests: whether to test the difference, as sacrebleu does (its ``significance.py``).

    The first p-value is that of paired bootstrap resampling (Koehn, EMNLP 2004) as in sacrebleu,
    which is too small; the second that of paired approximate randomisation (Riezler and Maxwell,
    2005). Both draw with one seed. Below two rows, there are no p-values and no interval.

    Unlike sacrebleu, a trial with exactly the observed difference counts as extreme (Noreen, 1989),
    so that a system does not differ from itself.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if measure is None:
        rows = changes = (other - one)[~np.isnan(other - one)]
        exchanged = -rows
    else:
        changes = measure(other) - measure(one)
        rows, exchanged = np.hstack([one, other]), np.hstack([other, one])
    n, better, worse = (
        len(changes), int((changes >= SAME).sum()), int((changes <= -SAME).sum()))

    def change(sums: Floats) -> Floats:
        if measure is None:
            return sums / n
        before, after = np.hsplit(sums, 2)
        return measure(after) - measure(before)

    value = interval = p_bootstrap = p_randomised = None
    if n:
        value = math.fsum(rows) / n if measure is None else float(change(rows.sum(axis=0)[None])[0])
    if value is not None and n > 1:
        drawn = resampled(n, lambda places: change(rows[places].sum(axis=1)))
        interval = percentiles(drawn)
        if tests:
            sizes = np.abs(drawn)
            p_bootstrap = _p_value(sizes - sizes.mean(), value)
            p_randomised = _p_value(np.abs(change(_swapped(rows, exchanged))), value)
    return PairedDifference(metric, n, value, interval, better, worse, n - better - worse,
                            p_bootstrap, p_randomised)


def _swapped(rows: Floats, exchanged: Floats) -> Floats:
    """The sums over all rows if the two responses of random rows are exchanged."""
    rng = np.random.default_rng(SEED)
    # NumPy draws 32 booleans from one random number: 32 trials at a time give sacrebleu's draws.
    step = max(32, _AT_ONCE // len(rows) // 32 * 32)
    sums = [
        rng.integers(2, size=(min(step, TRIALS - start), len(rows)), dtype=bool)
        @ (exchanged - rows) for start in range(0, TRIALS, step)]
    both: Floats = rows.sum(axis=0) + np.concatenate(sums)
    return both


def _p_value(drawn: Floats, observed: float) -> float:
    return (int((drawn >= abs(observed) - _EQUAL).sum()) + 1) / (len(drawn) + 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for several comparisons (Holm, 1979); ``None`` is no comparison.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    stepped = (min(1.0, p * (len(tested) - rank)) for rank, (p, _) in enumerate(tested))
    adjusted = dict(zip((i for _, i in tested), accumulate(stepped, max), strict=True))
    return [adjusted.get(i) for i in range(len(p_values))]
