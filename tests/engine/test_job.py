"""A job: what it reads, what it loads, and what its scores depend on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeMetric

from q2_metric import metrics
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.engine.manifest import manifest
from q2_metric.errors import BadRowError, InputError
from q2_metric.files import fingerprint
from q2_metric.metrics.calibration import Calibration
from q2_metric.rows.columns import Columns
from q2_metric.rows.read import BadRow, Row
from q2_metric.types import Example, Metric, Score

PLATT = Calibration("mine", "f1", "platt", 0.5, "f1|version:test", slope=1.0, intercept=0.0)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(
        json.dumps({"response": f"r{i}", "knowledge": "k"}) + "\n" for i in range(7)))
    return path


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was loaded: names, preset, keywords."""
    found: list[tuple[Any, ...]] = []

    def load(names: Sequence[str], preset: str = "?", **keywords: Any) -> list[Metric]:
        found.append((tuple(names), preset, keywords))
        return [FakeMetric(name) for name in names]

    monkeypatch.setattr(metrics, "load_metrics", load)
    monkeypatch.setattr(metrics, "check_models", lambda *_: None)
    return found


@pytest.mark.parametrize("cached", [True, False])
def test_the_preset_and_models_that_were_asked_for_are_loaded(
    rows: Path, tmp_path: Path, loads: list[tuple[Any, ...]], cached: bool
) -> None:
    job = Job((str(rows),), Columns(), ("scale", "f1"), "paper", {"chunk_size": 9},
              cache=tmp_path / "c" if cached else None)
    loaded = job.load()
    assert [metric.name for metric in loaded.metrics] == ["scale", "f1"]
    assert loaded.selector is None
    assert {name for names, _, _ in loads for name in names} == {"scale", "f1"}
    assert {preset for _, preset, _ in loads} == {"paper"}
    assert all(keywords == {"chunk_size": 9} for names, _, keywords in loads if "scale" in names)
    assert [metric.name for metric in loaded.cached] == (["scale"] if cached else [])
    assert loaded.signatures == {"scale": "scale|version:test", "f1": "f1|version:test"}
    assert Job((str(rows),), Columns(), ("f1",)).load().metrics[0].name == "f1"
    assert loads[-1] == (("f1",), "bundled", {})


def test_a_cache_is_of_what_was_asked_for(
    rows: Path, tmp_path: Path, loads: list[tuple[Any, ...]]
) -> None:
    """Another preset or model is loaded and scores anew; another device is not."""
    job = Job((str(rows),), Columns(), ("scale",), cache=tmp_path / "c")
    for other, new in [
        (job, True), (job, False), (replace(job, preset="paper"), True),
        (replace(job, keywords={"scale_model": "m"}), True),
        (replace(job, keywords={"device": "cpu"}), False),
    ]:
        before = len(loads)
        loaded = other.load()
        [block] = other.blocks(str(rows))
        other.score(loaded, str(rows), 0, block)
        assert (len(loads) > before) == new
        assert loaded.looked_up == 7 * (not new)


def test_a_cache_that_cannot_be_used_is_said_once(
    rows: Path, tmp_path: Path, loads: list[tuple[Any, ...]]
) -> None:
    told: list[str] = []
    job = Job((str(rows),), Columns(), ("scale",), cache=rows / "c")
    assert job.identities()["scale"]["preset"] == "bundled"
    assert job.load(told.append).metrics[0].signature == "scale|version:test"
    assert len(told) == 1
    assert told[0].endswith("; continuing without it")
    with pytest.warns(RuntimeWarning, match="continuing without it"):
        job.load()


