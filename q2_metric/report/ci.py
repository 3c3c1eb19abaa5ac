"""Writes the result of ``q2 gate`` for CI systems, with users' texts escaped as each requires."""

import html
import re
from collections import Counter
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from q2_metric.report.gate import Case, Gate
from q2_metric.rows.plain import number

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


_COMMAND = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
"""The escapes of a workflow command."""
_PROPERTY = str.maketrans({":": "%3A", ",": "%2C"})
"""Further escapes of its properties."""


def as_json(gate: Gate) -> dict[str, Any]:
    return {
        "passed": gate.passed, "headline": gate.headline, "file": gate.name,
        "metric": gate.metric, "threshold": gate.threshold, "allowed": dict(gate.allowed),
        "matched": gate.matched, "change": None if gate.change is None else asdict(gate.change),
        "verdict": gate.verdict.as_json(), "notes": gate.notes(),
        "cases": [asdict(case) for case in gate.cases],
    }
