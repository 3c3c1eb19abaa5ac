"""``q2 gate``: which responses fail, what is new since a baseline, and what CI is given."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main

SOURCE = "Rome has seven hills and one river."
GOOD, BAD, SILENT = "Rome has seven hills.", "Milan is tiny.", " "


def rows(path: Path, *responses: str, ids: bool = True) -> Path:
    path.write_text("".join(
        json.dumps({"id": f"r{i}", "response": text, "context": f"{SOURCE} Row {i}."}
                   if ids else {"response": text, "context": f"{SOURCE} Row {i}."}) + "\n"
        for i, text in enumerate(responses)), encoding="utf-8")
    return path


def scored(path: Path, *more: str) -> Path:
    out = path.with_suffix(".scored.jsonl")
    result = CliRunner().invoke(
        main, ["score", str(path), "--metrics", "word_share", "--out", str(out), *more])
    assert result.exit_code == 0, result.output
    return out


def gate(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["gate", *map(str, args), "-m", "word_share"])


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return scored(rows(tmp_path / "main.jsonl", GOOD, GOOD, BAD, GOOD))


def test_without_a_baseline_every_low_response_fails(before: Path) -> None:
    result = gate(before)
    assert result.exit_code == 4
    first, second, *_ = result.stdout.splitlines()
    assert first == "1 of 4 responses fails (word_share under 0.5)"
    assert second == f"  row r2 has 0.000: {BAD}"
    assert result.stdout.endswith("gate failed\n")


def test_threshold_and_allowed_failures(before: Path) -> None:
    assert gate(before, "--threshold", "0").exit_code == 0
    assert gate(before, "--allow", "1").exit_code == 0
    assert gate(before, "--threshold", "1.5").exit_code == 2


def test_what_failed_before_is_known(before: Path, tmp_path: Path) -> None:
    same = scored(rows(tmp_path / "new.jsonl", GOOD, GOOD, BAD, GOOD))
    result = gate(same, "--baseline", before)
    assert result.exit_code == 0
    assert "0 of 4 responses newly fail" in result.stdout
    assert "1 failed in the baseline too" in result.stdout
    assert ": it does not count\n" in result.stdout  # the row is named


def test_a_failure_with_several_lines_is_shown_on_one(tmp_path: Path) -> None:
    table = "| city | hills |\n|---|---|\n| Milan | 9 |"
    new = scored(rows(tmp_path / "new.jsonl", table), "-m", "groundedness,word_share")
    told = [line for line in CliRunner().invoke(main, ["gate", str(new)]).stdout.splitlines()
            if line.startswith("  ")]
    assert told[0].endswith(": | city | hills | |---|---| | Milan | 9 |")
    assert told[1].startswith("      ")
    assert len(told) == 2


def test_a_failure_without_unsupported_claims_names_the_weakest(tmp_path: Path) -> None:
    claims = [{"text": text, "verdict": "supported", "support": support, "start": 0, "end": 1}
              for text, support in (("It has hills.", 0.9), ("It is old.", 0.55))]
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(
        {"id": name, "groundedness": score, "response": GOOD, "knowledge": SOURCE,
         "claims": claims}) + "\n" for name, score in (("r1", 0.4), ("r2", 0.8))))
    result = CliRunner().invoke(main, ["gate", str(path)])
    assert [line.strip() for line in result.stdout.splitlines() if line.startswith("      ")] == [
        "least supported (0.55): It is old."]


def test_a_regression_is_named_with_what_it_was(before: Path, tmp_path: Path) -> None:
    result = gate(scored(rows(tmp_path / "new.jsonl", GOOD, BAD, BAD, GOOD)), "--baseline", before)
    assert result.exit_code == 4
    assert "1 of 4 responses newly fails" in result.stdout
    assert "row r1 has 0.000; it was 1.000" in result.stdout
    assert "row r2 has 0.000; it was 0.000: it does not count" in result.stdout


def test_an_answer_that_falls_silent_is_a_regression(before: Path, tmp_path: Path) -> None:
    silent = scored(rows(tmp_path / "new.jsonl", SILENT, GOOD, SILENT, GOOD))
    result = gate(silent, "--baseline", before)
    assert result.exit_code == 4
    assert "row r0 has no score: the response is empty; it was 1.000\n" in result.stdout
    alone = gate(silent)
    assert alone.exit_code == 0
    assert "2 without a score: the response is empty" in alone.stdout


def test_a_gate_over_few_scores_does_not_pass_by_itself(tmp_path: Path) -> None:
    """One good row does not hide that the generator is broken, unless that is accepted."""
    few = scored(rows(tmp_path / "new.jsonl", GOOD, SILENT, SILENT))
    alone = gate(few)
    assert alone.exit_code == 4
    assert "more than half of the responses have no score" in alone.stdout
    assert gate(few, "--allow-unscored", "2").exit_code == 4
    assert gate(few, "--allow-unscored", "all").exit_code == 0


def test_new_rows_without_scores_do_not_pass_beside_a_baseline(
    before: Path, tmp_path: Path
) -> None:
    """The old rows are as before, but what was added retrieves nothing."""
    new = scored(rows(tmp_path / "new.jsonl", GOOD, GOOD, BAD, GOOD, SILENT, SILENT, GOOD))
    junit = tmp_path / "junit.xml"
    result = gate(new, "--baseline", before, "--junit", junit)
    assert result.exit_code == 4
    assert "more than half of the new rows have no score" in result.stdout
    [test] = ElementTree.parse(junit).iterfind(".//testcase[failure]")
    assert test.get("name") == "scores"
    assert gate(new, "--baseline", before, "--allow-unscored", "all").exit_code == 0


def test_what_needs_a_baseline_is_refused_without_one(before: Path) -> None:
    result = gate(before, "--allow-missing", "3")
    assert result.exit_code == 2
    assert "--allow-missing needs --baseline" in result.stderr


def test_a_gate_over_rows_without_a_score_does_not_pass(tmp_path: Path) -> None:
    """Whoever says nothing at all, or retrieves nothing, is not let out."""
    result = gate(scored(rows(tmp_path / "new.jsonl", SILENT, SILENT)))
    assert result.exit_code == 4
    assert "no response has a score" in result.stdout
    assert result.stdout.endswith("gate failed\n")


def test_the_change_of_the_mean_is_that_of_q2_score(before: Path, tmp_path: Path) -> None:
    """A response that claims nothing counts as 0 in both, or in neither."""
    texts = (SILENT, GOOD, SILENT, GOOD)
    result = gate(scored(rows(tmp_path / "new.jsonl", *texts)), "--baseline", before)
    assert "mean word_share changed by -0.250" in result.stdout
    old = scored(rows(tmp_path / "old.jsonl", GOOD, GOOD, BAD, GOOD), "--no-claim", "exclude")
    new = scored(rows(tmp_path / "without.jsonl", *texts), "--no-claim", "exclude")
    assert "mean word_share changed by +0.000" in gate(new, "--baseline", old).stdout


def test_a_row_that_the_baseline_lacks_must_pass(before: Path, tmp_path: Path) -> None:
    more = scored(rows(tmp_path / "new.jsonl", GOOD, GOOD, BAD, GOOD, BAD))
    result = gate(more, "--baseline", before)
    assert result.exit_code == 4
    assert "row r4" in result.stdout
    assert "4 of 5 rows are in the baseline" in result.stdout


def test_the_page_says_which_file_has_more_rows(before: Path, tmp_path: Path) -> None:
    fewer, page = scored(rows(tmp_path / "new.jsonl", GOOD, GOOD, BAD)), tmp_path / "page.html"
    done = CliRunner().invoke(main, ["report", str(before), str(fewer), "--out", str(page)])
    assert done.exit_code == 0, done.output
    said = re.findall("Rows only in <bdi>(.*?)</bdi>: (.*?)[.]<", page.read_text(encoding="utf-8"))
    assert said == [(str(before), "1")]


def test_a_mean_that_falls_fails_although_each_response_passes(tmp_path: Path) -> None:
    weaker = "Rome has seven hills and fountains."
    old = scored(rows(tmp_path / "main.jsonl", *[GOOD] * 12))
    new = scored(rows(tmp_path / "new.jsonl", *[weaker] * 12))
    result = gate(new, "--baseline", old)
    assert result.exit_code == 4
    assert result.stdout.startswith("0 of 12 responses newly fail")
    assert "mean word_share changed by -0." in result.stdout
    assert gate(old, "--baseline", new).exit_code == 0


def test_rows_without_ids_are_matched_by_their_knowledge(tmp_path: Path) -> None:
    old = scored(rows(tmp_path / "main.jsonl", GOOD, BAD, ids=False))
    lines = rows(tmp_path / "new.jsonl", GOOD, BAD, ids=False).read_text().splitlines()
    (tmp_path / "new.jsonl").write_text("\n".join(reversed(lines)) + "\n")
    result = gate(scored(tmp_path / "new.jsonl"), "--baseline", old)
    assert result.exit_code == 0
    assert "1 failed in the baseline too" in result.stdout
    assert ": it does not count\n" in result.stdout  # the row is named


def test_files_of_rows_are_scored_first(tmp_path: Path) -> None:
    new, report = rows(tmp_path / "new.jsonl", GOOD, BAD), tmp_path / "junit.xml"
    result = gate(new, "--no-cache", "--junit", report)
    assert result.exit_code == 4
    suite = ElementTree.parse(report).getroot()[0]
    assert {case.get("classname") for case in suite} == {str(new)}
    assert json.loads(gate(new, "--json").stdout)["file"] == str(new)
    assert "has no scores yet; scoring its rows by word_share" in result.stderr
    assert "row r1" in result.stdout


def test_scores_of_other_settings_are_refused(before: Path, tmp_path: Path) -> None:
    other = scored(rows(tmp_path / "new.jsonl", GOOD))
    manifest = Path(f"{other}.manifest.json")
    manifest.write_text(manifest.read_text().replace("word_share|", "word_share|other:1|"))
    result = gate(other, "--baseline", before)
    assert result.exit_code == 2
    assert "different models, settings or versions" in result.stderr


def test_a_metric_that_the_file_lacks(before: Path) -> None:
    result = CliRunner().invoke(main, ["gate", str(before)])
    assert result.exit_code == 2
    assert "has no scores of groundedness; its scores are word_share" in result.stderr


HOSTILE = "Milan <b>&\x1b[31m | %0A::error::x ]]> `rm` \n new"


def test_junit_has_a_test_for_each_response(before: Path, tmp_path: Path) -> None:
    new = scored(rows(tmp_path / "new.jsonl", GOOD, HOSTILE, BAD, SILENT))
    report = tmp_path / "junit.xml"
    for _ in range(2):  # its own file is replaced
        assert gate(new, "--baseline", before, "--junit", report).exit_code == 4
    suite = ElementTree.parse(report).getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    kinds = {case.get("name"): [part.tag for part in case] for case in suite}
    assert kinds == {"r0": [], "r1": ["failure"], "r2": ["skipped"], "r3": ["failure"]}
    assert "Milan <b>&�[31m" in (suite[1][0].text or "")


def test_github_is_given_a_summary_and_annotations(
    before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = scored(rows(tmp_path / "new.jsonl", GOOD, HOSTILE, BAD, GOOD))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    result = gate(new, "--baseline", before)
    commands = [line for line in result.stdout.splitlines() if line.startswith("::")]
    assert commands == ["::error title=word_share%3A row r1::has 0.000; it was 1.000"]
    table = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "### q2 gate: failed" in table
    assert "&lt;b&gt;" in table
    assert "<b>" not in table
    row = next(line for line in table.splitlines() if line.startswith("| r1"))
    assert row.replace("\\|", "").count("|") == 5


def test_the_summary_is_escaped_once(tmp_path: Path) -> None:
    """GitHub prints "It's" for it, and neither calls @people nor links #numbers."""
    said = "It's Milan & @ghost's #12, `x` | \"y\" " + "very " * 200
    new = scored(rows(tmp_path / "new.jsonl", said))
    comment = tmp_path / "comment.md"
    result = gate(new, "--comment", comment)
    assert result.exit_code == 4
    text = comment.read_text(encoding="utf-8")
    assert text.startswith("<!-- q2 gate -->\n### q2 gate: failed")
    assert r"""| It's Milan &amp; @⁠ghost's \#⁠12, \`x\` \| "y" very""" in text
    assert len(text) < 1000
    assert gate(new, "--comment", comment).exit_code == 4  # its own comment is replaced
    comment.write_text("mine", encoding="utf-8")
    refused = gate(new, "--comment", comment)
    assert refused.exit_code == 2
    assert "is not a comment of q2 gate" in refused.stderr
    assert comment.read_text(encoding="utf-8") == "mine"


def test_json_has_every_case(before: Path) -> None:
    found: Any = json.loads(gate(before, "--json").stdout)
    assert found["passed"] is False
    assert [case["outcome"] for case in found["cases"]] == ["passed", "passed", "failed", "passed"]
