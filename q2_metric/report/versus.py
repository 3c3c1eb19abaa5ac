"""``q2 compare``: the scores of several systems on the same rows, and their paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from q2_metric.errors import InputError
from q2_metric.evaluation.statistics import N_BOOTSTRAP, SEED, Interval
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import parse
from q2_metric.report.compare import (
    TRIALS,
    Matched,
    PairedDifference,
    SystemValues,
    differences,
    holm,
    match,
)
from q2_metric.report.read import ScoreFiles
from q2_metric.report.systems import SystemRun


def versus(files: ScoreFiles, columns: Sequence[str] = ()) -> tuple[Report, list[str]]:
    """Compares each system with the first one. Returns the tables, and what could not be checked.

    The p-values are adjusted over the systems (Holm, 1979).

    Args:
        columns: the score columns to compare; by default, all that every system has.

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
    one, *more = [SystemValues.of(run.no_claim, rows, shared)
                  for run, rows in zip(files.runs, files.rows, strict=True)]
    matched = [_same_rows(first, one, run, system)
               for run, system in zip(others, more, strict=True)]
    changes = [differences(one, system, rows.pairs, tests=True)
               for system, rows in zip(more, matched, strict=True)]
    scores = Table(
        "scores", "Mean scores with 95 % intervals",
        (Column("system", "text"), *(Column(title(name)) for name in shared), Column("n", "count")),
        tuple(_means(run, shared) for run in files.runs))
    holm_words = f", adjusted for {len(others)} systems (Holm)" if len(others) > 1 else ""
    tested = Table(
        "differences", f"Differences from {first.name}",
        (Column("metric", "text"), Column("system", "text"), Column("difference"),
         Column("p (bootstrap)", "p"), Column("p (randomisation)", "p"), Column("better", "count"),
         Column("worse", "count"), Column("same", "count"), Column("pairs", "count")),
        tuple((title(name), run.name, _cell(change.value, change.interval), change.p_bootstrap,
               change.p_randomised, change.better, change.worse, change.same, change.n)
              for name, all_ in zip(shared, zip(*changes, strict=True), strict=True)
              for run, change in zip(others, _adjusted(all_), strict=True)),
        f"Two-sided p-values{holm_words}: paired bootstrap with {N_BOOTSTRAP:,} resamples, paired "
        f"approximate randomisation with {TRIALS:,} trials, both with seed {SEED}. The first is "
        "sacrebleu's and too small: report the second.")
    heading = f"{first.name} against {', '.join(run.name for run in others)}"
    notes = [f"{name}: no manifest is beside this file, so its models and settings are unknown"
             for name in sorted({run.name for run in files.runs
                                 if not all(score.signature for score in run.scores)})]
    return Report("compare", heading, (scores, tested), signatures), notes


def _means(run: SystemRun, names: Sequence[str]) -> tuple[Cell, ...]:
    by_name = {score.name: score for score in run.scores}
    scores = [by_name[name] for name in names]
    return (run.name, *(_cell(score.value, score.interval) for score in scores),
            max(score.n for score in scores))


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
        (_, was), (_, now) = parse(signed[0][1]), parse(signature)
        if was != now:
            key = next(key for key in (was | now) if was.get(key) != now.get(key))
            raise InputError(
                f"{column} was computed by different models, settings or versions: {key} is "
                f"{was.get(key)} in {signed[0][0]} and {now.get(key)} in {name}; "
                "score both again with one version")
    return signed[0][1] if signed else ""


def _same_rows(
    first: SystemRun, one: SystemValues, second: SystemRun, other: SystemValues
) -> Matched:
    """The pairs of rows. InputError: a row has no partner, or a partner with other texts."""
    matched = match(one, other)
    if matched is None:
        raise InputError(f"{second.name}: no row matches a row of {first.name} by id or by "
                         "knowledge, question and history")
    for run, system, side in ((first, one, 0), (second, other, 1)):
        used = {pair[side] for pair in matched.pairs}
        if alone := [id_ for i, id_ in enumerate(system.ids) if i not in used]:
            raise InputError(f"{run.name}: {_number(alone)} not in the other file "
                             f"({first.name if side else second.name}): {_some(alone)}; systems "
                             "are compared on the same rows")
    if matched.changed:
        changed = [other.ids[b] for _, b in matched.changed]
        parts = next(iter(matched.changed.values()))
        raise InputError(f"{second.name}: {_number(changed)} not as in {first.name}: "
                         f"{_some(changed)} (other {' and '.join(parts)}); systems are compared "
                         "on the same rows")
    return matched


def _number(ids: Sequence[str]) -> str:
    return f"{len(ids):,} {'row is' if len(ids) == 1 else 'rows are'}"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(islice(ids, 3)) + (", …" if len(ids) > 3 else "")


def _adjusted(all_: Sequence[PairedDifference]) -> list[PairedDifference]:
    adjusted = zip(all_, holm([one.p_bootstrap for one in all_]),
                   holm([one.p_randomised for one in all_]), strict=True)
    return [replace(one, p_bootstrap=a, p_randomised=b) for one, a, b in adjusted]
