"""No command overwrites its inputs or a file of others, or writes one file twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click
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
    "meta-eval true lab.csv --metrics knowledge_f1 --out lab.csv",
    "meta-eval true lab.csv --metrics knowledge_f1 --scores sc.csv --column s --out sc.csv",
    "reproduce q2-v1-3 --scores sc.csv --column s --out sc.csv",
    "select rank dialogue.json --pool pool.json --ranker bm25 --out pool.json",
    "select rank --logs logs.json --pool pool.json --ranker bm25 --out logs.json",
    "select evaluate --pool pool.json --logs logs.json --labels labels.json --out labels.json",
    "respond write --pool pool.json --logs logs.json --out logs.json",
    "report lab.jsonl --out lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --out lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --report lab.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --cache lab.jsonl",
    "score lab.jsonl --metrics nli --calibration calibration.json --report calibration.json",
    "score lab.jsonl --metrics knowledge_f1 --knowledge-pool pool.json --report pool.json",
])
def test_an_input_is_not_overwritten(folder: Path, words: str) -> None:
    result = run(words)
    assert result.exit_code == 2
    assert "is an input, so it cannot be written" in result.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES


@pytest.mark.parametrize("words", [
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report ./a.jsonl.manifest.json",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl.unfinished",
    "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --cache a.jsonl",
    "score lab.jsonl --metrics knowledge_f1 --cache c --report c",
    "score lab.jsonl --metrics knowledge_f1 --cache c --report c-journal",
    "meta-eval true lab.csv --metrics knowledge_f1 --out a.md --out ./a.md",
    "meta-eval true lab.csv --metrics knowledge_f1 --cache a.md --out a.md",
])
def test_two_outputs_are_two_files(folder: Path, words: str) -> None:
    result = run(words)
    assert result.exit_code == 2
    assert "two outputs have this path" in result.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES


@pytest.mark.parametrize("option", ["-s scale_model=", "--ranker "])
def test_a_model_is_not_overwritten(folder: Path, option: str) -> None:
    """Nor is anything put beside its files, which say which model it is."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    pool = "--knowledge-pool pool.json" if "ranker" in option else ""
    words = f"score lab.jsonl --metrics knowledge_f1 --no-cache {pool} {option}model"
    for output in ("--report model/config.json", "--report ./model/page.html",
                   "--out model/scores.jsonl"):
        result = run(f"{words} {output}")
        assert (result.exit_code, "lies in the input folder model" in result.stderr) == (2, True)
    assert [path.name for path in (folder / "model").iterdir()] == ["config.json"]
    assert (folder / "model" / "config.json").read_text() == "{}"


def test_a_data_set_that_is_not_named_is_not_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data" / "true").mkdir(parents=True)
    (folder / "data" / "true" / "q2.csv").write_text(TABLE)
    monkeypatch.setenv("Q2_DATA_DIR", str(folder / "data"))
    result = run("meta-eval true q2 --metrics knowledge_f1 --out data/true/q2.csv")
    assert (result.exit_code, "is an input, so it cannot be written" in result.stderr) == (2, True)
    assert (folder / "data" / "true" / "q2.csv").read_text() == TABLE


def test_figures_replace_no_input(folder: Path) -> None:
    drawn = folder / "drawn"
    drawn.mkdir()
    (drawn / "true_roc.svg").write_text("a note")
    (folder / "link.md").symlink_to(drawn / "true_roc.svg")
    for scores in ("drawn/true_roc.svg", "link.md"):
        result = run(f"meta-eval true lab.csv --scores {scores} --column s --figures drawn")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is an input, so it cannot be written" in result.stderr
    assert (drawn / "true_roc.svg").read_text() == "a note"


