"""Who may read what the commands write: a file that can hold users' texts is its owner's alone."""

from __future__ import annotations

import ast
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import FakeMetric
from optional import agreement

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.engine.cache import Cache

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Quimper"
"""A word of every text."""
PUBLIC = (".calibration.json", ".svg", ".png", "table.json", "table.csv", "table.md")
"""Calibrations, tables and diagrams hold no texts."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Rows of a user with the usual umask, in an empty folder that is also the home folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(metrics, "load_metrics", lambda names, *_, **__: [
        FakeMetric(name, {f"{SECRET} has {i} hills.": i / 60 for i in range(60)})
        for name in names])
    (tmp_path / "rows.jsonl").write_text("".join(
        json.dumps({"id": i, "response": f"{SECRET} has {i} hills.", "label": int(i % 3 > 0),
                    "knowledge": f"{SECRET} has hills, {i} of them."}) + "\n" for i in range(60)))
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def check(folder: Path) -> set[str]:
    """Checks the modes of all files in a folder. The names of those that hold texts."""
    private = set()
    for path in folder.rglob("*"):
        if path.is_dir() or path.name in ("rows.jsonl", "labels.csv") or "matplotlib" in path.parts:
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.name.endswith(PUBLIC):
            assert (mode, SECRET in path.read_text("latin-1")) == (0o644, False), path
        else:
            assert mode == 0o600, path
            private.add(path.name)
    return private


def q2(*arguments: str, code: int = 0) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == code, done.output


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("more", [["--cache", "c.sqlite"], ["--no-cache", "--report", "page.html"]])
def test_scores(folder: Path, suffix: str, more: list[str]) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    q2("score", "rows.jsonl", "--metrics", "scale", "--out", f"out.{suffix}", *more)
    assert check(folder) == {f"out.{suffix}", f"out.{suffix}.manifest.json", more[-1]}
    q2("report", f"out.{suffix}", "--out", "again.html")
    assert "again.html" in check(folder)


def test_a_gate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    q2("gate", "rows.jsonl", "-m", "scale", "--junit", "junit.xml", code=4)
    assert check(folder) == {"junit.xml", "summary.md"}
    assert SECRET in (folder / "summary.md").read_text()


@agreement()
def test_tables_and_calibrations_hold_no_texts(folder: Path) -> None:
    q2("calibrate", "rows.jsonl", "--metric", "scale", "--out", "my.calibration.json",
       "--figures", "figures")
    rows = map(json.loads, (folder / "rows.jsonl").read_text().splitlines())
    (folder / "labels.csv").write_text("grounding,generated_text,label\n" + "".join(
        f"\"{row['knowledge']}\",{row['response']},{row['label']}\n" for row in rows))
    outs = [part for suffix in ("json", "csv", "md") for part in ("--out", f"table.{suffix}")]
    q2("meta-eval", "true", "labels.csv", "--metrics", "scale", "--cache", "c.sqlite",
       "--figures", "figures", *outs)
    assert check(folder) == {"c.sqlite"}
    assert len([*folder.rglob("*.svg")]) >= 2


def test_a_file_that_is_replaced_keeps_its_mode(folder: Path) -> None:
    score = ["score", "rows.jsonl", "--metrics", "scale", "--out", "out.jsonl", "--overwrite"]
    q2(*score)
    for name, mode in (("out.jsonl", 0o640), ("out.jsonl.manifest.json", 0o400)):
        (folder / name).chmod(mode)
        q2(*score)
        assert stat.S_IMODE((folder / name).stat().st_mode) == mode


KILLED = """
import os, signal, sys
from q2_metric import files
from q2_metric.engine import job
job.BLOCK, calls = 10, []
def torn(path, real=files._to_disk):
    calls.append(path)
    if len(calls) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(path)
files._to_disk = torn
from q2_metric.cli.main import main
main(["score", "rows.jsonl", "--metrics", "knowledge_f1", "--out", "out.jsonl"])
"""


@pytest.mark.parametrize("number", [1, 3])
def test_a_run_that_was_killed(folder: Path, number: int) -> None:
    """Once while the manifest is written, once while the output is."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(number)], check=False,
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = check(folder)
    assert "out.jsonl.unfinished" in left
    assert any(name.endswith(".tmp") for name in left)


def test_the_cache_in_the_midst_of_writing(folder: Path) -> None:
    seen: set[str] = set()
    cache = Cache(folder / "c.sqlite")
    for mode in ("delete", "wal"):  # SQLite's journals have the mode of the file
        database = cache._database
        assert isinstance(database, sqlite3.Connection)
        database.execute(f"pragma journal_mode = {mode}")
        database.set_trace_callback(
            lambda line: seen.update(check(folder)) if "commit" in line.lower() else None)
        cache.put({mode: SECRET})
        database.set_trace_callback(None)
    cache.close()
    assert seen == {"c.sqlite", "c.sqlite-journal", "c.sqlite-wal", "c.sqlite-shm"}


OTHERS = {
    "q2_metric/knowledge/training.py", "q2_metric/knowledge/encoder.py",  # weights and settings
    "q2_metric/rows/writers.py",  # its caller passes the path of a file that is there
}


def test_new_files_come_from_one_place() -> None:
    """Code opens files for writing by ``files.replacing`` or with ``files.opener``."""
    for path in [*(ROOT / "q2_metric").rglob("*.py"), *(ROOT / "parlai_plugin").rglob("*.py")]:
        if (name := path.relative_to(ROOT).as_posix()) in OTHERS:
            continue
        for call in filter(_writes, ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
            words = ast.unparse(call)
            assert "unfinished" in words or "opener=" in words, f"{name}: {words}"


def _writes(call: ast.AST) -> bool:
    """Whether an expression opens a file for writing."""
    if not isinstance(call, ast.Call):
        return False
    name = ast.unparse(call.func).rpartition(".")[2]
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    method = isinstance(call.func, ast.Attribute) and name in ("write_text", "write_bytes")
    return method or (name == "open" and any(str(mode) in _MODES for mode in modes))


_MODES = {f"{way}{kind}{plus}" for way in "wax" for kind in ("", "b", "t") for plus in ("", "+")}
