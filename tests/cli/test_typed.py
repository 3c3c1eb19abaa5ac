"""Options as people type them, what is meant by other names, settings, and the help of q2 score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main
from q2_metric.cli.score import GROUPS, score

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
              "-o", str(out), "--fail-under", "0.9")
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


def test_the_help_has_all_options_in_groups() -> None:
    shown = q2("score", "-h").stdout
    for title in GROUPS:
        assert f"\n{title}:\n" in shown
    options = {line.split()[0].rstrip(",") for line in shown.splitlines()
               if line.startswith("  -")}
    assert len(options) == len(score.params)
    assert shown.split("\nOther:\n")[1].startswith("  -h, --help ")


def test_all_settings_are_listed() -> None:
    shown = q2("presets", "--settings").stdout
    for name in ("reader_model", "chunk_size", "personal", "batch_size"):
        assert f"\n{name} " in f"\n{shown}"


def test_settings_are_completed() -> None:
    from click.shell_completion import ShellComplete

    offered = ShellComplete(main, {}, "q2", "_Q2_COMPLETE").get_completions
    assert [one.value for one in offered(["score", "-s"], "chunk_")] == ["chunk_size="]
    assert [one.value for one in offered(["score", "-s"], "personal=")] == [
        "personal=remove", "personal=keep"]


def test_a_preset_can_be_a_file(tmp_path: Path) -> None:
    """Its settings count, and -s counts more."""
    (tmp_path / "mine.toml").write_text(
        'preset = "bundled-small"\n[scale]\nunit = "sentence"\nchunk_size = 90\n')
    ask = ("explain", "--response", "It opened in 1889.", "--knowledge", "It opened in 1889.",
           "-m", "scale", "--signature", "--preset", str(tmp_path / "mine.toml"))
    assert "|preset:bundled-small|" in q2(*ask).stdout
    assert "|chunk:90|" in q2(*ask).stdout
    assert "|chunk:80|" in q2(*ask, "-s", "chunk_size=80").stdout
    assert "|unit:" not in q2(*ask).stdout
    (tmp_path / "mine.toml").write_text("chunks = 3\n")
    assert "there is no model or setting 'chunks'" in q2(*ask).stderr
    (tmp_path / "mine.toml").write_text("chunks\n")
    assert f"{tmp_path / 'mine.toml'}: " in q2(*ask).stderr
    (tmp_path / "mine.toml").unlink()
    assert "mine.toml: there is no such file" in q2(*ask).stderr


def test_completion_is_as_the_page_says() -> None:
    page = Path(__file__).parents[2] / "docs/usage.md"
    assert "_Q2_COMPLETE=bash_source q2" in page.read_text(encoding="utf-8")
    shown = CliRunner().invoke(main, [], prog_name="q2", env={"_Q2_COMPLETE": "bash_source"})
    assert "_q2_completion" in shown.stdout


def test_a_short_answer_is_explained_with_its_question() -> None:
    ask = ("explain", "--response", "1889.", "--knowledge", "The tower opened in 1889.",
           "-m", "scale", "--json")
    assert json.loads(q2(*ask).stdout)["claims"][0]["text"] == "1889."
    asked = q2(*ask, "--question", "When did the tower open?")
    assert asked.exit_code == 0, asked.output
    found = json.loads(asked.stdout)["claims"][0]
    assert "tower" in found["text"]
    assert found["verdict"] == "supported"
    shown = q2(*ask[:-1], "--question", "When did the tower open?").stdout
    assert shown.startswith("question   When did the tower open?")


def test_a_threshold_is_one_of_single_scores_everywhere() -> None:
    """The mean of a run has --fail-under."""
    refused = q2("score", "rows.jsonl", "--threshold", "0.5")
    assert refused.exit_code == 2
    assert "No such option" in refused.output
    assert "--threshold" in refused.output


def test_help_says_the_defaults_that_hold() -> None:
    for command in ("serve", "explain"):
        told = " ".join(q2(command, "--help").stdout.split("--dtype")[1].split())
        assert "[default: (auto)]" in told