def test_settings_are_all_that_changes_rows_and_what_json_can_hold() -> None:
    job = Job(("a", "b"), Columns(response="said", history=""), ("f1",), calibrations=(
        replace(PLATT, kind="isotonic", slope=None, intercept=None, x=(0.0, 1.0), y=(0.2, 0.4)),
    ), evidence=True, texts=True, raw_csv=True, form="csv", block=5)
    found = job.settings
    assert found == {
        "metrics": ["f1"], "response": "said", "history": "", "evidence": True,
        "no_claim": "zero", "texts": True,
        "raw_csv": True, "format": "csv", "block": 5, "block_characters": 200_000,
        "calibration": [{
            "name": "mine", "metric": "f1", "kind": "isotonic", "threshold": 0.5,
            "signature": "f1|version:test", "x": [0.0, 1.0], "y": [0.2, 0.4], "slope": None,
            "intercept": None, "rule": "", "n": 0,
        }],
    }
    assert json.loads(json.dumps(found)) == found
    plain = Job(("a",), Columns(), ("f1",)).settings
    assert plain == {"metrics": ["f1"], "evidence": False, "no_claim": "zero",
                     "texts": False, "raw_csv": False,
                     "format": None, "block": 256, "block_characters": 200_000,
                     "calibration": []}


def test_rows_have_what_was_asked_for() -> None:
    job = Job(("a",), Columns(), ("f1", "scale"))
    assert [field.name for field in job.layout.fields] == [
        "id", "f1", "scale", "reason", "language", "error", "claims"]
    more = replace(job, files=("a", "b"), calibrations=(PLATT,), texts=True)
    assert [field.name for field in more.layout.fields] == [
        "file", "id", "f1", "f1_consistent", "scale", "reason", "language", "error", "question",
        "response", "knowledge", "history", "passages", "other", "label", "claims"]
    grouped = replace(job, group_by=("model",))
    assert "other" in [field.name for field in grouped.layout.fields]


# --- reading -------------------------------------------------------------------------------


def test_a_job_is_checked_before_a_model_is_loaded(rows: Path, tmp_path: Path) -> None:
    good = Job((str(rows),), Columns(), ("f1",))
    good.check()
    good.check(strict=True)
    with pytest.raises(InputError, match="there is no such file"):
        replace(good, files=(str(rows), str(tmp_path / "no.jsonl"))).check()
    with pytest.raises(InputError, match="other"):
        replace(good, columns=Columns(response="other")).check()
    with rows.open("a") as file:
        file.write('{"response": "r7"}\n')
    good.check()
    with pytest.raises(BadRowError) as caught:
        good.check(strict=True)
    assert str(caught.value) == (
        f"{rows}, line 8: the knowledge is missing: the row has no field 'knowledge'")


