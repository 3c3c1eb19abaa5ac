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
from q2_metric._version import __version__
from q2_metric.cli.main import main
from q2_metric.engine import blocks, identity, job, manifest
from q2_metric.engine.result import SystemRun
from q2_metric.engine.run import JobRun
from q2_metric.engine.unfinished import Unfinished, open_unfinished, unfinished_path
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


def blocks_of(out: Path) -> list[tuple[bytes, bytes]]:
    """The finished blocks of an output, each with the line before it."""
    _, *lines = unfinished_path(out).read_bytes().splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if not line.startswith(b"{")]
    return [(lines[i], b"".join(lines[i + 1 : end]))
            for i, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def rewrite(out: Path, *, first: bytes | None = None,
            blocks: Sequence[tuple[bytes, bytes]] | None = None) -> None:
    """Edits the first line or the blocks of an unfinished output."""
    path = unfinished_path(out)
    lines = path.read_bytes().splitlines(keepends=True)
    kept = blocks_of(out) if blocks is None else blocks
    path.write_bytes((lines[0] if first is None else first)
                     + b"".join(line for block in kept for line in block))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path, monkeypatch)


def test_a_run_goes_on_after_its_last_block(run: Runner) -> None:
    run.out.write_text("earlier")
    stopped = run("--overwrite", stop_at="r7")
    assert stopped.exit_code == 130
    assert stopped.stderr == (
        f"q2: error: stopped; {run.out}.unfinished keeps what is finished: the same command "
        "without --overwrite resumes from there\n"
    )
    assert run.out.read_text() == "earlier"  # until the new output is complete
    assert len(blocks_of(run.out)) == 2
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
    assert SystemRun.from_json(system).scores[0].n == ROWS


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


def test_an_empty_unfinished_output_frees_no_file(run: Runner) -> None:
    run.out.write_text("my thesis")
    unfinished_path(run.out).touch()
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
        f"run the same command again ({run.out}.unfinished keeps the scores)\n")
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
        ("row", (), "rows.jsonl have changed"),
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
    record = unfinished_path(run.out).read_bytes().splitlines()[0]
    if change == "row":
        run.write_rows([*VALUES][:-1])
    elif change == "signature":
        run.fakes["scale"].signature = "scale|version:other"
    elif change == "block":
        monkeypatch.setattr(job, "BLOCK", 4)
    elif change == "version":
        version = json.dumps(__version__).encode()
        rewrite(run.out, first=record.replace(version, b'"0.0.1"') + b"\n")
    elif change == "code":
        code = identity.code().encode()
        rewrite(run.out, first=record.replace(code, b"other") + b"\n")
    elif change == "damage":
        rewrite(run.out, first=record[:record.index(b"{")] + b"{}\n")
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
    """Not when they were written; a process reads a file once until it changes."""
    model = tmp_path / "model"
    (model / "tokens").mkdir(parents=True)
    for name in ("weights", "tokens/a"):
        (model / name).write_text(name)
        os.utime(model / name, (1, 1))

    def found() -> object:
        return identity.contents([str(model)])

    read: list[str] = []
    monkeypatch.setattr(
        identity, "fingerprint", lambda path: read.append(Path(path).name) or fingerprint(path))
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


def test_a_resolvers_file_is_part_of_the_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_resolver.py").write_text("raise SystemExit('imported')")
    request = {"preset": "bundled", "coreference_model": "my_resolver:Resolver"}
    before = identity.identity("q2", request)
    assert [name for name in before if name.startswith("contents")] == [
        "contents of my_resolver:Resolver"]
    assert identity.identity("q2", request) == before
    (tmp_path / "my_resolver.py").write_text("class Resolver: ...")
    assert identity.identity("q2", request) != before
    other = identity.identity("q2", {**request, "coreference_model": "no.such:Thing"})
    assert not any(name.startswith("contents") for name in other)


def test_what_does_not_change_the_output_may_change(run: Runner, tmp_path: Path) -> None:
    run(stop_at="r7")
    other = ("-s", "batch_size=7", "--device", "cpu", "--quiet", "--cache", str(tmp_path / "c"))
    result = run(*other)
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


Blocks = list[tuple[bytes, bytes]]


def _edited(old: str, new: str) -> Callable[[Blocks], Blocks]:
    def edit(blocks: Blocks) -> Blocks:
        [first, (line, rows)] = blocks
        assert old.encode() in rows
        return [first, (line, rows.replace(old.encode(), new.encode()))]

    return edit


