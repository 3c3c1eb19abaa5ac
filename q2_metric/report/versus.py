"""``q2 compare``: the scores of several systems on the same rows, and their paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from q2_metric.errors import InputError
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import parse
from q2_metric.report.compare import (
    Matched,
    PairedDifference,
    SystemValues,
    differences,
    holm,
    match,
)
from q2_metric.report.read import ScoreFiles
from q2_metric.report.systems import SystemRun
from q2_metric.types import SystemScore


@dataclass(frozen=True, slots=True)
class Versus:
    """Systems side by side. ``titles`` are by column. ``scores`` are by column, for each system;
    ``differences`` also, but from the second system on, each minus the first system. Their p-values
    are adjusted over the systems (Holm, 1979). ``notes`` say what could not be checked."""

    names: tuple[str, ...]
    titles: Mapping[str, str]
    scores: Mapping[str, Sequence[SystemScore]]
    differences: Mapping[str, Sequence[PairedDifference]]
    signatures: Mapping[str, str]
    notes: Sequence[str]


def versus(files: ScoreFiles, columns: Sequence[str] = ()) -> Versus:
    """Compares each system with the first one.

    Args:
        columns: the score columns to compare; by default, all that every system has.

    Raises:
        InputError: there is one system, two systems have different rows or signatures, or a system
            lacks one of the columns.
    """
    runs = files.runs
    if len(runs) < 2:
        raise InputError(f"{runs[0].name}: is the only system; name the scores of another, or the "
                         "column that tells systems apart (--systems)")
    shared = _columns(runs, columns)
    signatures = {name: _signature(runs, name) for name in shared}
    systems = [SystemValues.of(run.no_claim, rows, shared)
               for run, rows in zip(runs, files.rows, strict=True)]
    notes = [f"{name}: no manifest is beside this file, so its models and settings are unknown"
             for name in sorted({run.name for run in runs
                                 if not all(one.signature for one in run.scores)})]
    matched = [_same_rows(runs[0], systems[0], run, system)
               for run, system in zip(runs[1:], systems[1:], strict=True)]
    scores = {name: [next(one for one in run.scores if one.name == name) for run in runs]
              for name in shared}
    tested: dict[str, list[PairedDifference]] = {name: [] for name in shared}
    for system, rows in zip(systems[1:], matched, strict=True):
        for one in differences(systems[0], system, rows.pairs, tests=True):
            tested[one.metric].append(one)
    return Versus(tuple(run.name for run in runs), {name: title(name) for name in shared}, scores,
                  {name: _adjusted(all_) for name, all_ in tested.items()}, signatures, notes)

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
