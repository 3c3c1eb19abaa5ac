"""No command writes over what it reads, or writes one file twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main

ROWS = [{"response": f"r{i}", "knowledge": "r", "label": i % 2, "s": i / 9} for i in range(10)]
TABLE = "grounding,generated_text,label\n" + "".join(f"r,r{i},{i % 2}\n" for i in range(10))
FILES = {
    "lab.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "lab.csv": TABLE,
    "sc.csv": TABLE.replace("label", "s"),
    "pool.json": json.dumps(["Rome has 7 hills.", "Ann has a dog."]),
    "logs.json": json.dumps([[{"speaker": "U", "text": "How many hills?"}]]),
    "dialogue.json": json.dumps(["How many hills?"]),
    "labels.json": json.dumps([{"target": False}]),
    "note.md": "a note",
    "result.json": "{}",
    "calibration.json": "{}",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: str) -> Result:
    return CliRunner().invoke(main, words.split())


@pytest.mark.parametrize("words", [
    "calibrate lab.jsonl --metric knowledge_f1 --out lab.jsonl",
    "calibrate lab.jsonl --column s --out lab.jsonl",
    "meta-eval true lab.csv --metrics knowledge_f1 --out lab.csv",
    "meta-eval true lab.csv --metrics knowledge_f1 --scores sc.csv --column s --out sc.csv",
    "meta-eval true lab.csv --metrics knowledge_f1 --out a.md --note note.md --out note.md",
    "meta-eval usr result.json --out result.json",
    "meta-eval dnli lab.jsonl --dev result.json --out result.json",
    "meta-eval evidence result.json --out result.json",
    "meta-eval render result.json --out result.json",
    "select rank dialogue.json --pool pool.json --ranker bm25 --out pool.json",
    "select rank --logs logs.json --pool pool.json --ranker bm25 --out logs.json",
    "select evaluate --pool pool.json --logs logs.json --labels labels.json --out labels.json",
    "respond write --pool pool.json --logs logs.json --out logs.json",
    "report lab.jsonl --out lab.jsonl",
    "report result.json --texts lab.jsonl --out lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --out lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --report lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --cache lab.jsonl",
    "score lab.jsonl --metrics nli --calibration calibration.json --report calibration.json",
    "score lab.jsonl --metrics knowledge_f1 --knowledge-pool pool.json --report pool.json",
])
def test_an_input_is_not_overwritten(folder: Path, words: str) -> None:
    result = run(words)
    assert result.exit_code == 2
    assert "is read, so it cannot be written" in result.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES


@pytest.mark.parametrize("words", [
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report ./a.jsonl.manifest.json",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl.parts",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --cache a.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --cache c --report c",
    "score lab.jsonl --metrics knowledge_f1 --cache c --report c-journal",
    "meta-eval true lab.csv --metrics knowledge_f1 --out a.md --out ./a.md",
    "meta-eval true lab.csv --metrics knowledge_f1 --cache a.md --out a.md",
])
def test_two_outputs_are_two_files(folder: Path, words: str) -> None:
    result = run(words)
    assert result.exit_code == 2
    assert "is written twice" in result.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES


@pytest.mark.parametrize("option", ["--scale-model", "--ranker"])
def test_a_model_is_not_overwritten(folder: Path, option: str) -> None:
    """Nor is anything put beside its files, which say which model it is."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    pool = "--knowledge-pool pool.json" if option == "--ranker" else ""
    words = f"score lab.jsonl --metrics knowledge_f1 --no-cache {pool} {option} model"
    for output in ("--report model/config.json", "--report ./model/page.html",
                   "--out model/scores.jsonl"):
        result = run(f"{words} {output}")
        assert (result.exit_code, "lies in model, which is read" in result.stderr) == (2, True)
    assert [path.name for path in (folder / "model").iterdir()] == ["config.json"]
    assert (folder / "model" / "config.json").read_text() == "{}"


def test_a_data_set_that_is_not_named_is_not_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data" / "true").mkdir(parents=True)
    (folder / "data" / "true" / "q2.csv").write_text(TABLE)
    monkeypatch.setenv("Q2_DATA_DIR", str(folder / "data"))
    result = run("meta-eval true q2 --metrics knowledge_f1 --out data/true/q2.csv")
    assert (result.exit_code, "is read, so it cannot be written" in result.stderr) == (2, True)
    assert (folder / "data" / "true" / "q2.csv").read_text() == TABLE


def test_figures_replace_no_input(folder: Path) -> None:
    drawn = folder / "drawn"
    drawn.mkdir()
    (drawn / "true_roc.svg").write_text("a note")
    (folder / "link.md").symlink_to(drawn / "true_roc.svg")
    for note in ("drawn/true_roc.svg", "link.md"):
        result = run(f"meta-eval true lab.csv --metrics knowledge_f1 --note {note} --figures drawn")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is read, so it cannot be written" in result.stderr
    assert (drawn / "true_roc.svg").read_text() == "a note"


def test_figures_stay_in_their_folder_and_follow_no_link(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need q2-metric[meta]")
    words = ("calibrate lab.jsonl --metric knowledge_f1 --no-cache --out c.json --quiet "
             "--figures drawn")
    assert run(f"{words} --name ../../lab").exit_code == 0
    names = [f"calibration_lab_reliability.{suffix}" for suffix in ("png", "svg")]
    names = [name.replace("_lab", "__lab") for name in names]
    assert sorted(path.name for path in (folder / "drawn").iterdir()) == names
    (folder / "drawn" / names[1]).unlink()
    (folder / "drawn" / names[1]).symlink_to("../lab.csv")
    assert run(f"{words} --name ../../lab").exit_code == 0
    assert not (folder / "drawn" / names[1]).is_symlink()
    assert (folder / "lab.csv").read_text() == TABLE


@pytest.mark.parametrize("hard", [True, False])
def test_links_are_what_they_lead_to(folder: Path, hard: bool) -> None:
    link = folder / "link.json"
    if hard:
        os.link("lab.jsonl", link)
    else:
        link.symlink_to("lab.jsonl")
    result = run("calibrate lab.jsonl --metric knowledge_f1 --out link.json")
    assert result.exit_code == 2
    assert "is read, so it cannot be written" in result.stderr
    assert (folder / "lab.jsonl").read_text() == FILES["lab.jsonl"]


def test_a_page_with_the_name_of_a_former_helper(folder: Path) -> None:
    """``--out x --report x.tmp`` destroyed each other."""
    words = "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl.tmp --quiet"
    result = run(words)
    assert result.exit_code == 0, result.stderr
    assert len((folder / "a.jsonl").read_text().splitlines()) == len(ROWS)
    assert (folder / "a.jsonl.tmp").read_text().startswith("<!")


@pytest.mark.parametrize("option", ["--nli-model", "--scale-model", "--preset", "--device",
                                    "--dtype", "--scale-prompt"])
def test_an_empty_name_is_an_error(folder: Path, option: str) -> None:
    command = ["score", "lab.jsonl", "--metrics", "knowledge_f1", option, ""]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': is empty" in result.stderr
