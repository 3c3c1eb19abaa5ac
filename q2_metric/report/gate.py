"""The gate of ``q2 gate``: decides which responses fail, and whether the whole run passes. Writes
the result for CI systems, with users' texts escaped as each requires."""

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree

from q2_metric.errors import InputError
from q2_metric.metrics.signature import mismatch, of_metric
from q2_metric.report.compare import Matched, PairedDifference, SystemValues, differences, match
from q2_metric.report.read import ScoreFiles
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.plain import REASONS, number
from q2_metric.scoring import verdict as verdicts

Outcome = Literal[
    "passed", "failed", "known", "skipped", "error", "unscored", "changed", "missing"]
"""The gate's decision on a row.

- "failed": its score is under the threshold. "known": so was its score in the baseline.
- "error": it could not be scored.
- "skipped": it claims nothing or has no knowledge, and had no score in the baseline either.
- "unscored": it has no score, but had one in the baseline.
- "changed": it passes, but its texts are not those of the baseline's row with the same id.
- "missing": only the baseline has it.
"""

_WORDS: Mapping[Outcome, str] = {
    "missing": "only in the baseline",
    "unscored": "with a score in the baseline and none now",
    "changed": "with other texts than in the baseline",
}

FAILING: Mapping[str, tuple[Outcome, ...]] = {
    "allow": ("failed", "error"), **{f"allow_{outcome}": (outcome,) for outcome in _WORDS}}

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SHOWN = 20
"""Most failed responses in the summary and in the annotations. JUnit and JSON contain all."""

_LONGEST = 400
"""Most characters of a text in the summary. A comment on GitHub has at most 65,536."""

SUITE = "q2 gate "
JUNIT = f'<testsuites><testsuite name="{SUITE}'
"""The beginning of a JUnit file: the name of the test suite follows."""

COMMENT = "<!-- q2 gate -->\n"
"""The first line of a comment, by which the next run finds and replaces it."""

