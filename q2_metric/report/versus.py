"""``q2 compare``: the scores of several systems on the same rows, and their paired differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from q2_metric.engine.result import SystemRun
from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import N_BOOTSTRAP, SEED, Floats, Interval, around
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.bootstrap import resampled
from q2_metric.metrics.overlap import bleu_of, bleu_signature, bleu_statistics
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import mismatch, parse
from q2_metric.report import compare
from q2_metric.report.read import ScoreFiles
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.rows.record import repeated
from q2_metric.text.given import is_blank
from q2_metric.text.normalise import token_f1

REFERENCES = ("reference", "references", "gold", "gold_answer", "ground_truth", "expected_output",
              "target")
"""The column with reference responses is the first of these, if the user names none."""


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
    one, *more = [compare.SystemValues(run.no_claim, rows, shared) for run, rows in read]
    golds = [_golds(run, rows, reference) for run, rows in read]
    pairs = [_same_rows(first, one, run, system)
             for run, system in zip(others, more, strict=True)]
    changes = [compare.differences(one, system, matched, tests=True)
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
    changes: Sequence[Sequence[compare.PairedDifference]],
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
                  others, all_, compare.holm([one.p_bootstrap for one in all_]),
                  compare.holm([one.p_randomised for one in all_]), strict=True)),
        f"Two-sided p-values{holm_words}: paired bootstrap with {N_BOOTSTRAP:,} resamples, paired "
        f"approximate randomisation with {compare.TRIALS:,} trials, both with seed {SEED}. The "
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
        all_.append(references := tuple(_references(row, column)))
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
) -> list[compare.PairedDifference]:
    one, other = (golds.statistics[[pair[side] for pair in pairs]]
                  for side, golds in enumerate((first, second)))
    there = ~np.isnan(one[:, 0] + other[:, 0])
    for (a, b), counts in zip(pairs, there, strict=True):
        if counts and (was := first.references[a]) != (now := second.references[b]):
            raise InputError(f"the references of two systems differ: {was[0]!r} and {now[0]!r}")
    return [compare.difference("f1", one[there, 0], other[there, 0], tests=True),
            compare.difference("bleu", one[there, 1:], other[there, 1:], bleu_of, tests=True)]


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
    first: SystemRun, one: compare.SystemValues, second: SystemRun, other: compare.SystemValues
) -> list[tuple[int, int]]:
    """The pairs of rows. InputError: a row has no partner, or a partner with other texts."""
    matched = compare.match(one, other)
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
