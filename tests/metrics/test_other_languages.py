"""Texts that are not English have no score, unless the user asks for one."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import FakeBackbone

from q2_metric import scoring
from q2_metric.cli.main import main
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.report.findings import in_words
from q2_metric.rows.fields import output_row
from q2_metric.scoring import scores as scores_module
from q2_metric.types import Example

GERMAN = "Der Turm wurde im Jahr 1889 in Paris eröffnet und ist nicht so hoch, wie viele glauben."
ENGLISH = "The tower was opened in Paris in 1889."
ROWS = [Example(GERMAN, ENGLISH), Example(ENGLISH, GERMAN), Example(ENGLISH, ENGLISH)]


def test_the_gate() -> None:
    metric = EndToEndNli(FakeBackbone())
    assert [one.reason for one in metric.score(ROWS)] == ["language", "knowledge_language", None]
    metric.any_language = True
    assert all(one.reason is None for one in metric.score(ROWS))
    papers = EndToEndNli(FakeBackbone())
    papers.scores_all = True
    assert all(one.reason is None for one in papers.score(ROWS))


def test_the_row_and_the_page_say_it() -> None:
    metric = EndToEndNli(FakeBackbone())
    rows = [output_row(0, example, {"nli": score}, ["nli"])
            for example, score in zip(ROWS, metric.score(ROWS), strict=True)]
    assert [row["language"] for row in rows] == ["de", "de", None]
    assert list(in_words(rows[0])) == [
        "The response is not in English, so it is scored only with any_language.",
        "Its language: de."]


def test_a_foreign_response_counts_as_zero_and_foreign_knowledge_not_at_all(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores_module, "_SAID", [])
    with caplog.at_level(logging.WARNING):
        run = scoring.ScoredRows.over([EndToEndNli(FakeBackbone())], ROWS, no_claim="zero")
        scoring.score([EndToEndNli(FakeBackbone())], ROWS)
    assert run.n() == 2
    assert run.system()["no_claim"] == 0.5
    assert [record.getMessage() for record in caplog.records] == [
        "2 responses, or their knowledge, are not in English (de) and have no score; "
        "the setting any_language=True scores them (said once)"]


def test_the_command_line(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "scores.jsonl"
    file.write_text("".join(json.dumps({"response": one.response, "knowledge": one.knowledge})
                            + "\n" for one in ROWS), encoding="utf-8")
    command = ["score", str(file), "-m", "scale", "--out", str(out), "--no-cache"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("2 responses, or their knowledge, are not in English (de)") == 1
    assert "-s any_language=true scores them" in done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(row["reason"], row["language"]) for row in rows] == [
        ("language", "de"), ("knowledge_language", "de"), (None, None)]
    again = CliRunner().invoke(main, [*command, "-s", "any_language=true", "--overwrite"])
    assert again.exit_code == 0
    assert "not in English" not in again.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert all(row["scale"] is not None for row in rows)
    assert [row["language"] for row in rows] == ["de", "de", None]


def test_the_keyword_of_the_frameworks() -> None:
    rows = ROWS
    loaded = scoring.load("scale", {"any_language": True})
    assert loaded[0].signature.endswith("|any_language:yes")
    assert all(row["scale"].value is not None for row in scoring.score(loaded, rows))
