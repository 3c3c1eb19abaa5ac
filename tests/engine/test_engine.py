"""Runs that go on: what is kept, what is refused and with which words."""

from __future__ import annotations

import csv
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import FakeMetric
from limits import fill, small_disk

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine import blocks, identity, job, manifest
from q2_metric.engine import parts as parts_module
from q2_metric.engine.cache import Cache
from q2_metric.engine.manifest import difference
from q2_metric.engine.parts import MARK, PartFiles, encoded, open_parts, parts_folder
from q2_metric.engine.result import FileResult
from q2_metric.engine.run import JobRun
from q2_metric.errors import InputError, WriteError
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
        names = ("knowledge_f1", "knowledge_bleu", "scale")
        self.fakes = {name: Stopping(name, VALUES) for name in names}
        self.write_rows(VALUES)

    def load(self, names: Sequence[str], _preset: str, **_keywords: object) -> list[Metric]:
        return [self.fakes[name] for name in names]

    def write_rows(self, responses: Sequence[str] | dict[str, float]) -> None:
        rows = [{"response": text, "knowledge": "k"} for text in responses]
        self.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def __call__(self, *arguments: str, out: str = "out.jsonl", stop_at: str | None = None,
                 names: str = "knowledge_f1", stdin: str | None = None) -> Result:
        for fake in self.fakes.values():
            fake.stop_at, fake.batches = stop_at, []
        files = ["-"] if stdin is not None else [str(self.rows)]
        command = ["score", *files, "--metrics", names, "--out", str(self.folder / out)]
        return CliRunner().invoke(main, [*command, *arguments], input=stdin)

    def values(self) -> list[Any]:
        return [json.loads(line)["knowledge_f1"] for line in self.out.read_text().splitlines()]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path, monkeypatch)


def test_a_run_goes_on_after_its_last_block(run: Runner) -> None:
    run.out.write_text("earlier")
    stopped = run("--overwrite", stop_at="r7")
    assert stopped.exit_code == 130
    assert stopped.stderr == (
        f"q2: error: stopped; {run.out}.parts keeps what is finished: the same command without "
        "--overwrite resumes from there\n"
    )
    assert run.out.read_text() == "earlier"  # until the new output is complete
    assert len(list((run.folder / "out.jsonl.parts").glob("*/*.jsonl"))) == 2
    result = run("--json")
    assert run.fakes["knowledge_f1"].batches == [3, 1]
    assert "resuming: " in result.stderr
    assert run.values() == list(VALUES.values())
    found = json.loads(result.stdout)["files"][0]
    assert found["rows"] == ROWS
    assert found["scores"]["knowledge_f1"]["value"] == pytest.approx(0.45)
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
    ]


def test_a_file_of_something_else_is_not_written_over(run: Runner) -> None:
    run.out.write_text("my thesis")
    refused = run()
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"q2: error: {run.out}: already exists and is not an output of q2 score "
        "(out.jsonl.manifest.json is not beside it); choose another name, or replace it with "
        "--overwrite\n"
    )
    assert run.out.read_text() == "my thesis"
    run.out.write_text("")  # as mktemp leaves it
    assert run().exit_code == 0
    run.rows.write_text(run.rows.read_text() + run.rows.read_text())
    assert run().exit_code == 0  # its own, of other rows, is replaced


def test_a_run_without_a_finished_block_leaves_nothing(run: Runner) -> None:
    stopped = run(stop_at="r0")
    assert (stopped.exit_code, stopped.stderr) == (130, "q2: error: stopped\n")
    stopped = run("--cache", str(run.folder / "c"), stop_at="r0")
    assert "are in the cache: the same" in stopped.stderr
    (run.folder / "c").unlink()
    assert [*run.folder.iterdir()] == [run.rows]