def test_what_can_be_read_once_is_not_read_for_a_check(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    read: list[str] = []
    monkeypatch.setattr("q2_metric.engine.job.read_rows",
                        lambda file, *_arguments, **_keywords: read.append(file) or ())
    Job((str(pipe), str(rows), "-"), Columns(), ("f1",)).check(strict=True)
    assert read == [str(rows)]
    monkeypatch.undo()
    with pytest.raises(InputError) as caught:
        Job(("-", str(rows), "-"), Columns(), ("f1",)).check()
    assert str(caught.value) == "standard input (-) can be read only once"


def test_blocks_are_of_the_form_and_size_that_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("said,known\n" + "".join(f"r{i},k\n" for i in range(7)))
    job = Job((str(path),), Columns(response="said", knowledge="known"), ("f1",), form="csv",
              block=3)
    job.check(strict=True)
    told: list[Columns] = []
    blocks = list(job.blocks(str(path), on_columns=told.append))
    assert [[row.response for row in block if isinstance(row, Example)] for block in blocks] == [
        ["r0", "r1", "r2"], ["r3", "r4", "r5"], ["r6"]]
    assert told == [Columns("said", "known")]
    path.write_text('{"known": "k", "said": "r", "said": "s"}\n')
    notes: list[str] = []
    [[row]] = replace(job, form="jsonl").blocks(str(path), on_note=notes.append)
    assert isinstance(row, Example)
    assert notes == [f"{path}, line 1: has the key 'said' twice; the last is read"]


# --- scoring -------------------------------------------------------------------------------


class Failing(FakeMetric):
    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        if any(example.response == "r1" for example in examples):
            raise ValueError("strange")
        return super().score(examples, evidence=evidence)


def test_rows_are_numbered_in_their_file_and_say_all_that_failed() -> None:
    job = Job(("a.jsonl", "b.jsonl"), Columns(), ("f1", "scale"), evidence=True)
    f1, scale = Failing("f1", {"r0": 0.25}), Failing("scale")
    block: list[Row] = [
        Example("r0", "k"), BadRow(6, "six", "b.jsonl, line 7: bad"), Example("r1", "k", id="x")]
    found, _ = job.score(LoadedJob([f1, scale]), "b.jsonl", 5, block)
    assert [row["file"] for row in found] == ["b.jsonl"] * 3
    assert [row["id"] for row in found] == ["6", "six", "x"]
    assert [row["f1"] for row in found] == [0.25, None, None]
    assert [row["error"] for row in found] == [
        None, "b.jsonl, line 7: bad",
        "b.jsonl, row 8: f1: ValueError: strange; scale: ValueError: strange"]
    assert scale.evidence == [True]
    assert f1.evidence == [False], "it cannot"
    plain = FakeMetric("scale")
    replace(job, evidence=False).score(LoadedJob([plain]), "b.jsonl", 0, block[:1])
    assert plain.evidence == [False]


class Chooser:
    """Chooses the row's number as its knowledge."""

    def sign(self, signature: str) -> str:
        return f"{signature}|chosen:yes"

    def choose(self, rows: Sequence[Row], file: str, first: int) -> list[Row]:
        return [replace(row, knowledge=f"{file} {first + i}") if isinstance(row, Example) else row
                for i, row in enumerate(rows)]


class Chosen:
    words = "chosen by number"

    def __init__(self, pool: Path) -> None:
        self.request: Mapping[str, Any] = {"by": "number", "pool": str(pool)}
        self.paths = [str(pool)]

    def load(self) -> Chooser:
        return Chooser()


class _Chosen(Example):
    """A row as a selector gives it back, with the snippet that it chose."""

    selected = {"text": "snippet"}  # noqa: RUF012


class Known(FakeMetric):
    def _score(self, example: Example, evidence: bool) -> Score:
        return Score(example, float(example.knowledge.split()[-1]))


def test_knowledge_may_be_chosen(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "load_metrics", lambda *_: [Known("f1")])
    pool = tmp_path / "pool.json"
    pool.write_text("[]")
    job = Job((str(rows),), Columns(), ("f1",), choice=Chosen(pool))
    loaded = job.load()
    assert loaded.signatures == {"f1": "f1|version:test|chosen:yes"}
    found, _ = job.score(loaded, "a.jsonl", 4, [
        Example("Rome has 7 hills.", ""), Example("Rome has 8 hills.", "")])
    assert [row["f1"] for row in found] == [4.0, 5.0]
    assert list(found[0])[-1] == "selected"
    chosen = _Chosen("r", "k")
    [shown], _ = job.score(LoadedJob([FakeMetric("f1")]), "a.jsonl", 0, [chosen])
    assert shown["selected"] == {"text": "snippet"}
    first = job.identities()["knowledge"]
    assert (first["by"], first["pool"]) == ("number", str(pool))
    assert {"code", f"contents of {pool}"} < set(first)
    assert "knowledge" not in replace(job, choice=None).identities()
    pool.write_text("[1]")
    assert job.identities()["knowledge"] != first


# --- the manifest --------------------------------------------------------------------------


def test_a_manifest_says_what_a_run_is_of(rows: Path) -> None:
    found = manifest([str(rows), "-"], {"f1": "f1|version:1"}, {"f1": {"preset": "p"}}, {"a": 1})
    from q2_metric._version import __version__

    assert found == {
        "version": __version__, "complete": False, "signatures": {"f1": "f1|version:1"},
        "settings": {"a": 1}, "identities": {"f1": {"preset": "p"}},
        "files": [{"file": str(rows), "sha256": fingerprint(rows)},
                  {"file": "-", "sha256": None}],
    }


def test_an_unfinished_file_is_closed_before_it_is_removed_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows removes no open file, and opens no file with O_NOFOLLOW."""
    from q2_metric.engine import unfinished

    monkeypatch.setattr(unfinished, "_WINDOWS", True)
    out = tmp_path / "out.jsonl"
    with unfinished.open_unfinished(out) as made:
        made.remove()
        assert made.path.exists()
    assert not made.path.exists()