def test_figures_stay_in_their_folder(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need q2-metric[meta]")
    words = ("calibrate lab.jsonl --metric knowledge_f1 --no-cache --out c.json --quiet "
             "--figures drawn --name ../../lab")
    assert run(words).exit_code == 0
    names = [f"calibration__lab_reliability.{suffix}" for suffix in ("png", "svg")]
    assert sorted(path.name for path in (folder / "drawn").iterdir()) == names
    (folder / "c.json").unlink()
    (folder / "drawn" / names[0]).unlink()
    (folder / "drawn" / names[1]).unlink()
    (folder / "drawn" / names[1]).symlink_to("../lab.csv")
    refused = run(words)
    assert (refused.exit_code, f"{names[1]}: already exists; choose" in refused.stderr) == (2, True)
    assert (folder / "lab.csv").read_text() == TABLE


# --- what already exists -------------------------------------------------------------------


@pytest.mark.parametrize(("words", "said"), [
    ("calibrate lab.jsonl --metric knowledge_f1 --out mine", ""),
    ("calibrate lab.jsonl --metric knowledge_f1 --no-cache --out mine", ""),
    ("meta-eval true lab.csv --metrics knowledge_f1 --no-cache --out mine.md", ""),
    ("meta-eval true lab.csv --metrics knowledge_f1 --no-cache --out new.md --out mine.json", ""),
    ("meta-eval dev --out mine.csv", ""),
    ("reproduce --all --out mine.json", ""),
    ("select rank dialogue.json --pool pool.json --ranker bm25 --out mine.jsonl", ""),
    ("select evaluate --pool pool.json --logs logs.json --labels labels.json --out mine.md", ""),
    ("select train --pool pool.json --logs logs.json --labels labels.json --dev-logs logs.json "
     "--dev-labels labels.json --base m --out folder",
     "the folder is not empty and holds no training"),
    ("respond write --pool pool.json --logs logs.json --out mine.jsonl", ""),
    ("gate lab.jsonl --junit mine.xml", "already exists and is not a JUnit file of q2 gate"),
    ("report lab.jsonl --out mine.html", "already exists and is not a report page of q2"),
    ("score lab.jsonl --metrics knowledge_f1 --out new.jsonl --report thesis.tex",
     "already exists and is not a report page of q2"),
    ("score lab.jsonl --metrics knowledge_f1 --out mine.csv",
     "already exists and is not an output of q2 score"),
])
def test_a_file_of_others_is_not_overwritten(folder: Path, words: str, said: str) -> None:
    name = next(word for word in reversed(words.split()) if word.startswith(("mine", "t", "f")))
    mine = folder / name / "notes" if name == "folder" else folder / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("my work")
    result = run(words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{name}: {said or 'already exists; choose another name, or replace it'}" in (
        result.stderr)
    assert "--overwrite" in result.stderr
    assert mine.read_text() == "my work"
    assert {path.name for path in folder.iterdir()} == {*FILES, name}


@pytest.mark.parametrize(("words", "out"), [
    ("calibrate lab.jsonl --metric knowledge_f1 --quiet --out c.json", "c.json"),
    ("calibrate lab.jsonl --metric knowledge_f1 --no-cache --out c.json --quiet --figures .",
     "calibration_c_reliability.svg"),
    ("meta-eval true lab.csv --metrics knowledge_f1 --no-cache --quiet --out r.csv", "r.csv"),
    ("meta-eval true lab.csv --metrics knowledge_f1 --no-cache --quiet --figures .",
     "true_roc.png"),
    ("select rank dialogue.json --pool pool.json --ranker bm25 --out r.jsonl", "r.jsonl"),
])
def test_with_overwrite_it_is(folder: Path, words: str, out: str) -> None:
    if "--figures" in words:
        pytest.importorskip("matplotlib", reason="figures need q2-metric[meta]")
    assert run(words).exit_code == 0
    first = (folder / out).read_bytes()
    assert run(words).exit_code == 2
    (folder / out).write_text("my work")
    refused = run(f"{words} --overwrite")
    assert refused.exit_code == 0, refused.stderr
    assert (folder / out).read_bytes() == first


def test_a_report_page_of_ours_is_replaced(folder: Path) -> None:
    words = "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report page.html --quiet"
    (folder / "page.html").touch()  # as mktemp leaves it
    assert run(words).exit_code == 0
    pages = [(folder / "page.html").read_text()]
    for again in (words, "report a.jsonl --out page.html", "report a.jsonl -o page.html"):
        assert run(again).exit_code == 0
        pages.append((folder / "page.html").read_text())
    assert all(page.startswith("<!DOCTYPE html>") for page in pages)
    (folder / "page.html").write_text("<!DOCTYPE html>my page")
    assert run(words).exit_code == 2
    assert (folder / "page.html").read_text() == "<!DOCTYPE html>my page"
    assert run(f"{words} --overwrite").exit_code == 0
    assert (folder / "page.html").read_text() == pages[0]


def test_every_command_that_writes_has_the_option(folder: Path) -> None:
    """And no file is written but by an option that says so."""

    def commands(group: click.Command, words: str = "") -> Iterator[tuple[str, click.Command]]:
        if not isinstance(group, click.Group):
            yield words.strip(), group
            return
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, f"{words} {name}")

    writing = {words for words, command in commands(main)
               if any(param.name == "overwrite" for param in command.params)}
    named = {words for words, command in commands(main)
             if any(isinstance(one, click.Option) and {"--out", "--report", "--junit"} & {*one.opts}
                    for one in command.params)}
    assert writing == named
    assert "score" in writing
    result = run("score lab.jsonl --metrics knowledge_f1 --overwrite")
    assert (result.exit_code, result.stderr) == (
        2, "q2: error: --overwrite needs --out or --report\n")