def test_the_manifest_stays_beside_the_output(run: Runner) -> None:
    result = run("--json")
    found = json.loads((run.folder / "out.jsonl.manifest.json").read_text())
    assert found["complete"] is True
    assert found["signatures"] == {"knowledge_f1": "knowledge_f1|version:test"}
    (file,) = found["files"]
    assert (file["file"], file["rows"], file["failed"]) == (str(run.rows), ROWS, 0)
    assert file["sha256"] == fingerprint(run.rows)
    (system,), (shown,) = found["systems"], json.loads(result.stdout)["files"]
    assert system == shown
    assert FileResult.from_json(system).systems[0].n == ROWS


def test_a_complete_output_is_not_scored_again(run: Runner) -> None:
    first = run("--json")
    again = run("--json")
    assert run.fakes["knowledge_f1"].batches == []
    assert "is complete already (10 rows); --overwrite scores them again" in again.stderr
    scores = [json.loads(done.stdout)["files"][0]["scores"] for done in (first, again)]
    assert scores[0] == scores[1]
    run("--overwrite")
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1]
    run("--report", str(run.folder / "page.html"))  # which needs the rows
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1]


def test_an_output_of_another_command_stays(run: Runner) -> None:
    """Its scores may have taken days; the same command brings its own output up to date."""
    run()
    other = run(names="knowledge_f1,knowledge_bleu")
    assert other.exit_code == 2
    assert other.stderr == (
        f"q2: error: {run.out}: already exists and was written by another command: metrics was "
        "['knowledge_f1'], now ['knowledge_f1', 'knowledge_bleu']; choose another name, or "
        "replace it with --overwrite\n")
    assert run.fakes["knowledge_bleu"].batches == []
    assert run.values() == list(VALUES.values())
    run.write_rows([*VALUES][:4])
    assert run().exit_code == 0
    assert run.values() == [0, 0.1, 0.2, 0.3]
    assert run("--overwrite", names="knowledge_bleu").exit_code == 0
    assert "knowledge_f1" not in json.loads(run.out.read_text().splitlines()[0])


def test_an_output_that_was_edited_stays(run: Runner) -> None:
    run()
    whole = run.out.read_bytes()
    run.out.write_bytes(whole + b"\n")
    for arguments in ((), ("--report", str(run.folder / "page.html"))):
        refused = run(*arguments)
        assert refused.exit_code == 2
        assert refused.stderr == (
            f"q2: error: {run.out}: already exists and has changed since q2 score wrote it; choose "
            "another name, or replace it with --overwrite\n")
    assert run.out.read_bytes() == whole + b"\n"
    assert run("--overwrite").exit_code == 0
    assert run.out.read_bytes() == whole


@pytest.mark.parametrize("output", ["mine", None])
@pytest.mark.parametrize("beside", ["{}", '{"output": "x"}', "[1]", "not JSON"])
def test_what_is_beside_an_output_must_be_our_manifest(
    run: Runner, output: str | None, beside: str
) -> None:
    record = run.folder / "out.jsonl.manifest.json"
    record.write_text(beside)
    if output is not None:
        run.out.write_text(output)
    refused = run()
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"q2: error: {record}: already exists and is not a manifest of q2 score; choose another "
        "name, or replace it with --overwrite\n")
    assert record.read_text() == beside
    assert run.out.exists() == (output is not None)
    assert run("--overwrite").exit_code == 0
    assert run.values() == list(VALUES.values())


def test_an_empty_folder_of_parts_frees_no_file(run: Runner) -> None:
    run.out.write_text("my thesis")
    (run.folder / "out.jsonl.parts").mkdir()
    refused = run()
    assert (refused.exit_code, run.out.read_text()) == (2, "my thesis")
    assert f"{run.out}: already exists and is not an output of q2 score" in refused.stderr