_COMMAND = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
"""The escapes of a workflow command."""
_PROPERTY = str.maketrans({":": "%3A", ",": "%2C"})
"""Further escapes of its properties."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row and the gate's decision on it. ``findings`` has a line for each unsupported claim (if
    it failed without any, for the least supported one); ``reason`` says why there is no score.
    ``new`` is true if there is a baseline, which lacks the row."""

    id: str
    response: str
    score: float | None
    before: float | None
    outcome: Outcome
    why: str
    findings: tuple[str, ...] = ()
    reason: str | None = None
    new: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's decision on a file of scores.

    ``cases`` ends with those that only the baseline has. ``allowed`` says, by key of
    :data:`FAILING`, how many cases still pass (``None``: any number; a missing key: 0). ``matched``
    is the number of rows that are in the baseline. The gate does not judge by ``verdict``.
    """

    name: str
    metric: str
    threshold: float
    cases: tuple[Case, ...]
    allowed: Mapping[str, int | None]
    change: PairedDifference | None = None
    matched: int = 0
    verdict: verdicts.VerdictCounts = field(default_factory=verdicts.VerdictCounts)
    remarks: tuple[str, ...] = ()

    def of(self, *outcomes: Outcome) -> list[Case]:
        """The cases with these outcomes, lowest score first."""
        cases = [case for case in self.cases if case.outcome in outcomes]
        return sorted(cases, key=lambda case: -1.0 if case.score is None else case.score)

    def refused(self) -> list[Case]:
        """The cases because of which the gate fails, lowest score first within each kind."""
        kinds = [(self.of(*outcomes), self.allowed.get(option, 0))
                 for option, outcomes in FAILING.items()]
        return [case for cases, most in kinds if most is not None and len(cases) > most
                for case in cases]

    @property
    def passed(self) -> bool:
        return not self.refused() and not self.whole

    @property
    def whole(self) -> dict[str, str]:
        """Why the run as a whole fails: the reasons by a short name.

        It fails if the 95 % interval of the change of the mean is below 0, if no response has a
        score, or if more than half of the responses, or of those that the baseline lacks, are
        empty, have no knowledge or are not in English. Then the retrieval or the generator may be
        broken."""
        change = self.change
        is_worse = change is not None and change.interval is not None and change.interval[1] < 0
        reasons = {"mean": self.mean_change} if is_worse else {}
        rows = [case for case in self.cases if case.outcome != "missing"]
        if self.allowed.get("allow_unscored", 0) is not None:
            for group, few in (("responses", rows), ("new rows", [one for one in rows if one.new])):
                blank = [case for case in few if case.score is None
                         and case.reason not in (None, "no_claim", "fault")]
                if 2 * len(blank) > len(few):
                    reasons["scores"] = (f"more than half of the {group} have no score "
                                         "(--allow-unscored all accepts this)")
        if rows and all(case.score is None for case in rows):
            reasons["scores"] = "no response has a score"
        return reasons

    @property
    def headline(self) -> str:
        failed, rows = len(self.of("failed", "error")), len(self.cases) - len(self.of("missing"))
        new = " newly" if self.change is not None else ""
        return (f"{failed} of {rows} responses{new} {'fails' if failed == 1 else 'fail'} "
                f"({self.metric} under {self.threshold:g})")

    def shown(self) -> list[Case]:
        """The cases to print: those because of which the gate fails, then allowed failures."""
        return list(dict.fromkeys([*self.refused(), *self.of("failed", "error")]))

    @property
    def mean_change(self) -> str:
        change = self.change
        if change is None or change.value is None:
            return ""
        ends = change.interval
        interval = f" (95 % interval {ends[0]:+.3f} to {ends[1]:+.3f})" if ends else ""
        return (f"mean {self.metric} changed by {change.value:+.3f}{interval} over "
                f"{change.n} {'pair' if change.n == 1 else 'pairs'}")

    def notes(self) -> list[str]:
        lines = [self.verdict.headline] if self.verdict.headline else []
        if known := len(self.of("known")):
            lines.append(f"{known} failed in the baseline too")
        skipped = Counter(case.reason for case in self.of("skipped"))
        lines += [f"{skipped[reason]} without a score: {words}"
                  for reason, words in REASONS.items() if skipped[reason]]
        refused = {case.outcome for case in self.refused()}
        for outcome, words in _WORDS.items():
            if n := len(self.of(outcome)):
                option = f"--allow-{outcome}"
                advice = (f"{option} all accepts this" if outcome in refused
                          else f"allowed by {option}")
                lines.append(f"{n} {'row' if n == 1 else 'rows'} {words} ({advice})")
        lines += [reason for name, reason in self.whole.items() if name != "mean"]
        if self.change is not None:
            rows = len(self.cases) - len(self.of("missing"))
            lines.append(f"{self.matched} of {rows} rows are in the baseline")
        return [*lines, *filter(None, [self.mean_change]), *self.remarks]


def gate(
    scored: ScoreFiles, metric: str, threshold: float, baseline: ScoreFiles | None = None,
    allowed: Mapping[str, int | None] = {},
) -> Gate:
    """Decides which responses of a file fail: those with a score below ``threshold``.

    With a baseline, such a response is only "known" if its row was below ``threshold`` there too,
    and :data:`FAILING` lists what else fails. InputError: a file has no scores of the metric, has
    several systems or has a score outside [0, 1]; the files were scored by different models or
    settings; or no row can be matched."""
    name, rows, signed = _one(scored, metric)
    unsigned = [] if signed else [name]
    old: list[OutputRow] = []
    matched, change, unchecked = Matched("id", []), None, ""
    if baseline is not None:
        old_name, old, old_signed = _one(baseline, metric)
        unsigned += [] if old_signed else [old_name]
        if signed and old_signed and signed != old_signed:
            raise mismatch(metric, (old_name, old_signed), (name, signed))
        first = SystemValues(baseline.runs[0].no_claim, old, [metric])
        second = SystemValues(scored.runs[0].no_claim, rows, [metric])
        found = match(first, second)
        if found is None:
            raise InputError(f"{name}: no row matches a row of {old_name} by id or by knowledge "
                             "and history")
        matched, change = found, differences(first, second, found.pairs)[0]
        unchecked = first.unchecked or second.unchecked
    cases = _cases(rows, old, matched, metric, threshold, allowed)
    verdict = verdicts.VerdictCounts()
    for row in rows:
        verdict.add(row)
    remarks = [f"{file}: no manifest is beside this file, so its models and settings are unknown, "
               "and the file may have been edited" for file in unsigned]
    return Gate(name, metric, threshold, tuple(cases), allowed, change, len(matched.pairs),
                verdict, (*remarks, *filter(None, [unchecked])))


def _one(scored: ScoreFiles, metric: str) -> tuple[str, list[OutputRow], str]:
    """The name, the rows and the metric's signature of the only system. The gate compares the
    scores of rows, so the signature does not say how means are computed."""
    if len(scored.runs) != 1:
        names = ", ".join(run.name for run in scored.runs)
        raise InputError(f"the gate takes the scores of one file, not of several: {names}")
    [run] = scored.runs
    signatures = {score.name: score.signature for score in run.scores}
    if metric not in signatures:
        raise InputError(
            f"{run.name}: has no scores of {metric}; its scores are {', '.join(signatures)}")
    return run.name, list(scored), of_metric(signatures[metric])


def _cases(
    rows: Sequence[OutputRow], old: Sequence[OutputRow], matched: Matched, metric: str,
    threshold: float, allowed: Mapping[str, int | None],
) -> list[Case]:
    places = {here: there for there, here in matched.pairs}
    most = allowed.get("allow_changed", 0)
    told = most is not None and len(matched.changed) > most
    cases = []
    for i, row in enumerate(rows):
        there = places.get(i)
        before = None if there is None else old[there].get(metric)
        outcome, why = _outcome(row, metric, threshold, before)
        if outcome in ("failed", "known", "unscored") and before is not None:
            why += f"; it was {before:.3f}"
        if there is not None and (parts := matched.changed.get((there, i))) and told:
            why += f"; it is another row than in the baseline: other {' and '.join(parts)}"
            outcome = "changed" if outcome in ("passed", "known", "skipped") else outcome
        claims = row.get("claims") or ()
        shown = verdicts.unsupported(claims)
        if outcome == "failed" and not shown:
            judged = [claim for claim in claims if claim["support"] is not None]
            shown = sorted(judged, key=lambda claim: claim["support"])[:1]
        cases.append(Case(row["id"], row.get("response") or "", row.get(metric), before, outcome,
                          why, tuple(map(verdicts.claim_words, shown)), row.get("reason"),
                          new=bool(old) and there is None))
    in_both = set(places.values())
    cases += [Case(row["id"], row.get("response") or "", None, row.get(metric), "missing",
                   "is only in the baseline") for i, row in enumerate(old) if i not in in_both]
    return cases


def _outcome(
    row: Mapping[str, Any], metric: str, threshold: float, before: float | None,
) -> tuple[Outcome, str]:
    if row.get("error") is not None:
        return "error", f"could not be scored: {row['error']}"
    score: float | None = row.get(metric)
    if score is None:
        reason: Any = row.get("reason")
        words = f"has no score: {REASONS.get(reason, reason or 'no reason is recorded')}"
        if before is not None:
            return "unscored", words
        return "skipped" if reason in REASONS and reason != "fault" else "error", words
    words = f"has {score:.3f}"
    if not verdicts.falls_short(row, metric, threshold):
        return "passed", words
    return ("known" if before is not None and before < threshold else "failed"), words


def junit(gate: Gate) -> bytes:
    """The result of a gate as JUnit XML, with a test case for each row. A case that the gate does
    not refuse, and that did not pass, is a skipped test. Each reason why the whole
    run fails is a failed test."""
    refused = set(gate.refused())
    tests = [(case, "" if case.outcome == "passed" else "skipped" if case not in refused
              else "error" if case.outcome == "error" else "failure") for case in gate.cases]
    tests += [(Case(name, "", None, None, "failed", why), "failure")
              for name, why in gate.whole.items()]
    counts = Counter(kind for _, kind in tests)
    whole = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        whole, "testsuite", name=_xml(SUITE + gate.metric), tests=str(len(tests)),
        failures=str(counts["failure"]), errors=str(counts["error"]),
        skipped=str(counts["skipped"]))
    for case, kind in tests:
        test = ElementTree.SubElement(
            suite, "testcase", classname=_xml(gate.name), name=_xml(case.id))
        if kind:
            words = "failed in the baseline too: " if case.outcome == "known" else ""
            element = ElementTree.SubElement(test, kind, message=_xml(words + case.why))
            element.text = _xml("\n".join([case.response, *case.findings]))
    text: bytes = ElementTree.tostring(whole, encoding="utf-8", xml_declaration=True)
    return text


def _xml(text: str) -> str:
    return _NOT_XML.sub("�", text)


def summary(gate: Gate) -> str:
    """Markdown for GitHub's step summary: whether the gate passed, then the worst responses."""
    lines = [f"### q2 gate: {'passed' if gate.passed else 'failed'}", "", f"{gate.headline}.", ""]
    lines += [f"- {note}" for note in gate.notes()]
    failed = gate.shown()
    if failed:
        lines += ["", f"| row | {gate.metric} | before | response |", "|---|---|---|---|"]
    for case in failed[:SHOWN]:
        said = "<br>".join(map(_cell, [case.response, *case.findings]))
        lines.append(
            f"| {_cell(case.id)} | {number(case.score)} | {number(case.before)} | {said} |")
    if len(failed) > SHOWN:
        lines += ["", f"and {len(failed) - SHOWN} more"]
    return "\n".join(lines) + "\n"