def test_a_link_that_leads_to_nothing_is_no_output(folder: Path) -> None:
    (folder / "link.jsonl").symlink_to("gone.jsonl")
    for words in ("--out link.jsonl", "--report link.jsonl", "--out link.jsonl --overwrite"):
        result = run(f"score lab.jsonl --metrics knowledge_f1 {words}")
        assert (result.exit_code, result.stderr) == (
            2, "q2: error: link.jsonl: cannot be written: it is a link to gone.jsonl, which does "
            "not exist\n")
    assert (folder / "link.jsonl").is_symlink()


def test_an_output_behind_a_link_is_replaced_where_it_is(folder: Path) -> None:
    (folder / "disk").mkdir()
    (folder / "disk" / "out.jsonl").touch()
    (folder / "link.jsonl").symlink_to("disk/out.jsonl")
    words = "score lab.jsonl --metrics knowledge_f1 --out link.jsonl --quiet"
    assert run(words).exit_code == 0
    assert (folder / "link.jsonl").is_symlink()
    assert len((folder / "disk" / "out.jsonl").read_text().splitlines()) == len(ROWS)
    (folder / "disk" / "out.jsonl").write_text("my work")
    assert run(words).exit_code == 2
    assert (folder / "disk" / "out.jsonl").read_text() == "my work"


@pytest.mark.parametrize("hard", [True, False])
def test_links_are_what_they_lead_to(folder: Path, hard: bool) -> None:
    link = folder / "link.json"
    if hard:
        os.link("lab.jsonl", link)
    else:
        link.symlink_to("lab.jsonl")
    result = run("calibrate lab.jsonl --metric knowledge_f1 --out link.json")
    assert result.exit_code == 2
    assert "is an input, so it cannot be written" in result.stderr
    assert (folder / "lab.jsonl").read_text() == FILES["lab.jsonl"]


def test_a_page_with_the_name_of_a_former_helper(folder: Path) -> None:
    """``--out x --report x.tmp`` destroyed each other."""
    words = "score lab.jsonl --metrics knowledge_f1 --out a.jsonl --report a.jsonl.tmp --quiet"
    result = run(words)
    assert result.exit_code == 0, result.stderr
    assert len((folder / "a.jsonl").read_text().splitlines()) == len(ROWS)
    assert (folder / "a.jsonl.tmp").read_text().startswith("<!")


@pytest.mark.parametrize(("option", "value", "words"), [
    ("--preset", "", "Invalid value for '--preset': is empty"),
    ("--device", "", "Invalid value for '--device': is empty"),
    ("--dtype", "", "Invalid value for '--dtype': is empty"),
    ("-s", "nli_model=", "nli_model is empty"),
    ("-s", "scale_model= ", "scale_model is empty"),
    ("-s", "prompt=", "prompt is empty"),
])
def test_an_empty_name_is_an_error(folder: Path, option: str, value: str, words: str) -> None:
    command = ["score", "lab.jsonl", "--metrics", "knowledge_f1", option, value]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert words in result.stderr