def test_an_output_that_changes_while_it_is_scored_stays(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Stopping.score

    def score(fake: Stopping, examples: Sequence[Example], **keywords: bool) -> list[Score]:
        run.out.write_text("written meanwhile")
        return real(fake, examples, **keywords)

    monkeypatch.setattr(Stopping, "score", score)
    refused = run()
    assert (refused.exit_code, run.out.read_text()) == (2, "written meanwhile")
    assert refused.stderr == (
        f"q2: error: {run.out}: changed during the run, so it is not replaced; move it away and "
        f"run the same command again ({run.out}.parts keeps the scores)\n")
    run.out.rename(run.folder / "moved")
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == []
    assert run.values() == list(VALUES.values())


@pytest.mark.parametrize("moment", ["manifest", "output"])
def test_killed_between_the_output_and_its_manifest(
    run: Runner, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whichever of them is in its place, the next run knows its own output."""
    run()
    run.write_rows([*VALUES][:4])
    real = os.replace

    def dying(one: Any, place: Any) -> None:
        named = Path(place).name == f"out.jsonl{'.manifest.json' * (moment == 'manifest')}"
        if named and moment == "manifest":
            raise Killed
        real(one, place)
        if named:
            raise Killed

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(Killed):
        run()
    monkeypatch.setattr(os, "replace", real)
    assert run().exit_code == 0
    assert run.values() == [0, 0.1, 0.2, 0.3]
    assert "is complete already" in run().stderr


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ("row", (), "rows.jsonl has changed since"),
        ("", ("--no-evidence",), "evidence was True, now False"),
        ("", ("--metrics", "scale,knowledge_bleu"),
         "metrics was ['scale'], now ['scale', 'knowledge_bleu']"),
        ("", ("-s", "chunk_size=100"), "scale's chunk_size was not given, now 100"),
        ("", ("-s", "scale_model=m"), "scale's scale_model was not given, now m"),
        ("", ("--id", "response"), "id was not given, now response"),
        ("signature", (), "scale's version was test, now other"),
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
    run(stop_at="r7", names="scale")
    record = run.folder / "out.jsonl.parts" / "manifest.json"
    fields = json.loads(record.read_text())
    if change == "row":
        run.write_rows([*VALUES][:-1])
    elif change == "signature":
        run.fakes["scale"].signature = "scale|version:other"
    elif change == "block":
        monkeypatch.setattr(job, "BLOCK", 4)
    elif change == "version":
        record.write_text(json.dumps({**fields, "version": "0.0.1"}))
    elif change == "code":
        fields["identities"]["scale"]["code"] = "other"
        record.write_text(json.dumps(fields))
    elif change == "damage":
        record.write_text("{}")
    result = run(*arguments, names="scale")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "run it as before, or start over with --overwrite" in result.stderr
    assert run.fakes["scale"].batches == []
    assert run(*arguments, "--overwrite", names="scale").exit_code == 0


@pytest.mark.parametrize("out", ["out.jsonl", "out.csv"])
def test_long_rows_make_short_blocks(
    run: Runner, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    assert run(out=f"whole-{out}").exit_code == 0
    monkeypatch.setattr(blocks, "CHARACTERS", 6)  # two rows, each of "r1" and "k"
    monkeypatch.setattr(job, "BLOCK", 5)
    assert run(out=out, stop_at="r7").exit_code != 0
    assert run.fakes["knowledge_f1"].batches == [1, 1, 2, 2], "of ten rows six are kept"
    assert run(out=out).exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [2, 2]
    assert (run.folder / out).read_bytes() == (run.folder / f"whole-{out}").read_bytes()


def retrain(model: Path) -> None:
    (model / "weights").write_text((model / "weights").read_text() + "1")


def test_a_model_that_is_trained_on_in_its_folder_is_another(run: Runner) -> None:
    """Nothing is complete with the scores of the old one, and no run goes on with both."""
    model = run.folder / "model"
    model.mkdir()
    (model / "weights").write_text("1")
    options = ("-s", f"scale_model={model}")
    run(*options, names="scale")
    assert "is complete already" in run(*options, names="scale").stderr
    retrain(model)
    assert "complete" not in run(*options, names="scale").stderr
    assert run.fakes["scale"].batches == [1, 2, 3, 3, 1]
    run(*options, "--overwrite", names="scale", stop_at="r7")
    retrain(model)
    refused = run(*options, names="scale")
    assert refused.exit_code == 2
    assert f"but the contents of {model} have changed; run it as before" in refused.stderr
    assert run.fakes["scale"].batches == []


def test_a_model_is_what_is_in_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when they were written; a file is read once until it changes."""
    model = tmp_path / "model"
    (model / "tokens").mkdir(parents=True)
    for name in ("weights", "tokens/a"):
        (model / name).write_text(name)
        os.utime(model / name, (1, 1))

    def found() -> object:
        monkeypatch.setattr(identity, "_HASHED", {})  # as another process
        return identity.contents([str(model)], known)

    monkeypatch.setattr(identity, "_SETTLED", 0)
    read: list[str] = []
    monkeypatch.setattr(
        identity, "fingerprint", lambda path: read.append(Path(path).name) or fingerprint(path))
    known = Cache(tmp_path / "c")
    first = found()
    assert found() == first
    assert read == ["a", "weights"]
    os.utime(model / "weights", (2, 2))
    assert found() == first
    assert read == ["a", "weights", "weights"]
    (model / "weights").write_text("weighty")  # as long, and as old
    os.utime(model / "weights", (2, 2))
    assert found() != first
    (model / "weights").write_text("weights")
    (model / "checkpoint-1").mkdir()
    (model / "checkpoint-1" / "config.json").touch()  # a model of its own
    assert found() == first
    (model / "tokens" / "b").touch()
    assert found() != first
    monkeypatch.setattr(identity, "_SETTLED", 2_000_000_000)
    (model / "tokens" / "b").unlink()
    (model / "weights").write_text("weights")
    read.clear()
    assert [found(), found()] == [first, first]
    assert read == ["weights"] * 2, "what was just written may be written again at the same time"


def test_the_code_is_every_file_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change in code, weights or a table makes other scores; a compiled file does not."""
    import q2_metric

    package = tmp_path / "q2_metric"
    names = ("types.py", "scoring.py", "metrics/a.py", "models/w.safetensors", "models/g.onnx",
             "models/h.json", "text/b.py", "text/word_order.tsv", "text/words.txt.gz", "c/d")
    for name in (*names, "text/__pycache__/b.cpython-311.pyc"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("1")
    monkeypatch.setattr(q2_metric, "__file__", str(package / "__init__.py"))

    def both() -> list[object]:
        identity.code.cache_clear()
        return [identity.identity(metric, {})["code"] for metric in ("q2", "knowledge_f1")]

    for name in names:
        before = both()
        (package / name).write_text("2")
        assert all(old != new for old, new in zip(before, both(), strict=True)), name
    before = both()
    (package / "text/__pycache__/b.cpython-311.pyc").write_text("2")
    assert both() == before
    (package / "text" / "new.tsv").write_text("1")
    assert both() != before
    identity.code.cache_clear()


def test_only_models_may_be_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder here that has the name of a preset is none of its models; ``~`` is expanded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("paper", "mean", "model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("1")
    request = {"preset": "paper", "aggregate": "mean", "scale_model": "~/model"}
    before = identity.identity("scale", request)
    assert [name for name in before if name.startswith("contents")] == ["contents of ~/model"]
    (tmp_path / "model" / "config.json").write_text("2")
    assert identity.identity("scale", request) != before


def test_other_files_are_refused() -> None:
    def of(*files: tuple[str, str]) -> manifest.Manifest:
        found = manifest.manifest([], {}, {}, {})
        return {**found, "files": [{"file": f, "sha256": s} for f, s in files]}

    one = of(("a", "1"))
    assert difference(one, of(("a", "1"))) is None
    assert difference(one, of(("a", "2"))) == "a has changed since"
    assert difference(one, of(("b", "1"))) == "it read a, now b"
    assert difference(one, of(("a", "1"), ("b", "1"))) == "it read 1 files, now 2"


def test_what_does_not_change_the_output_may_change(run: Runner, tmp_path: Path) -> None:
    run(stop_at="r7")
    other = ("-s", "batch_size=7", "--device", "cpu", "--quiet", "--cache", str(tmp_path / "c"))
    result = run(*other, "-s", "chunk_size=100")  # which the metric does not have
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
    assert run("--overwrite", stdin=rows).exit_code == 0
    assert run.values() == list(VALUES.values())
    run(stdin=rows)
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1]  # never "complete already"


def _swap(parts: PartFiles) -> None:
    first, second = parts.path(0, 0), parts.path(0, 1)
    texts = first.read_bytes(), second.read_bytes()
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])


def _edited(old: str, new: str) -> Callable[[PartFiles], None]:
    def edit(parts: PartFiles) -> None:
        text = parts.path(0, 1).read_text()
        assert old in text
        parts.path(0, 1).write_text(text.replace(old, new))

    return edit


@pytest.mark.parametrize(("damage", "batches"), [
    (lambda parts: parts.path(0, 1).unlink(), [3, 3, 1]),
    *((lambda parts, text=text: parts.path(0, 1).write_text(text), [3, 3, 1])
      for text in ("", "{", '{"knowledge_f1": 1}\n', "1\n1\n1\n", "{}\n{}\n{}\n")),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": "abc"'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": 9.9'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": -5'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": 0.5'), [3, 3, 1]),
    (_swap, [1, 2, 3, 3, 1]),
])
def test_a_damaged_part_is_scored_again(
    run: Runner, damage: Callable[[PartFiles], None], batches: list[int]
) -> None:
    run(stop_at="r7")
    damage(PartFiles(run.folder / "out.jsonl.parts"))
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == batches
    assert run.values() == list(VALUES.values())


def test_a_part_of_another_run_is_scored_again(run: Runner) -> None:
    """Of the same size and name, with scores of other responses."""
    run(stop_at="r7")
    given = run.rows.read_text()
    run.write_rows([f"x{i}" for i in range(ROWS)])
    run.fakes["knowledge_f1"].values = {**VALUES, **{f"x{i}": 1.0 for i in range(ROWS)}}
    run(stop_at="x7", out="other.jsonl")
    run.rows.write_text(given)
    mine, other = (PartFiles(run.folder / f"{name}.jsonl.parts") for name in ("out", "other"))
    mine.path(0, 1).write_bytes(other.path(0, 1).read_bytes())
    assert run().exit_code == 0
    assert run.values() == list(VALUES.values())


@pytest.mark.parametrize(("damage", "words"), [
    (b'{"version": "0.', "is not JSON"),
    (None, "there is no such file"),
    (b"[" * 100_000, "nested too deeply"),
    (b"\xff", "is not UTF-8"),
    ("folder", "cannot be read: Is a directory"),
    (b"1", "its manifest cannot be understood"),
    (b"[]", "its manifest cannot be understood"),
    (b"null", "its manifest cannot be understood"),
])
def test_blocks_whose_manifest_is_damaged_are_kept(
    run: Runner, damage: bytes | str | None, words: str
) -> None:
    run(stop_at="r7")
    parts = PartFiles(run.folder / "out.jsonl.parts")
    whole = parts.manifest.read_bytes()
    parts.manifest.unlink()
    if damage == "folder":
        parts.manifest.mkdir()
    elif isinstance(damage, bytes):
        parts.manifest.write_bytes(damage)
    for _ in range(2):
        refused = run()
        assert refused.exit_code == 2
        assert words in refused.stderr
        assert "start over with --overwrite" in refused.stderr
        assert parts.done() == {(0, 0), (0, 1)}
    if damage == "folder":
        parts.manifest.rmdir()
    parts.manifest.write_bytes(whole)
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [3, 1]


def test_a_folder_of_parts_that_is_a_link_is_not_followed(run: Runner) -> None:
    run(stop_at="r7")
    parts, elsewhere = run.folder / "out.jsonl.parts", run.folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("0.jsonl", ".q2-00.tmp"):
        (elsewhere / name).write_text("mine")
    (parts / "7-0").symlink_to(elsewhere)
    assert PartFiles(parts).done() == {(0, 0), (0, 1)}
    assert run("--overwrite").exit_code == 0
    assert [path.read_text() for path in elsewhere.iterdir()] == ["mine", "mine"]


def test_a_part_behind_a_link_is_neither_read_nor_written(run: Runner) -> None:
    run(stop_at="r7")
    parts, elsewhere = run.folder / "out.jsonl.parts", run.folder / "elsewhere"
    (parts / "0-0").rename(elsewhere)
    (parts / "0-0").symlink_to(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    refused = run()
    assert refused.exit_code == 3
    assert "0.jsonl: cannot be written: the file or its folder is a link" in refused.stderr
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before


def test_a_damaged_part_of_other_processes_is_missing_the_next_time(tmp_path: Path) -> None:
    """Where actors score, the driver cannot; it takes the part away for them."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "r", "knowledge": "k"}\n')
    parts = PartFiles(tmp_path)
    parts.write(0, 0, b"{")
    given = job.Job((str(rows),), Columns(), ("knowledge_f1",))
    driver = JobRun(given)
    driver._loaded = None
    with pytest.raises(InputError, match="was damaged; the same command scores its rows again"):
        driver._score_file(0, parts, frozenset(), None)
    assert parts.done() == set()
    gone = parts.damaged(0, 3)
    assert str(gone) == (
        f"{parts.path(0, 3)}: was damaged; the same command scores its rows again")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats_go_on_too(run: Runner, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    out = f"out.{suffix}"
    run(stop_at="r7", out=out)
    assert run(out=out).exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [3, 1]
    if suffix == "csv":
        with open(run.folder / out, encoding="utf-8", newline="") as file:
            found = [float(row["knowledge_f1"]) for row in csv.DictReader(file)]
    else:
        import pyarrow.parquet

        found = pyarrow.parquet.read_table(run.folder / out).column("knowledge_f1").to_pylist()
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
    files = [str(run.rows), str(second)]
    command = ["score", *files, "--metrics", "knowledge_f1", "--out", str(run.out)]
    run.fakes["knowledge_f1"].stop_at = "r9"
    CliRunner().invoke(main, command)
    run.fakes["knowledge_f1"].stop_at, run.fakes["knowledge_f1"].batches = None, []
    assert CliRunner().invoke(main, command).exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [1, 1, 2, 3, 3, 1]
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
        result = run("--overwrite")
        if result.exit_code:
            assert result.exit_code == 3
            assert "cannot be written: No space left on device" in result.stderr
            assert run.out.read_bytes() == whole
        at = []
        assert run().exit_code == 0
        assert run.out.read_bytes() == whole
        assert sorted(path.name for path in run.folder.iterdir()) == [
            "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
        ]


def test_a_part_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path, 65_536) as disk:
        parts = PartFiles(disk)
        parts.write(0, 0, encoded([{"id": "1"}]))
        filler = fill(disk)
        with pytest.raises(WriteError, match="cannot be written: No space left on device"):
            parts.write(0, 1, encoded([{"id": "2"}]))
        assert parts.done() == {(0, 0)}
        assert parts.read(0, 0, 1) == [{"id": "1"}]
        filler.unlink()
        parts.write(0, 1, encoded([{"id": "2"}]))
        assert parts.read(0, 1, 1) == [{"id": "2"}]


def test_parts_of_many_blocks(tmp_path: Path) -> None:
    parts = PartFiles(tmp_path)
    for file, block in [(0, 0), (0, 999), (0, 1000), (12, 123_456)]:
        parts.write(file, block, encoded([{"id": "x", "error": "\udc80"}]))
    assert parts.done() == {(0, 0), (0, 999), (0, 1000), (12, 123_456)}
    assert parts.read(12, 123_456, 1) == [{"id": "x", "error": "\udc80"}]
    assert parts.read(12, 123_456, 2) is None


def test_nothing_is_complete_without_its_output(run: Runner) -> None:
    run()
    run.out.unlink()
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1]
    assert run.values() == list(VALUES.values())


# --- files of others -----------------------------------------------------------------------


def test_a_folder_of_others_stays_as_it_is(run: Runner) -> None:
    folder = run.folder / "out.jsonl.parts"
    (folder / "0-0").mkdir(parents=True)
    (folder / "0-0" / "0.jsonl").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    for arguments in ((), ("--overwrite",)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "out.jsonl.parts: this folder was not made by q2 score" in result.stderr
    assert {path.read_text() for path in folder.rglob("*") if path.is_file()} == {"mine"}
    assert not run.out.exists()


@pytest.mark.parametrize("mark", [True, False])
def test_a_link_to_a_folder_is_not_followed(run: Runner, mark: bool) -> None:
    elsewhere = run.folder / "elsewhere"
    elsewhere.mkdir()
    if mark:
        (elsewhere / MARK).touch()
        (elsewhere / "manifest.json").write_text("mine")
    (run.folder / "out.jsonl.parts").symlink_to(elsewhere)
    assert "was not made by q2 score" in run().stderr
    assert len([*elsewhere.iterdir()]) == 2 * mark


def test_a_mark_that_is_a_link_is_not_followed(run: Runner) -> None:
    folder = run.folder / "out.jsonl.parts"
    folder.mkdir()
    (folder / MARK).symlink_to(run.rows)
    assert run().exit_code == 3
    assert run.rows.exists()


def test_files_of_others_among_the_parts_stay(run: Runner) -> None:
    run(stop_at="r7")
    folder = run.folder / "out.jsonl.parts"
    for name in ("notes.txt", "0-0/notes.txt", "0-0/a.jsonl"):
        (folder / name).write_text("mine")
    (folder / "a-b").mkdir()
    (folder / "a-b" / "1.jsonl").write_text("mine")
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [3, 1]
    assert run.values() == list(VALUES.values())
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == [
        "0-0/a.jsonl", "0-0/notes.txt", "a-b/1.jsonl", "notes.txt",
    ]
    assert "is complete already" in run().stderr


@pytest.mark.parametrize("name", ["out.jsonl.tmp", "out.jsonl.parts.old"])
def test_names_that_helpers_had_are_free(run: Runner, name: str) -> None:
    path = run.folder / name
    path.symlink_to(run.folder / "target")
    (run.folder / "target").write_text("precious")
    assert run().exit_code == 0
    assert path.read_text() == "precious"


def test_an_input_among_the_parts_is_refused(run: Runner) -> None:
    folder = run.folder / "out.jsonl.parts"
    folder.mkdir()
    run.rows = run.rows.rename(folder / "rows.jsonl")
    result = run("--overwrite")
    assert result.exit_code == 2
    assert "is in the folder in which --out keeps finished blocks" in result.stderr
    assert run.rows.exists()


# --- inputs that change --------------------------------------------------------------------


def test_an_input_that_grows_while_it_is_read(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Stopping.score

    def grow(fake: Stopping, examples: Sequence[Example], **keywords: bool) -> list[Score]:
        with open(run.rows, "a") as file:
            file.write('{"response": "r1", "knowledge": "k"}\n')
        return real(fake, examples, **keywords)

    monkeypatch.setattr(Stopping, "score", grow)
    result = run()
    assert result.exit_code == 2
    assert result.stderr.endswith("rows.jsonl: changed while it was read; run the command again\n")
    assert not run.out.exists()


# --- the end of a run, and several at once --------------------------------------------------


class Killed(BaseException):
    """Ends a run where a kill would."""


@pytest.mark.parametrize("step", range(1, 9))
def test_killed_in_the_last_clean_up(
    run: Runner, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Whatever is left of the parts, the next run says so of the output and sweeps it away."""
    real, steps = {"unlink": os.unlink, "rmdir": os.rmdir}, 0

    def dying(name: str) -> Callable[..., None]:
        def remove(*arguments: Any, **keywords: Any) -> None:
            nonlocal steps
            steps += 1
            if steps >= step:
                raise Killed
            real[name](*arguments, **keywords)

        return remove

    def begin_to_remove(parts: PartFiles) -> None:
        for name in real:
            monkeypatch.setattr(os, name, dying(name))
        really_remove(parts)

    really_remove = PartFiles.remove
    monkeypatch.setattr(PartFiles, "remove", begin_to_remove)
    with pytest.raises(Killed):
        run()
    monkeypatch.setattr(PartFiles, "remove", really_remove)
    for name, function in real.items():
        monkeypatch.setattr(os, name, function)
    assert (run.folder / "out.jsonl.parts").exists()
    again = run()
    assert run.fakes["knowledge_f1"].batches == []
    assert "is complete already" in again.stderr
    assert run.values() == list(VALUES.values())
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
    ]


def test_a_lock_on_a_folder_that_was_removed_is_no_lock(tmp_path: Path) -> None:
    """Who waits for a mark that is removed meanwhile takes the new one."""
    out, real, came = tmp_path / "out.jsonl", parts_module._lock, 0

    def lock(descriptor: int, path: str | Path) -> None:
        nonlocal came
        came += 1
        if came == 1:  # between opening and locking, the other process ends
            PartFiles(parts_folder(out)).remove()
        real(descriptor, path)

    parts_module._lock = lock
    try:
        with open_parts(out), pytest.raises(InputError, match="another process is writing it"), \
                open_parts(out):
            pass
    finally:
        parts_module._lock = real
    assert came == 3
    assert not parts_folder(out).exists()


def test_who_comes_when_another_has_just_finished(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking for an output and taking its parts another process may complete it."""
    first = [True]

    def finished_meanwhile(out: str) -> Any:
        if first.pop() if first else False:
            JobRun(given).run(out)
        return open_parts(out)

    given = job.Job((str(run.rows),), Columns(), ("knowledge_f1",))
    late = JobRun(given)
    monkeypatch.setattr("q2_metric.engine.run.open_parts", finished_meanwhile)
    [found] = late.run(str(run.out))
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1], "only by one of them"
    assert (found.rows, found.systems[0].n) == (ROWS, ROWS)
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl"]


def test_a_mark_that_others_take_away_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_module, "_is_at", lambda _mark, _path: False)
    with pytest.raises(InputError) as caught, open_parts(tmp_path / "out.jsonl"):
        pass
    assert str(caught.value) == f"{tmp_path / 'out.jsonl'}: other processes are writing it"


WITHOUT = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


@pytest.mark.parametrize("code", [*WITHOUT, errno.EIO, errno.EWOULDBLOCK, errno.EACCES])
def test_file_systems_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", flock)
    if code in WITHOUT:
        with open_parts(tmp_path / "out.jsonl") as parts:
            assert parts.folder.is_dir()
    else:
        words = "cannot be locked: Input" if code == errno.EIO else "another process"
        with pytest.raises(InputError, match=words), open_parts(tmp_path / "out.jsonl"):
            pass


HAMMER = """
import sys
from q2_metric.engine.job import Job
from q2_metric.engine.run import JobRun
from q2_metric.errors import InputError
from q2_metric.rows.columns import Columns

rows, out, times = sys.argv[1:]
done = 0
while done < int(times):
    try:
        JobRun(Job((rows,), Columns(), ("knowledge_f1",), block=3)).run(out, overwrite=True)
        done += 1
    except InputError as error:
        assert "writing it" in str(error), error
    with open(out, "rb") as file:
        assert len(file.read().splitlines()) == 10
"""


@pytest.mark.slow
def test_four_processes_at_one_output(run: Runner) -> None:
    """Each either writes it whole or leaves it to the others."""
    command = [sys.executable, "-c", HAMMER, str(run.rows), str(run.out)]
    subprocess.run([*command, "1"], check=True)
    whole = run.out.read_bytes()
    several = [
        subprocess.Popen([*command, "25"], stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for one in several:
        _, said = one.communicate()
        assert one.returncode == 0, said
    assert run.out.read_bytes() == whole
    assert not parts_folder(run.out).exists()


@pytest.mark.parametrize("option", [("--actors", "2"), ("--address", "auto"),
                                    ("--gpus-per-actor", "1")])
def test_options_of_ray_need_ray(run: Runner, option: tuple[str, str]) -> None:
    result = run(*option)
    assert result.exit_code == 2
    assert f"{option[0]} needs --engine ray" in result.stderr