@pytest.mark.parametrize(("damage", "batches"), [
    (lambda blocks: blocks[:1], [3, 3, 1]),
    *((lambda blocks, text=text: [blocks[0], (b"", text)], [3, 3, 1])
      for text in (b"", b"{", b'{"knowledge_f1": 1}\n', b"1\n1\n1\n", b"{}\n{}\n{}\n",
                   b"0" * 64 + b" 3\n{}\n", b"0" * 64 + b" 999999999999999\n{}\n", b"\n\n")),
    (lambda blocks: [blocks[0], (blocks[1][0], blocks[1][1][:-1])], [3, 3, 1]),
    (lambda blocks: [*blocks, (b"0" * 30, b"")], [3, 1]),
    (lambda blocks: [*blocks, blocks[1]], [3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": "abc"'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": 9.9'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": -5'), [3, 3, 1]),
    (_edited('"knowledge_f1": 0.4', '"knowledge_f1": 0.5'), [3, 3, 1]),
    (lambda blocks: blocks[::-1], [1, 2, 3, 3, 1]),
])
def test_a_damaged_block_is_scored_again(
    run: Runner, damage: Callable[[Blocks], Blocks], batches: list[int]
) -> None:
    run(stop_at="r7")
    rewrite(run.out, blocks=damage(blocks_of(run.out)))
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == batches
    assert run.values() == list(VALUES.values())


def test_a_block_of_another_run_is_scored_again(run: Runner) -> None:
    """Of the same size and place, with scores of other responses."""
    run(stop_at="r7")
    given = run.rows.read_text()
    run.write_rows([f"x{i}" for i in range(ROWS)])
    run.fakes["knowledge_f1"].table = {**VALUES, **{f"x{i}": 1.0 for i in range(ROWS)}}
    run(stop_at="x7", out="other.jsonl")
    run.rows.write_text(given)
    mine, other = blocks_of(run.out), blocks_of(run.folder / "other.jsonl")
    rewrite(run.out, blocks=[mine[0], other[1]])
    assert run().exit_code == 0
    assert run.values() == list(VALUES.values())


@pytest.mark.parametrize("damage", [
    b'{"version": "0.', b"", b"[" * 100_000, b"\xff", b"1", b"[]", b"null"])
def test_blocks_whose_first_line_is_damaged_are_kept(run: Runner, damage: bytes) -> None:
    run(stop_at="r7")
    path = unfinished_path(run.out)
    whole = path.read_bytes()
    rewrite(run.out, first=whole[:whole.index(b"{")] + damage + b"\n")
    damaged = path.read_bytes()
    for _ in range(2):
        refused = run()
        assert refused.exit_code == 2
        assert "its manifest cannot be understood" in refused.stderr
        assert "start over with --overwrite" in refused.stderr
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [3, 1]


def test_blocks_that_are_damaged_during_the_run(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stops; the next one scores them again."""
    real = Stopping.score

    def score(fake: Stopping, examples: Sequence[Example], **keywords: bool) -> list[Score]:
        if examples[0].response == "r9":
            rewrite(run.out, blocks=_edited("0.4", "0.5")(blocks_of(run.out)[:2]))
        return real(fake, examples, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(Stopping, "score", score)
        stopped = run()
    assert (stopped.exit_code, run.out.exists()) == (2, False)
    assert stopped.stderr.endswith(
        f"{run.out}.unfinished: was damaged; the same command scores its rows again\n")
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [3, 3, 1]
    assert run.values() == list(VALUES.values())


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
    calls, at = 0, list[int]()

    def full(real: Callable[..., Any]) -> Callable[..., Any]:
        def write(descriptor: int, *data: bytes) -> Any:
            nonlocal calls
            calls += 1
            if calls in at:
                for part in data:
                    real(descriptor, part[: len(part) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, *data)

        return write

    for name in ("fsync", "write"):
        monkeypatch.setattr(os, name, full(getattr(os, name)))
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


def test_a_block_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path, 65_536) as disk, open_unfinished(disk / "out.jsonl") as unfinished:
        unfinished.begin(disk / "out.jsonl", NOW)
        unfinished.append(b'{"id": "1"}\n')
        filler = fill(disk)
        large = b'{"id": "2"}\n' * 1000
        with pytest.raises(WriteError, match="cannot be written: No space left on device"):
            unfinished.append(large)
        filler.unlink()
        unfinished.append(large)
        assert [*unfinished.blocks()] == [b'{"id": "1"}\n', large]


NOW = manifest.manifest([], {}, {}, {})


def test_nothing_is_complete_without_its_output(run: Runner) -> None:
    run()
    run.out.unlink()
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1]
    assert run.values() == list(VALUES.values())


# --- files of others -----------------------------------------------------------------------


def test_a_file_of_others_stays_as_it_is(run: Runner) -> None:
    path = unfinished_path(run.out)
    path.write_text("mine")
    for arguments in ((), ("--overwrite",)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "out.jsonl.unfinished: was not written by q2 score, so it is not" in result.stderr
    assert path.read_text() == "mine"
    assert not run.out.exists()


def test_a_folder_in_the_place_of_the_unfinished_output(run: Runner) -> None:
    folder = unfinished_path(run.out)
    folder.mkdir()
    result = run()
    assert (result.exit_code, [*folder.iterdir()]) == (3, [])
    assert "out.jsonl.unfinished: cannot be written: Is a directory" in result.stderr


def test_a_link_is_not_followed(run: Runner) -> None:
    elsewhere = run.folder / "elsewhere"
    elsewhere.touch()
    unfinished_path(run.out).symlink_to(elsewhere)
    result = run()
    assert (result.exit_code, elsewhere.read_text()) == (3, "")
    assert "out.jsonl.unfinished: cannot be written: Too many levels" in result.stderr


@pytest.mark.parametrize("name", ["out.jsonl.tmp", "out.jsonl.unfinished.tmp"])
def test_names_that_helpers_had_are_free(run: Runner, name: str) -> None:
    path = run.folder / name
    path.symlink_to(run.folder / "target")
    (run.folder / "target").write_text("precious")
    assert run().exit_code == 0
    assert path.read_text() == "precious"


def test_an_input_in_the_place_of_the_unfinished_output_is_refused(run: Runner) -> None:
    run.rows = run.rows.rename(unfinished_path(run.out))
    result = run("--format", "jsonl", "--overwrite")
    assert result.exit_code == 2
    assert "is an input, so it cannot be written" in result.stderr
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


def test_killed_in_the_last_clean_up(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is scored again, and the next run sweeps away what was left."""
    def dying(_unfinished: Unfinished) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Unfinished, "remove", dying)
        with pytest.raises(Killed):
            run()
    assert unfinished_path(run.out).exists()
    assert run().exit_code == 0
    assert run.fakes["knowledge_f1"].batches == []
    assert run.values() == list(VALUES.values())
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl",
    ]
    assert "is complete already" in run().stderr


