"""Runs that go on: what is kept, what is refused and with which words."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric
from limits import largest_file
from q2_metric.engine.results import from_json

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine import job, manifest
from q2_metric.engine.manifest import difference, finished
from q2_metric.engine.parts import Parts, encoded
from q2_metric.engine.run import run_file
from q2_metric.errors import InputError
from q2_metric.files import fingerprint
from q2_metric.rows.columns import Columns
from q2_metric.types import Example, Metric, Score

ROWS = 10
VALUES = {f"r{i}": i / 10 for i in range(ROWS)}


class Stopping(FakeMetric):
    """Stops the process's run, as Ctrl-C does, when it comes to a response."""

    stop_at: str | None = None

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        if any(example.response == self.stop_at for example in examples):
            raise KeyboardInterrupt
        return super().score(examples, evidence=evidence)


class Runner:
    """``q2 score`` over ten rows in blocks of three, with metrics that count what they score."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job, "BLOCK", 3)
        monkeypatch.setattr(metrics, "load_metrics", self.load)
        self.folder, self.out = folder, folder / "out.jsonl"
        self.rows = folder / "rows.jsonl"
        self.fakes = {name: Stopping(name, VALUES) for name in ("f1", "bleu")}
        self.write_rows(VALUES)

    def load(self, names: Sequence[str], _preset: str, **_keywords: object) -> list[Metric]:
        return [self.fakes[name] for name in names]

    def write_rows(self, responses: Sequence[str] | dict[str, float]) -> None:
        rows = [{"response": text, "knowledge": "k"} for text in responses]
        self.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def __call__(self, *arguments: str, out: str = "out.jsonl", stop_at: str | None = None,
                 names: str = "f1", stdin: str | None = None) -> Result:
        for fake in self.fakes.values():
            fake.stop_at, fake.batches = stop_at, []
        files = ["-"] if stdin is not None else [str(self.rows)]
        command = ["score", *files, "--metrics", names, "--out", str(self.folder / out)]
        return CliRunner().invoke(main, [*command, *arguments], input=stdin)

    def values(self) -> list[Any]:
        return [json.loads(line)["f1"] for line in self.out.read_text().splitlines()]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path, monkeypatch)


def test_a_run_goes_on_after_its_last_block(run: Runner) -> None:
    run.out.write_text("earlier")
    assert run(stop_at="r7").exit_code == 1
    assert run.out.read_text() == "earlier"  # until the new output is complete
    assert len(list((run.folder / "out.jsonl.parts").glob("*/*.jsonl"))) == 2
    result = run("--json")
    assert run.fakes["f1"].batches == [3, 1]
    assert "going on: " in result.stderr
    assert run.values() == list(VALUES.values())
    found = json.loads(result.stdout)["files"][0]
    assert found["rows"] == ROWS
    assert found["scores"]["f1"]["value"] == pytest.approx(0.45)
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
    ]


def test_a_run_without_a_finished_block_leaves_nothing(run: Runner) -> None:
    assert run(stop_at="r0").exit_code == 1
    assert [*run.folder.iterdir()] == [run.rows]


def test_the_manifest_stays_beside_the_output(run: Runner) -> None:
    result = run("--json")
    found = json.loads((run.folder / "out.jsonl.manifest.json").read_text())
    assert found["complete"] is True
    assert found["signatures"] == {"f1": "f1|version:test"}
    (file,) = found["files"]
    assert (file["file"], file["rows"], file["failed"]) == (str(run.rows), ROWS, 0)
    assert file["sha256"] == fingerprint(run.rows)
    (system,), (shown,) = found["systems"], json.loads(result.stdout)["files"]
    assert system == shown
    assert from_json(system).systems[0].n == ROWS


def test_a_complete_output_is_not_scored_again(run: Runner) -> None:
    first = run("--json")
    again = run("--json")
    assert run.fakes["f1"].batches == []
    assert "is complete already (10 rows); --restart scores them anew" in again.stderr
    scores = [json.loads(done.stdout)["files"][0]["scores"] for done in (first, again)]
    assert scores[0] == scores[1]
    run("--restart")
    assert run.fakes["f1"].batches == [3, 3, 3, 1]
    run("--report", str(run.folder / "page.html"))  # which needs the rows
    assert run.fakes["f1"].batches == [3, 3, 3, 1]
    # Another setting, another input or an output that someone changed: scored anew.
    run(names="f1,bleu")
    assert run.fakes["bleu"].batches == [3, 3, 3, 1]
    run()
    assert run.fakes["f1"].batches == [3, 3, 3, 1]
    run.out.write_text("changed")
    assert run().exit_code == 0
    assert run.values() == list(VALUES.values())


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ("row", (), "rows.jsonl has changed since"),
        ("", ("--no-evidence",), "evidence was True, now False"),
        ("", ("--metrics", "f1,bleu"), "metrics was ['f1'], now ['f1', 'bleu']"),
        ("", ("--chunk-size", "100"), "chunk-size was not given, now 100"),
        ("", ("--id", "response"), "id was not given, now response"),
        ("signature", (), "f1's version was test, now other"),
        ("block", (), "block was 3, now 4"),
        ("version", (), "q2-metric was 0.0.1, now "),
        ("code", (), "the code of q2-metric or a library that it uses has changed"),
        ("damage", (), "its manifest cannot be understood"),
    ],
)
def test_another_input_or_setting_is_refused(
    run: Runner, monkeypatch: pytest.MonkeyPatch, change: str, arguments: tuple[str, ...],
    words: str,
) -> None:
    run(stop_at="r7")
    record = run.folder / "out.jsonl.parts" / "manifest.json"
    fields = json.loads(record.read_text())
    if change == "row":
        run.write_rows([*VALUES][:-1])
    elif change == "signature":
        run.fakes["f1"].signature = "f1|version:other"
    elif change == "block":
        monkeypatch.setattr(job, "BLOCK", 4)
    elif change == "version":
        record.write_text(json.dumps({**fields, "version": "0.0.1"}))
    elif change == "code":
        record.write_text(json.dumps({**fields, "code": "other"}))
    elif change == "damage":
        record.write_text("{}")
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "run it as before, or start over with --restart" in result.stderr
    assert run.fakes["f1"].batches == []
    assert run(*arguments, "--restart").exit_code == 0


def test_other_files_are_refused() -> None:
    def of(*files: tuple[str, str]) -> manifest.Manifest:
        return manifest.manifest([{"file": f, "sha256": s} for f, s in files], {}, {}, "")

    one = of(("a", "1"))
    assert difference(one, of(("a", "1"))) is None
    assert difference(one, of(("a", "2"))) == "a has changed since"
    assert difference(one, of(("b", "1"))) == "it read a, now b"
    assert difference(one, of(("a", "1"), ("b", "1"))) == "it read 1 files, now 2"


def test_what_does_not_change_the_output_may_change(run: Runner, tmp_path: Path) -> None:
    run(stop_at="r7")
    result = run("--batch-size", "7", "--device", "cpu", "--quiet", "--cache", str(tmp_path / "c"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert run.values() == list(VALUES.values())


def test_standard_input_cannot_go_on(run: Runner) -> None:
    rows = run.rows.read_text()
    assert "cannot be read again" in run(stdin=rows, stop_at="r7").stderr
    refused = run(stdin=rows)
    assert refused.exit_code == 2
    assert "standard input or a pipe, which cannot be read again; start over with" in refused.stderr
    run(stdin=rows)
    assert run(stdin=rows, out="other.jsonl").exit_code == 0
    assert run("--restart", stdin=rows).exit_code == 0
    assert run.values() == list(VALUES.values())
    run(stdin=rows)
    assert run.fakes["f1"].batches == [3, 3, 3, 1]  # never "complete already"


@pytest.mark.parametrize("damage", ["", "{", '{"f1": 1}\n', "gone"])
def test_a_damaged_part_is_scored_again(run: Runner, damage: str) -> None:
    run(stop_at="r7")
    part = Parts(run.folder / "out.jsonl.parts").path(0, 1)
    if damage == "gone":
        part.unlink()
    else:
        part.write_text(damage)
    assert run().exit_code == 0
    assert run.fakes["f1"].batches == [3, 3, 1]
    assert run.values() == list(VALUES.values())


def test_a_damaged_part_of_other_processes_is_missing_the_next_time(tmp_path: Path) -> None:
    """Where actors score, the driver cannot; it takes the part away for them."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "r", "knowledge": "k"}\n')
    parts = Parts(tmp_path)
    parts.write(0, 0, b"{")
    given = job.Job((str(rows),), Columns(), ("f1",))
    with pytest.raises(InputError, match="was damaged; the same command scores its rows anew"):
        run_file(given, 0, None, {"f1": "f1"}, parts, lambda _block, _rows: None)
    assert parts.done() == set()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats_go_on_too(run: Runner, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    out = f"out.{suffix}"
    run(stop_at="r7", out=out)
    assert run(out=out).exit_code == 0
    assert run.fakes["f1"].batches == [3, 1]
    if suffix == "csv":
        with open(run.folder / out, encoding="utf-8", newline="") as file:
            found = [float(row["f1"]) for row in csv.DictReader(file)]
    else:
        import pyarrow.parquet

        found = pyarrow.parquet.read_table(run.folder / out).column("f1").to_pylist()
    assert found == list(VALUES.values())


def test_a_page_shows_rows_of_both_runs(run: Runner) -> None:
    page = run.folder / "page.html"
    run("--report", str(page), stop_at="r7")
    assert not page.exists()
    assert run("--report", str(page)).exit_code == 0
    assert page.read_text(encoding="utf-8").count('"knowledge":') == ROWS


def test_several_files(run: Runner) -> None:
    second = run.folder / "b.jsonl"
    second.write_text(run.rows.read_text())
    command = ["score", str(run.rows), str(second), "--metrics", "f1", "--out", str(run.out)]
    run.fakes["f1"].stop_at = "r9"
    CliRunner().invoke(main, command)
    run.fakes["f1"].stop_at, run.fakes["f1"].batches = None, []
    assert CliRunner().invoke(main, command).exit_code == 0
    assert run.fakes["f1"].batches == [1, 3, 3, 3, 1]
    files = [json.loads(line)["file"] for line in run.out.read_text().splitlines()]
    assert files == [str(run.rows)] * ROWS + [str(second)] * ROWS


def test_a_full_disk(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written at that moment, what was there stays and the run goes on later."""
    real, calls = os.fsync, 0
    at: list[int] = []

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls in at:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    assert run().exit_code == 0
    whole, writes = run.out.read_bytes(), calls
    assert writes > 8
    for moment in range(1, writes + 1):
        calls, at = 0, [moment]
        result = run("--restart")
        if result.exit_code:
            assert result.exit_code == 2
            assert "cannot be written: No space left on device" in result.stderr
            assert run.out.read_bytes() == whole
        at = []
        assert run().exit_code == 0
        assert run.out.read_bytes() == whole
        assert sorted(path.name for path in run.folder.iterdir()) == [
            "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
        ]


def test_a_part_on_a_full_device(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    parts.write(0, 0, encoded([{"id": "1"}]))
    with largest_file(4), pytest.raises(InputError, match="cannot be written: File too large"):
        parts.write(0, 1, encoded([{"id": "2"}]))
    assert parts.done() == {(0, 0)}
    parts.write(0, 1, encoded([{"id": "2"}]))
    assert parts.read(0, 1, 1) == [{"id": "2"}]


def test_parts_of_many_blocks(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    for file, block in [(0, 0), (0, 999), (0, 1000), (12, 123_456)]:
        parts.write(file, block, encoded([{"id": "x", "error": "\udc80"}]))
    assert parts.done() == {(0, 0), (0, 999), (0, 1000), (12, 123_456)}
    assert parts.read(12, 123_456, 1) == [{"id": "x", "error": "\udc80"}]
    assert parts.read(12, 123_456, 2) is None


def test_nothing_is_complete_without_its_output(tmp_path: Path) -> None:
    assert finished(tmp_path / "none.jsonl", {}) is None


@pytest.mark.parametrize("option", [("--actors", "2"), ("--address", "auto"),
                                    ("--gpus-per-actor", "1")])
def test_options_of_ray_need_ray(run: Runner, option: tuple[str, str]) -> None:
    result = run(*option)
    assert result.exit_code == 2
    assert f"{option[0]} needs --engine ray" in result.stderr
