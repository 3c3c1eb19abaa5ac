"""Compares the scores of systems by paired differences: for the page, the gate and the tables of
``q2 compare``."""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np

from q2_metric.engine.result import SystemRun
from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import N_BOOTSTRAP, SEED, Floats, Interval, around
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.bootstrap import percentiles, resampled
from q2_metric.metrics.overlap import bleu_of, bleu_signature, bleu_statistics
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import mismatch, parse
from q2_metric.report.read import ScoreFiles
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.rows.record import are_numbers, repeated
from q2_metric.scoring import NoClaim
from q2_metric.scoring.outcome import merged, of_row
from q2_metric.text.given import is_blank
from q2_metric.text.normalise import token_f1

How = Literal["id", "number", "knowledge", "order"]
"""How rows were matched; "number": by ids that are only row numbers, "knowledge": by IDENTITY."""

SAME = 0.0005
"""Scores that differ by less count as equal: they are shown with three digits."""

REFERENCES = ("reference", "references", "gold", "gold_answer", "ground_truth", "expected_output",
              "target")
"""The column with reference responses is the first of these, if the user names none."""

TRIALS = 10_000
"""Trials of the approximate randomisation (sacrebleu's default)."""


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
    # About a million swaps are drawn at a time. NumPy draws 32 booleans from one random number: 32
    # trials at a time give sacrebleu's draws.
    step = max(32, (1 << 20) // len(rows) // 32 * 32)
    sums = [
        rng.integers(2, size=(min(step, TRIALS - start), len(rows)), dtype=bool)
        @ (exchanged - rows) for start in range(0, TRIALS, step)]
    both: Floats = rows.sum(axis=0) + np.concatenate(sums)
    return both


def _p_value(drawn: Floats, observed: float) -> float:
    least = abs(observed) - 1e-12  # smaller differences are due to rounding
    return (int((drawn >= least).sum()) + 1) / (len(drawn) + 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for several comparisons (Holm, 1979); ``None`` is no comparison.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    stepped = (min(1.0, p * (len(tested) - rank)) for rank, (p, _) in enumerate(tested))
    adjusted = dict(zip((i for _, i in tested), accumulate(stepped, max), strict=True))
    return [adjusted.get(i) for i in range(len(p_values))]


def versus(
    files: ScoreFiles, columns: Sequence[str] = (), reference: str | None = None
) -> tuple[Report, list[str]]:
    """Compares each system with the first one. Returns the tables, and what could not be checked.

    The p-values are adjusted over the systems (Holm, 1979).

    Args:
        columns: the score columns to compare; by default, all that every system has.
        reference: the column with reference responses. Token F1 and BLEU are added if there is one.

    Raises:
        InputError: there is one system, two systems have different rows or signatures, or a system
            lacks one of the columns.
    """
    first, *others = files.runs
    if not others:
        raise InputError(f"{first.name}: is the only system; name the scores of another, or the "
                         "column that tells systems apart (--systems)")
    shared = _columns(files.runs, columns)
    signatures = {name: _signature(files.runs, name) for name in shared}
    read = list(zip(files.runs, files.rows, strict=True))
    one, *more = [SystemValues(run.no_claim, rows, shared) for run, rows in read]
    golds = [_golds(run, rows, reference) for run, rows in read]
    pairs = [_same_rows(first, one, run, system)
             for run, system in zip(others, more, strict=True)]
    changes = [differences(one, system, matched, tests=True)
               for system, matched in zip(more, pairs, strict=True)]
    scores = [{score.name: score for score in run.scores} for run in files.runs]
    means = [[_cell(own[name].value, own[name].interval) for name in shared] for own in scores]
    counts = [[own[name].n for name in shared] for own in scores]
    titles = [title(name) for name in shared]
    known = [own for own in golds if own is not None]
    if len(known) == len(golds):
        from sacrebleu.metrics.bleu import BLEU

        titles += ["F1 (reference)", "BLEU (reference)"]
        signatures["bleu"] = bleu_signature(BLEU(), "bleu")
        for row, numbers, own in zip(means, counts, known, strict=True):
            row += own.means()
            numbers += [int((~np.isnan(own.statistics[:, 0])).sum())] * 2
        for all_, theirs, matched in zip(changes, known[1:], pairs, strict=True):
            all_ += _gold_differences(known[0], theirs, matched)
    together = all(len(set(own)) == 1 for own in counts)
    numbered = ["n"] if together else [f"n ({name})" for name in titles]
    table = Table(
        "scores", "Mean scores with 95 % intervals",
        (Column("system", "text"), *map(Column, titles),
         *(Column(name, "count") for name in numbered)),
        tuple((run.name, *row, *own[:len(numbered)])
              for run, row, own in zip(files.runs, means, counts, strict=True)))
    heading = f"{first.name} against {', '.join(run.name for run in others)}"
    notes = [f"{name}: no manifest is beside this file, so its models and settings are unknown"
             for name in sorted({run.name for run in files.runs
                                 if not all(score.signature for score in run.scores)})]
    notes += sorted({f"{run.name}: {system.unchecked}" for run, system in
                     zip(files.runs, (one, *more), strict=True) if system.unchecked})
    tested = _tested(first, others, titles, changes)
    return Report("compare", heading, (table, tested), signatures), notes


def _tested(
    first: SystemRun, others: Sequence[SystemRun], titles: Sequence[str],
    changes: Sequence[Sequence[PairedDifference]],
) -> Table:
    """The table of the differences of each system from the first."""
    holm_words = f", adjusted for {len(others)} systems (Holm)" if len(others) > 1 else ""
    return Table(
        "differences", f"Differences from {first.name}",
        (Column("metric", "text"), Column("system", "text"), Column("difference"),
         Column("p (bootstrap)", "p"), Column("p (randomisation)", "p"), Column("better", "count"),
         Column("worse", "count"), Column("same", "count"), Column("pairs", "count")),
        tuple((name, run.name, _cell(change.value, change.interval), *p_values, change.better,
               change.worse, change.same, change.n)
              for name, all_ in zip(titles, zip(*changes, strict=True), strict=True)
              for run, change, *p_values in zip(
                  others, all_, holm([one.p_bootstrap for one in all_]),
                  holm([one.p_randomised for one in all_]), strict=True)),
        f"Two-sided p-values{holm_words}: paired bootstrap with {N_BOOTSTRAP:,} resamples, paired "
        f"approximate randomisation with {TRIALS:,} trials, both with seed {SEED}. The "
        "first is sacrebleu's and too small: report the second.")


class _Golds(NamedTuple):
    """The references of each row of a system, and the statistics (rows, 11) of its response beside
    them: F1, and 10 of BLEU. They are NaN for a row without a response."""

    references: list[tuple[str, ...]]
    statistics: Floats

    def means(self) -> list[Cell]:
        there = self.statistics[~np.isnan(self.statistics[:, 0])]
        return [_mean(there[:, 0], lambda sums: sums / len(there)), _mean(there[:, 1:], bleu_of)]


def _golds(run: SystemRun, rows: Iterable[OutputRow], column: str | None) -> _Golds | None:
    """``None`` if a row has no reference."""
    all_, statistics = [], []
    for row in rows:
        references = tuple(_references(row, column))
        all_.append(references)
        if row.get("error") is not None:
            statistics.append([math.nan] * 11)
        elif references:
            said = row.get("response") or ""
            statistics.append([max(token_f1(said, one) for one in references),
                               *bleu_statistics(said, references)])
        elif column is not None:
            raise InputError(f"{run.name}: row {row['id']} has no text in the column {column!r}")
        else:
            return None
    return _Golds(all_, np.array(statistics))


def _references(row: Mapping[str, Any], column: str | None) -> Iterator[str]:
    other = row.get(OTHER.name) or {}
    name = column or next((name for name in REFERENCES if name in other), "")
    value = other.get(name)
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and not is_blank(text):
            yield text


def _mean(rows: Floats, measure: Callable[[Floats], Floats]) -> Cell:
    if not len(rows):
        return None
    drawn = resampled(len(rows), lambda places: measure(rows[places].sum(axis=1)))
    return around(float(measure(rows.sum(axis=0)[None])[0]), drawn)


def _gold_differences(
    first: _Golds, second: _Golds, pairs: Sequence[tuple[int, int]]
) -> list[PairedDifference]:
    one, other = (golds.statistics[[pair[side] for pair in pairs]]
                  for side, golds in enumerate((first, second)))
    there = ~np.isnan(one[:, 0] + other[:, 0])
    for (a, b), counts in zip(pairs, there, strict=True):
        if counts and (was := first.references[a]) != (now := second.references[b]):
            raise InputError(f"the references of two systems differ: {was[0]!r} and {now[0]!r}")
    return [difference("f1", one[there, 0], other[there, 0], tests=True),
            difference("bleu", one[there, 1:], other[there, 1:], bleu_of, tests=True)]


def _cell(value: float | None, ends: tuple[float, float] | None) -> Cell:
    return value if value is None or ends is None else Interval(value, *ends)


def _columns(runs: Sequence[SystemRun], wanted: Sequence[str]) -> list[str]:
    has = [[score.name for score in run.scores] for run in runs]
    for name in wanted:
        for run, there in zip(runs, has, strict=True):
            if name not in there:
                raise InputError(f"{run.name}: has no scores of {name}; its scores are "
                                 f"{', '.join(there)}")
    shared = [name for name in wanted or has[0] if all(name in there for there in has)]
    if not shared:
        raise InputError(f"{runs[0].name} and {runs[1].name} have no score in common: "
                         f"{', '.join(has[0])}; {', '.join(has[1])}")
    return shared


def _signature(runs: Sequence[SystemRun], column: str) -> str:
    """The signature of all runs that have one. InputError: two of them differ."""
    signed = [(run.name, score.signature) for run in runs for score in run.scores
              if score.name == column and score.signature]
    for name, signature in signed[1:]:
        if parse(signed[0][1]) != parse(signature):
            raise mismatch(column, signed[0], (name, signature))
    return signed[0][1] if signed else ""


def _same_rows(
    first: SystemRun, one: SystemValues, second: SystemRun, other: SystemValues
) -> list[tuple[int, int]]:
    """The pairs of rows. InputError: a row has no partner, or a partner with other texts."""
    matched = match(one, other)
    if matched is None:
        raise InputError(f"{second.name}: no row matches a row of {first.name} by id or by "
                         "knowledge, question and history")
    for run, system, side in ((first, one, 0), (second, other, 1)):
        used = {pair[side] for pair in matched.pairs}
        if alone := [id_ for i, id_ in enumerate(system.ids) if i not in used]:
            if twice := repeated(system.ids):
                raise InputError(f"{run.name}: several rows have the id {twice!r}; give each row "
                                 "an id of its own")
            there = first.name if side else second.name
            raise _other_rows(run.name, alone, f"in the other file ({there})")
    if matched.changed:
        parts = next(iter(matched.changed.values()))
        raise _other_rows(second.name, [other.ids[b] for _, b in matched.changed],
                          f"as in {first.name}", f" (other {' and '.join(parts)})")
    return matched.pairs


def _other_rows(name: str, ids: Sequence[str], where: str, how: str = "") -> InputError:
    rows = f"{len(ids):,} {'row is' if len(ids) == 1 else 'rows are'}"
    some = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
    return InputError(f"{name}: {rows} not {where}: {some}{how}; systems are compared on the same "
                      "rows")