def test_a_lock_on_a_file_that_was_removed_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for a file that is removed meanwhile takes the new one."""
    fcntl = pytest.importorskip("fcntl")
    out, real, came = tmp_path / "out.jsonl", fcntl.flock, 0

    def lock(descriptor: int, operation: int) -> None:
        nonlocal came
        came += 1
        if came == 1:  # between opening and locking, the other process ends
            unfinished_path(out).unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock)
    with open_unfinished(out), pytest.raises(InputError, match="another process is writing it"), \
            open_unfinished(out):
        pass
    assert came == 3
    assert not unfinished_path(out).exists()


def test_who_comes_when_another_has_just_finished(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking for an output and locking it another process may complete it."""
    first = [True]

    def finished_meanwhile(out: str) -> Any:
        if first.pop() if first else False:
            JobRun(given).run(out)
        return open_unfinished(out)

    given = job.Job((str(run.rows),), Columns(), ("knowledge_f1",))
    late = JobRun(given)
    monkeypatch.setattr("q2_metric.engine.run.open_unfinished", finished_meanwhile)
    [found] = late.run(str(run.out))
    assert run.fakes["knowledge_f1"].batches == [1, 2, 3, 3, 1], "only by one of them"
    assert (found.rows, found.scores[0].n) == (ROWS, ROWS)
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "out.jsonl", "out.jsonl.manifest.json", "rows.jsonl"]


def test_a_file_that_others_take_away_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl, out = pytest.importorskip("fcntl"), tmp_path / "out.jsonl"
    monkeypatch.setattr(fcntl, "flock", lambda *_: unfinished_path(out).unlink())
    with pytest.raises(InputError) as caught, open_unfinished(out):
        pass
    assert str(caught.value) == f"{out}: other processes are writing it"


WITHOUT = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


@pytest.mark.parametrize("code", [*WITHOUT, errno.EIO, errno.EWOULDBLOCK, errno.EACCES])
def test_file_systems_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", flock)
    if code in WITHOUT:
        with open_unfinished(tmp_path / "out.jsonl") as unfinished:
            assert unfinished.path.is_file()
    else:
        words = "cannot be locked: Input" if code == errno.EIO else "another process"
        with pytest.raises(InputError, match=words), \
                open_unfinished(tmp_path / "out.jsonl"):
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
    assert not unfinished_path(run.out).exists()


@pytest.mark.parametrize("option", [("--actors", "2"), ("--address", "auto"),
                                    ("--gpus-per-actor", "1")])
def test_options_of_ray_need_ray(run: Runner, option: tuple[str, str]) -> None:
    result = run(*option)
    assert result.exit_code == 2
    assert f"{option[0]} needs --engine ray" in result.stderr
