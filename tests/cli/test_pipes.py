"""Files that are pipes, as ``<(…)`` gives them: no suffix, and read once."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from q2_metric.cli.main import main

ROWS = [{"response": f"r{i} is here", "knowledge": "r is here", "label": i % 2, "s": i / 9,
         "t": 1 - i / 9} for i in range(10)]

Pipe = Callable[[str], str]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """The name of a pipe that gives a text, as a shell's ``<(…)``."""
    opened: list[int] = []

    def make(text: str) -> str:
        end, entrance = os.pipe()
        opened.append(end)
        with open(entrance, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return f"/dev/fd/{end}"

    yield make
    for end in opened:
        os.close(end)


def table(rows: list[dict[str, object]], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def run(words: str) -> Result:
    return CliRunner().invoke(main, words.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_scores_of_a_pipe_and_their_page(folder: Path, pipe: Pipe) -> None:
    words = "--format csv --metrics knowledge_f1 --out a.csv"
    done = run(f"score {pipe(table(ROWS))} {words}")
    assert done.exit_code == 0, done.output
    refused = run(f"report {pipe('')} --out page.html")
    assert (refused.exit_code, "name it with --format" in refused.stderr) == (2, True)
    scores = pipe((folder / "a.csv").read_text())
    done = run(f"report {scores} --format csv --out page.html")
    assert done.exit_code == 0, done.output
    assert "r9 is here" in (folder / "page.html").read_text()
    # A suffix that tells is stronger.
    done = run("report a.csv --format jsonl --out b.html")
    assert done.exit_code == 0, done.output


def test_a_calibration_to_a_pipe(folder: Path, pipe: Pipe) -> None:
    pytest.importorskip("scipy", reason="needs the extra meta")
    words = "--metric knowledge_f1 --quiet --no-cache --name n"
    (folder / "lab.tsv").write_text(table(ROWS, "\t"))
    assert run(f"calibrate lab.tsv --out file.json {words}").exit_code == 0
    lines = pipe(table(ROWS, "\t"))
    done = run(f"calibrate {lines} --format tsv --out pipe.json {words}")
    assert done.exit_code == 0, done.output
    first, second = (json.loads((folder / f"{n}.json").read_text()) for n in ("file", "pipe"))
    assert {**first, "signature": ""} == {**second, "signature": ""}


def test_two_columns_of_scores_in_a_pipe(folder: Path, pipe: Pipe) -> None:
    pytest.importorskip("scipy", reason="needs the extra meta")
    lab = [{"grounding": row["knowledge"], "generated_text": row["response"],
            "label": row["label"]} for row in ROWS]
    (folder / "lab.csv").write_text(table(lab))
    scores = pipe("".join(json.dumps({"s": row["s"], "t": row["t"]}) + "\n" for row in ROWS))
    done = run(f"meta-eval true lab.csv --metrics knowledge_f1 --no-cache --scores {scores} "
               "--format jsonl --column s --column t --quiet --out a.json")
    assert done.exit_code == 0, done.output
    signed = json.loads((folder / "a.json").read_text())["signatures"]
    assert {"knowledge_f1", "s", "t"} <= set(signed)


def test_a_set_in_a_pipe(folder: Path, pipe: Pipe) -> None:
    pytest.importorskip("scipy", reason="needs the extra meta")
    lab = "grounding,generated_text,label\nr,r,1\nk,z,0\nr,r r,1\n"
    done = run(f"meta-eval true {pipe(lab)} --metrics knowledge_f1 --no-cache --quiet --out a.json")
    assert done.exit_code == 0, done.output
    (folder / "empty.csv").write_text(lab.splitlines()[0])
    done = run("meta-eval true empty.csv --metrics knowledge_f1")
    assert (done.exit_code, done.stderr) == (2, "q2: error: empty.csv: has no rows\n")


def test_a_pool_is_a_file(folder: Path, pipe: Pipe) -> None:
    """Its contents are part of what a run is of; then it is read again."""
    (folder / "rows.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    pool = pipe('["Rome has 7 hills."]')
    done = run(f"score rows.jsonl --metrics knowledge_f1 --knowledge-pool {pool} --ranker bm25")
    assert done.exit_code == 2
    assert done.stderr == (
        f"q2: error: {pool}: can be read only once; --knowledge-pool needs a file\n")