def comment(gate: Gate) -> bytes:
    return (COMMENT + summary(gate)).encode()


def _cell(text: str) -> str:
    """Escapes a text so that Markdown prints it unchanged in a cell of a table."""
    words = " ".join(text.split())
    short = words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"
    # A quote stays as it is: the # of its entity would be escaped again.
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|~-])", r"\\\1", html.escape(short, quote=False))
    # A word joiner, which cannot be seen, keeps GitHub from calling @people and linking #numbers.
    return re.sub(r"([@#])(?=\w)", "\\1\u2060", escaped)


def workflow_commands(gate: Gate) -> list[str]:
    """The lines that GitHub Actions turns into annotations of the run, one for each failure."""
    messages = [(f"{gate.metric}: row {case.id}", " | ".join([case.why, *case.findings]))
                for case in gate.shown()[:SHOWN]]
    messages += [(f"{gate.metric}: {name}", why) for name, why in gate.whole.items()]
    return [f"::error title={title.translate(_COMMAND | _PROPERTY)}::{message.translate(_COMMAND)}"
            for title, message in messages]


def as_json(gate: Gate) -> dict[str, Any]:
    return {
        "passed": gate.passed, "headline": gate.headline, "file": gate.name,
        "metric": gate.metric, "threshold": gate.threshold, "allowed": dict(gate.allowed),
        "matched": gate.matched, "change": None if gate.change is None else asdict(gate.change),
        "verdict": gate.verdict.as_json(), "notes": gate.notes(),
        "cases": [asdict(case) for case in gate.cases],
    }
