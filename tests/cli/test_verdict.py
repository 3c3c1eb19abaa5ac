"""The verdict comes first, and claims are told apart by a sign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from q2_metric.cli.explain import marked
from q2_metric.cli.main import main
from q2_metric.cli.render import console, print_verdict
from q2_metric.scoring.verdict import VerdictCounts
from q2_metric.types import contribution_words

KNOWLEDGE = "Refunds are paid within five days. A cabin costs 95 euros."
RESPONSES = ["Refunds take 5 days, and a cabin costs 120 euros.", "A cabin costs 95 euros."]


def claim(text: str, start: int, end: int, verdict: str, support: float) -> dict[str, object]:
    return {"text": text, "start": start, "end": end, "verdict": verdict, "support": support}


def test_the_worst_responses_are_named() -> None:
    verdict = VerdictCounts()
    for i, support in enumerate([0.4, 0.1, 0.3, 0.2]):
        verdict.add({"id": f"r{i}", "knowledge": "A cabin costs 95 euros. It is blue.",
                     "claims": [claim("A cabin is red.", 0, 15, "not found", support),
                                claim("A cabin.", 0, 8, "supported", 0.9)]})
    verdict.add({"id": "fine", "claims": [claim("x", 0, 1, "supported", 0.9)]})
    verdict.add({"id": "silent", "claims": []})
    verdict.add({"id": "bad", "claims": None})
    assert verdict.headline == "4 of 5 responses with claims have an unsupported claim"
    assert [one.id for one in verdict.worst] == ["r1", "r3", "r2"]
    assert verdict.worst[0].source == "A cabin costs 95 euros."
    assert VerdictCounts.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict


def test_a_long_word_is_cut_and_not_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = VerdictCounts()
    verdict.add({"id": "r", "knowledge": KNOWLEDGE,
                 "claims": [claim("a" * 300, 0, 300, "not found", 0.1)]})
    print_verdict(console(), verdict)
    assert f"r  {'a' * 199}…\n" in capsys.readouterr().out


def test_the_inner_claim_is_marked_inside_the_outer() -> None:
    text = "Anna, a cook, sings."
    shown = marked(text, [claim("Anna is a cook.", 6, 12, "contradicted", 0.0),
                          claim("Anna sings.", 0, 20, "supported", 1.0)])
    assert shown.plain == "Anna, a cook≠, sings.✓"
    styles = {(span.start, span.end): span.style for span in shown.spans}
    assert styles[12, 13] == "bold magenta"


@pytest.mark.parametrize(("contribution", "words"), [
    (-0.914, "lowers the score a lot"), (0.5, "raises the score somewhat"),
    (-0.08, "lowers the score a little"), (None, "raises the score a little")])
def test_contributions_are_words(contribution: float | None, words: str) -> None:
    assert contribution_words(contribution) == words


def test_score_says_the_verdict_first(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({"response": one, "knowledge": KNOWLEDGE}) + "\n"
                            for one in RESPONSES), encoding="utf-8")
    done = CliRunner().invoke(main, ["score", str(path), "--metrics", "groundedness",
                                     "--out", str(tmp_path / "out.jsonl")])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "1 of 2 responses with claims has an unsupported claim (1 contradicted)"
    assert lines[1] == "1 of 2 responses fails q2 gate (groundedness under 0.5)"
    assert lines[2:4] == ["≠ row 1  A cabin costs 120 euros.",
                          "  the sources say: A cabin costs 95 euros."]
    assert "coverage" not in done.output
    assert "fallback" not in done.output


def test_a_row_that_cannot_be_read_is_told_from_a_low_score(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"response": KNOWLEDGE, "knowledge": KNOWLEDGE}) + "\n"
                    + json.dumps({"response": 5, "knowledge": KNOWLEDGE}) + "\n")
    done = CliRunner().invoke(main, ["score", str(path), "--metrics", "groundedness"])
    assert ("1 of 2 responses fails q2 gate (groundedness under 0.5; 1 could not be scored)"
            in done.output)


def test_explain_shows_no_logits() -> None:
    done = CliRunner().invoke(main, ["explain", "--metrics", "groundedness",
                                     "--knowledge", KNOWLEDGE, "--response", RESPONSES[0]])
    assert done.exit_code == 0, done.output
    assert "Refunds take 5 days✓, and a cabin costs 120 euros≠." in done.output
    assert "lowers the score" in done.output
    assert "moves the score" not in done.output
    assert "-2." not in done.output
