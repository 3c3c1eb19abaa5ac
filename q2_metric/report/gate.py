"""The gate of ``q2 gate``: decides which responses fail, and whether the whole run passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.metrics.signature import of_metric, shortened
from q2_metric.report.compare import PairedDifference, SystemValues, differences, match
from q2_metric.report.read import ScoreFiles
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import REASONS

_SILENT = ("no_claim", "empty")

Outcome = Literal["passed", "failed", "known", "skipped", "error"]
"""The gate's decision on a response. "known": the response failed, and failed in the baseline too.
"skipped": it has no score, because it claims nothing or has no knowledge. "error": it could not be
scored."""


@dataclass(frozen=True, slots=True)
class Case:
    """A response and the gate's decision on it.

    Attributes:
        id: id of the row.
        response: text of the response; "" if the file has no texts.
        score: score of the response in [0, 1]; ``None`` if it has none.
        before: score of the same row in the baseline; ``None`` if it has none.
        outcome: the decision.
        why: the reason for the decision, in one line.
        findings: one line for each claim that is not supported. Empty if the file has no claims.
    """

    id: str
    response: str
    score: float | None
    before: float | None
    outcome: Outcome
    why: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's decision on a file of scores.

    Attributes:
        name: name of the file.
        metric: the metric whose scores are checked.
        threshold: a response with a lower score fails.
        cases: the responses, in the order of the rows, each with the decision on it.
        allowed: the gate passes if at most this many responses fail.
        change: how the scores differ from those of the baseline, over matched rows; ``None``
            without a baseline.
        matched: number of rows that were matched with a row of the baseline.
    """

    name: str
    metric: str
    threshold: float
    cases: tuple[Case, ...]
    allowed: int = 0
    change: PairedDifference | None = None
    matched: int = 0

    def of(self, *outcomes: Outcome) -> list[Case]:
        """The responses with these decisions, lowest score first."""
        cases = [case for case in self.cases if case.outcome in outcomes]
        return sorted(cases, key=lambda case: -1.0 if case.score is None else case.score)

    @property
    def worse(self) -> bool:
        """Whether the mean score fell since the baseline: the 95 % interval of the mean difference
        over matched rows is entirely below 0."""
        change = self.change
        return change is not None and change.interval is not None and change.interval[1] < 0

    @property
    def passed(self) -> bool:
        """Whether the gate passes. It fails if too many responses fail, if the mean score fell, or
        if no response has a score."""
        known = not self.cases or any(case.score is not None for case in self.cases)
        return known and len(self.of("failed", "error")) <= self.allowed and not self.worse

    @property
    def headline(self) -> str:
        """How many responses fail, in one line."""
        failed = len(self.of("failed", "error"))
        new = " newly" if self.change is not None else ""
        return (f"{failed} of {len(self.cases)} responses{new} "
                f"{'fails' if failed == 1 else 'fail'} "
                f"({self.metric} under {self.threshold:g})")

    def notes(self) -> list[str]:
        """Further lines to print: failures known from the baseline, responses without a score, and
        how the mean changed."""
        lines = []
        if known := len(self.of("known")):
            lines.append(f"{known} failed in the baseline too")
        if skipped := len(self.of("skipped")):
            lines.append(f"{skipped} without a score: no claim or no knowledge")
        if skipped and all(case.score is None for case in self.cases):
            lines.append("no response has a score")
        if self.change is not None:
            lines.append(f"{self.matched} of {len(self.cases)} rows are in the baseline")
        if self.change is not None and self.change.value is not None:
            ends = self.change.interval
            interval = f" (95 % interval {ends[0]:+.3f} to {ends[1]:+.3f})" if ends else ""
            lines.append(f"mean {self.metric} changed by {self.change.value:+.3f}{interval}")
        return lines


