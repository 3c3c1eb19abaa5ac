"""Options as people type them, what is meant by other names, and the two helps of q2 score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main
from q2_metric.cli.score import SHOWN

ROWS = [
    {"context": ["Rome is old."], "answer": "Rome is old.", "model": "a", "tags": ["x", "y"]},
    {"context": ["Rome is old."], "answer": "Oslo is new.", "model": "b", "tags": ["x"]},
    {"context": ["Rome is old."], "answer": "Rome is new.", "tags": []},
]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


def q2(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_short_and_other_names(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = q2("score", rows, "-m", "word_share", "--context", "context", "--limit", "2",
              "-o", str(out), "--threshold", "0.9")
    assert done.exit_code == 4, done.output
    assert "word_share is 0.5" in done.output
    assert len(out.read_text().splitlines()) == 2
    assert q2("-V").output == q2("--version").output


@pytest.mark.parametrize("texts", ["--texts", "--no-texts"])
def test_means_by_the_values_of_a_column(rows: str, tmp_path: Path, texts: str) -> None:
    out = tmp_path / "out.jsonl"
    asked = ("score", rows, "--metric", "word_share", "--group-by", "model", "--group-by", "tags",
             "--out", str(out), texts)
    shown = q2(*asked).stdout
    assert [line.split() for line in shown.splitlines() if line.startswith(("(none)", "a ", "x "))
            ] == [["(none)", "1", "0.500"], ["a", "1", "1.000"], ["(none)", "1", "0.500"],
                  ["x", "2", "0.500"]]
    again = json.loads(q2(*asked, "--json").stdout)  # as the manifest has it
    groups = again["files"][0]["groups"]
    assert {name: one["word_share"]["value"] for name, one in groups["model"].items()} == {
        "(none)": 0.5, "a": 1.0, "b": 0.0}
    first = json.loads(out.read_text().splitlines()[0])
    assert first["other"] == {"model": "a", "tags": ["x", "y"]}
    assert ("response" in first) is (texts == "--texts")
    assert "there is no column 'system' for --group-by" in q2(
        "score", rows, "--group-by", "system").stderr


@pytest.mark.parametrize(("name", "meant"), [
    ("faithfulness", "groundedness"), ("hallucination", "groundedness"), ("rouge", "knowledge_f1"),
    ("scal", "scale"),
])
def test_names_of_other_tools(rows: str, name: str, meant: str) -> None:
    done = q2("score", rows, "-m", name)
    assert done.exit_code == 2
    words = " ".join(done.stderr.split())
    assert f"there is no metric '{name}'; did you mean '{meant}'? The metrics are grounded" in words


def test_a_column_that_may_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"bot_answer": "r", "knowledge": "k"}) + "\n")
    assert "is it 'bot_answer'? name it with --response" in q2("score", str(path)).stderr


def test_a_short_help_and_a_whole_one() -> None:
    short, whole = q2("score", "--help").stdout, q2("score", "--help-all").stdout
    for title in SHOWN:
        assert f"\n{title}:\n" in short
    assert sum(line.startswith("  -") for line in short.splitlines()) <= 18
    assert "--round-trip" not in short
    assert "--help-all shows" in short
    assert "--round-trip" in whole
    assert whole.count("\n  -h, --help ") == 1
    assert len(short.splitlines()) < 55


def test_completion_is_as_the_page_says() -> None:
    shown = CliRunner().invoke(main, [], prog_name="q2", env={"_Q2_COMPLETE": "bash_source"})
    assert "_q2_completion" in shown.stdout
