"""``q2 score`` as a gate: blank texts, how they count, and the exit code of a mean too low."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from q2_metric import scoring
from q2_metric.cli.main import main

ROWS = (
    {"response": "Rome has seven hills.", "context": "Rome has seven hills.", "reference": "no"},
    {"response": "Rome has seven bridges.", "context": "Rome has seven hills.", "reference": "no"},
    {"response": " ", "context": "Rome has seven hills.", "reference": "no"},
    {"response": "Rome has hills.", "context": "", "reference": "no"},
    {"response": "Rome has hills.", "context": [], "reference": "no"},
)
WORDS = (1 + 2 / 3) / 2
EXAMPLE = Path(__file__).parents[2] / "examples" / "rag.jsonl"


def run(tmp_path: Path, *args: str) -> Result:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return CliRunner().invoke(
        main, ["score", str(rows), "--metrics", "word_share,knowledge_f1", "--json", *args])


def scores(result: Result) -> Any:
    return json.loads(result.stdout)["files"][0]["scores"]


def test_blank_texts_are_no_errors_and_have_a_reason(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run(tmp_path, "--out", str(out), "--no-claim", "exclude")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["reason"] for row in rows] == [None, None, "empty", "no_knowledge", "no_knowledge"]
    assert [row["error"] for row in rows] == [None] * 5
    assert [row["knowledge_f1"] is None for row in rows] == [False, False, True, True, True]
    assert (rows[2]["response"], rows[4]["knowledge"]) == (" ", "")
    assert scores(result)["word_share"]["value"] == pytest.approx(WORDS)
    assert scores(result)["word_share"]["n"] == 2
    assert json.loads(result.stdout)["files"][0]["no_knowledge"] == 2
    again = json.loads(run(tmp_path, "--out", str(out), "--no-claim", "exclude").stdout)["files"][0]
    assert again["no_knowledge"] == 2  # of the finished run


def test_null_is_a_blank_text(tmp_path: Path) -> None:
    """As in every shell: a null in jsonl, an empty cell in csv."""
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    said = "Rome has 7 hills."
    pairs = ((said, said), (None, said), (said, None), (said, [None, said]), (said, [None]))
    rows.write_text("".join(
        json.dumps({"response": one, "context": known}) + "\n" for one, known in pairs))
    result = CliRunner().invoke(
        main, ["score", str(rows), "--metrics", "knowledge_f1", "--out", str(out)])
    assert result.exit_code == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["reason"] for row in found] == [None, "empty", "no_knowledge", None, "no_knowledge"]
    assert [row["knowledge_f1"] for row in found] == [1.0, None, None, 1.0, None]


def test_the_table_tells_of_rows_without_knowledge(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    told = CliRunner().invoke(main, ["score", str(rows), "--metrics", "word_share"]).stdout
    assert "5 of 5 rows scored" in told
    assert "2 of these rows have no knowledge and do not count in the means" in told


def test_models_that_cannot_be_loaded_are_no_fault_of_a_row(tmp_path: Path) -> None:
    """Also where a cache knows the metric, so that it is loaded with the first new row."""
    rows, cache = tmp_path / "rows.jsonl", str(tmp_path / "cache")
    rows.write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
    command = ["score", str(rows), "--metrics", "scale", "--cache", cache]
    assert CliRunner().invoke(main, command).exit_code == 0
    rows.write_text(json.dumps(ROWS[1]) + "\n", encoding="utf-8")
    result = CliRunner().invoke(main, [*command, "--device", "cuda:99"])
    assert result.exit_code in (2, 3)
    assert "cuda:99" in result.stderr
    assert "row 1" not in result.stderr


def test_what_says_nothing_counts_as_0(tmp_path: Path) -> None:
    found = scores(run(tmp_path))["word_share"]
    assert (found["value"], found["n"]) == (pytest.approx(2 * WORDS / 3), 3)
    assert found["signature"].endswith("|no_claim:zero")


def test_the_command_line_and_python_agree(tmp_path: Path) -> None:
    found = scores(run(tmp_path))
    rows = [scoring.example(row["response"], [str(row["context"] or "")]) for row in ROWS]
    again = scoring.ScoredRows.over(
        scoring.load("word_share,knowledge_f1", {}), rows)
    assert again.system() == {name: one["value"] for name, one in found.items()}
    assert again.n() == found["word_share"]["n"]


@pytest.mark.parametrize(("options", "code"), [
    (("--fail-under", "word_share=0.83", "--no-claim", "exclude"), 0),
    (("--fail-under", "word_share=0.84", "--no-claim", "exclude"), 4),
    (("--fail-under", "word_share=0.83"), 4),
    (("--fail-under", "word_share=0.1", "--fail-under", "knowledge_f1=1"), 4),
])
def test_a_mean_that_is_too_low(tmp_path: Path, options: tuple[str, ...], code: int) -> None:
    result = run(tmp_path, *options)
    assert result.exit_code == code
    assert (", under " in result.stderr) == (code == 4)


def test_no_mean_is_too_low(tmp_path: Path) -> None:
    rows = tmp_path / "blank.jsonl"
    rows.write_text('{"response": "Rome has 7 hills.", "context": ""}\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["score", str(rows), "--metrics", "knowledge_f1",
                                       "--fail-under", "knowledge_f1=0.1"])
    assert result.exit_code == 4
    assert "knowledge_f1 has no mean to compare with 0.1" in result.stderr


@pytest.mark.parametrize(("options", "message"), [
    (("--fail-under", "scale=0.5"),
     "'scale' is not computed; --metrics computes knowledge_f1, word_share"),
    (("--fail-under", "word_share"), "'word_share' is not of the form q2=0.8"),
    (("--fail-under", "word_share=70"), "'word_share=70': a mean is between 0 and 1"),
    (("--fail-under", "word_share=nan"), "'word_share=nan': a mean is between 0 and 1"),
    (("--no-texts",), "--no-texts needs --out"),
    (("--raw-csv",), "--raw-csv needs --out"),
    (("--overwrite",), "--overwrite needs --out"),
])
def test_options_that_cannot_be(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_what_was_read_as_the_knowledge_is_said(tmp_path: Path) -> None:
    said = " ".join(run(tmp_path).stderr.split())
    assert "knowledge from 'context'" in said
    assert "kept: 'reference'" in said


@pytest.mark.slow
def test_thirty_rows_from_scores_to_a_failing_gate(tmp_path: Path) -> None:
    """The example rows, two models: the gate names the rows that got worse, and no other."""
    rows = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 30
    for model in ("v1", "v2"):
        answers = tmp_path / f"{model}.jsonl"
        answers.write_text("".join(
            json.dumps({**row, "id": row["id"].removesuffix(f"-{model}")}) + "\n"
            for row in rows if row["model"] == model), encoding="utf-8")
        scored = CliRunner().invoke(main, [
            "score", str(answers), "-m", "groundedness",
            "-o", str(tmp_path / f"{model}.scores.jsonl"),
            "--report", str(tmp_path / f"{model}.html")])
        assert scored.exit_code == 0, scored.output
    gate = CliRunner().invoke(main, ["gate", str(tmp_path / "v2.scores.jsonl"), "--json",
                                     "--baseline", str(tmp_path / "v1.scores.jsonl")])
    assert gate.exit_code == 4, gate.output
    failed = {case["id"] for case in json.loads(gate.stdout)["cases"]
              if case["outcome"] == "failed" and case["score"] is not None}
    wrong = {row["id"][:-3] for row in rows if row["model"] == "v2" and row["label"] == 0}
    assert failed <= wrong
    assert len(failed) >= 5  # of nine
    assert "Refunds are paid within 30 days to the card you used." in gate.stdout