def gate(
    scored: ScoreFiles, metric: str, threshold: float, baseline: ScoreFiles | None = None,
    allowed: int = 0,
) -> Gate:
    """Decides which responses of a file fail.

    Without a baseline, each response whose score is below ``threshold`` fails. With a baseline,
    such a response counts as "known" if its row was below ``threshold`` there too. A response that
    claims nothing also fails if its row had a score in the baseline.

    Args:
        scored: the scores of one file.
        metric: the metric whose scores are checked.
        threshold: the lowest score that passes.
        baseline: the scores of an earlier run.
        allowed: the gate passes if at most this many responses fail.

    Raises:
        InputError: a file has no scores of the metric or has several systems, the files were scored
            by different models or settings, or no row can be matched.
    """
    name, rows = _one(scored, metric)
    before: dict[int, float | None] = {}
    change = None
    if baseline is not None:
        old_name, old = _one(baseline, metric)
        _check_signatures(scored, baseline, metric)
        first, second = _column(baseline, old, metric), _column(scored, rows, metric)
        matched = match(first, second)
        if matched is None:
            raise InputError(f"{name}: no row matches a row of {old_name} by id or by knowledge "
                             "and history")
        pairs = matched[1]
        before = {here: old[there].get(metric) for there, here in pairs}
        change = differences(first, second, pairs)[0]
    cases = tuple(_case(row, metric, threshold, i in before, before.get(i))
                  for i, row in enumerate(rows))
    return Gate(name, metric, threshold, cases, allowed, change, len(before))


def _one(scored: ScoreFiles, metric: str) -> tuple[str, list[OutputRow]]:
    if len(scored.runs) != 1:
        names = ", ".join(run.name for run in scored.runs)
        raise InputError(f"the gate takes the scores of one file, not of several: {names}")
    [run] = scored.runs
    if metric not in {score.name for score in run.scores}:
        raise InputError(f"{run.name}: has no scores of {metric}; its scores are "
                         f"{', '.join(score.name for score in run.scores)}")
    return run.name, list(scored)


def _check_signatures(scored: ScoreFiles, baseline: ScoreFiles, metric: str) -> None:
    # The gate compares the scores of rows, so the files may differ in how means are computed.
    signed = [of_metric({score.name: score.signature for score in file.runs[0].scores}[metric])
              for file in (scored, baseline)]
    if all(signed) and signed[0] != signed[1]:
        raise InputError(
            f"{metric} was computed by different models, settings or versions: "
            f"{shortened(signed[0])} here, {shortened(signed[1])} in the baseline; "
            "score both again with one version")


def _column(scored: ScoreFiles, rows: Iterable[OutputRow], metric: str) -> SystemValues:
    [signature] = [score.signature for score in scored.runs[0].scores if score.name == metric]
    zero = "|no_claim:zero" in signature
    column = SystemValues()
    for row in rows:
        silent = zero and row.get(metric) is None and row.get("reason") in _SILENT
        column.add({**row, metric: 0.0} if silent else row, [metric])
    return column


def _case(
    row: Mapping[str, Any], metric: str, threshold: float, matched: bool, before: float | None,
) -> Case:
    outcome, why = _outcome(row, row.get(metric), threshold, before)
    if matched and outcome in ("failed", "known") and before is not None:
        why += f"; it was {before:.3f}"
    return Case(row["id"], row.get("response") or "", row.get(metric), before, outcome, why,
                tuple(_findings(row.get("claims") or ())))


def _outcome(
    row: Mapping[str, Any], score: float | None, threshold: float, before: float | None,
) -> tuple[Outcome, str]:
    if row.get("error") is not None:
        return "error", f"could not be scored: {row['error']}"
    if score is None:
        silent = before is not None and row.get("reason") in _SILENT
        reason: Any = row.get("reason")
        return ("failed" if silent else "skipped",
                f"has no score: {REASONS.get(reason, reason or 'no reason is recorded')}")
    words = f"has {score:.3f}"
    if score >= threshold:
        return "passed", words
    known = before is not None and before < threshold
    return ("known" if known else "failed"), words


def _findings(claims: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for claim in claims:
        if claim.get("verdict") not in ("supported", "not checked"):
            nearest = " ".join((claim.get("passage") or "").split())
            says = f"; the nearest passage says: {nearest}" if nearest else ""
            yield f"{claim.get('verdict')}: {' '.join((claim.get('text') or '').split())}{says}"
