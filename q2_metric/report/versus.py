"""``q2 compare``: the scores of several systems on the same rows, and their paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError
from q2_metric.metrics.overlap import bleu_of, bleu_signature, bleu_statistics
from q2_metric.metrics.registry import title
from q2_metric.metrics.signature import parse
from q2_metric.report.compare import (
    Matched,
    PairedDifference,
    SystemValues,
    difference,
    differences,
    match,
)
from q2_metric.report.paired import holm, mean, score_interval
from q2_metric.report.read import ScoreFiles
from q2_metric.report.systems import SystemRun
from q2_metric.rows.fields import OTHER, OutputRow
from q2_metric.text.given import is_blank
from q2_metric.text.normalise import token_f1
from q2_metric.types import SystemScore

if TYPE_CHECKING:
    from q2_metric.report.paired import Floats

REFERENCES = ("reference", "references", "gold", "gold_answer", "ground_truth", "expected_output",
              "target")
"""The column with reference responses is the first of these, if the user names none."""


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


def versus(
    files: ScoreFiles, columns: Sequence[str] = (), reference: str | None = None
) -> Versus:
    """Compares each system with the first one.

    Args:
        columns: the score columns to compare; by default, all that every system has.
        reference: the column with reference responses. Token F1 and BLEU are added if there is one.

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
    golds = [_golds(run, rows, reference) for run, rows in zip(runs, files.rows, strict=True)]
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
    titles = {name: title(name) for name in shared}
    if all(golds) or reference is not None:
        from sacrebleu.metrics.bleu import BLEU

        for name in _MEASURES:
            scores[name] = [_against_gold(name, gold) for gold in golds]
            tested[name] = [_gold_difference(name, golds[0], gold, rows.pairs)
                            for gold, rows in zip(golds[1:], matched, strict=True)]
        signatures["bleu"] = bleu_signature(BLEU(), "bleu")
        titles |= {"f1": "F1 (reference)", "bleu": "BLEU (reference)"}
    return Versus(tuple(run.name for run in runs), titles, scores,
                  {name: _adjusted(all_) for name, all_ in tested.items()}, signatures, notes)


@dataclass(frozen=True, slots=True)
class _Gold:
    """A response beside its references. ``statistics`` are those of :data:`_MEASURES`."""

    references: tuple[str, ...]
    statistics: Mapping[str, Sequence[float]]


def _golds(
    run: SystemRun, rows: Iterable[OutputRow], column: str | None
) -> list[_Gold | None]:
    """For each row, its response beside the references; ``None`` for a row without a response.
    Empty if a row has no reference."""
    golds: list[_Gold | None] = []
    for row in rows:
        references = tuple(_references(row, column))
        if row.get("error") is not None:
            golds.append(None)
        elif references:
            said = row.get("response") or ""
            f1 = max(token_f1(said, one) for one in references)
            golds.append(_Gold(
                references, {"f1": [f1, 1.0], "bleu": bleu_statistics(said, references)}))
        elif column is not None:
            raise InputError(f"{run.name}: row {row['id']} has no text in the column {column!r}")
        else:
            return []
    return golds


def _references(row: Mapping[str, Any], column: str | None) -> Iterator[str]:
    other = row.get(OTHER.name) or {}
    name = column or next((name for name in REFERENCES if name in other), "")
    value = other.get(name)
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and not is_blank(text):
            yield text


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


_MEASURES = {"f1": (mean, 2), "bleu": (bleu_of, 10)}
"""By measure of the similarity to references: its :data:`~q2_metric.report.paired.Measure` and the
number of its statistics."""


def _number(ids: Sequence[str]) -> str:
    return f"{len(ids):,} {'row is' if len(ids) == 1 else 'rows are'}"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(islice(ids, 3)) + (", …" if len(ids) > 3 else "")


def _statistics(name: str, golds: Sequence[_Gold | None]) -> Floats:
    import numpy as np

    _, width = _MEASURES[name]
    return np.array([[math.nan] * width if gold is None else gold.statistics[name]
                     for gold in golds])


def _against_gold(name: str, golds: Sequence[_Gold | None]) -> SystemScore:
    import numpy as np

    rows = _statistics(name, golds)
    rows = rows[~np.isnan(rows[:, 0])]
    measure, _ = _MEASURES[name]
    value, interval = (float(measure(rows.sum(0, keepdims=True))[0]),
                       score_interval(rows, measure)) if len(rows) else (None, None)
    return SystemScore(name, value, len(rows), 0, interval, "")


def _gold_difference(
    name: str, first: Sequence[_Gold | None], second: Sequence[_Gold | None],
    pairs: Sequence[tuple[int, int]],
) -> PairedDifference:
    one, other = [first[a] for a, _ in pairs], [second[b] for _, b in pairs]
    for gold, beside in zip(one, other, strict=True):
        if gold is not None and beside is not None and gold.references != beside.references:
            raise InputError(f"the references of two systems differ: {gold.references[0]!r} and "
                             f"{beside.references[0]!r}")
    measure, _ = _MEASURES[name]
    sides = [_statistics(name, golds) for golds in (one, other)]
    rows = [[math.nan if gold is None else float(measure(_statistics(name, [gold]))[0])
             for gold in golds] for golds in (one, other)]
    return difference(name, *rows, tests=True, corpus=(sides[0], sides[1], measure))


def _adjusted(all_: Sequence[PairedDifference]) -> list[PairedDifference]:
    adjusted = zip(all_, holm([one.p_bootstrap for one in all_]),
                   holm([one.p_randomised for one in all_]), strict=True)
    return [replace(one, p_bootstrap=a, p_randomised=b) for one, a, b in adjusted]
