"""``q2 score`` killed at any point goes on, and ends with what an undisturbed run writes.

The points are those where a kill could matter: before and after each file is in its place, while
one is written, before one is removed, and in the midst of a model's block. At each the run kills
itself; a test goes from the first to the last.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from limits import enlarge, small_disk

from q2_metric import files
from q2_metric.cli.main import main
from q2_metric.engine import job, run
from q2_metric.engine.cache import Cache
from q2_metric.engine.unfinished import open_unfinished
from q2_metric.english.parse import parser
from q2_metric.models.bundled import on_onnx

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="runs are forked")

OVERLAP = ["--metrics", "knowledge_f1,knowledge_bleu"]
NEURAL = ["--metrics", "scale", "--preset", "bundled-small"]
ROWS = 5
BLOCK = 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows, of which one cannot be scored, in three blocks."""
    monkeypatch.setattr(job, "BLOCK", BLOCK)
    write_rows(tmp_path, ROWS)
    return tmp_path


def write_rows(folder: Path, number: int) -> None:
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for i in range(number):
            said = f"Row {i} has {i % 7} hills and {i % 11} rivers, said Ann on day {i % 31}."
            row = {"id": f"r{i}", "response": 7 if i == 3 else said, "knowledge": said * 3}
            file.write(json.dumps(row) + "\n")


def arguments(folder: Path, out: Path, how: list[str]) -> list[str]:
    return ["score", str(folder / "rows.jsonl"), *how, "--out", str(out), "--quiet"]


# --- kills -------------------------------------------------------------------------------


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def torn(path: Path, *_: object) -> None:
    """What is being written has got as far as its middle; a folder is not."""
    if path.is_file():
        os.truncate(path, path.stat().st_size // 2)
    die()


def half(descriptor: int, data: bytes) -> None:
    """The first half of a block is in the file."""
    WRITE(descriptor, data[: len(data) // 2])
    die()


WRITE = os.write
Point = tuple[Any, str, Callable[..., None] | None]
"""A function's owner and name, and what is done instead of its call; ``None``: die after it."""

POINTS: dict[str, Point] = {
    "before a file is in its place": (os, "replace", lambda *_: die()),
    "after a file is in its place": (os, "replace", None),
    "while a file is written": (files, "_to_disk", torn),
    "while a block is written": (os, "write", half),
    "before a file is removed": (Path, "unlink", lambda *_, **__: die()),
    "in the midst of a block": (on_onnx._InBackground, "__call__", lambda *_: die()),
    "before scores are in the cache": (Cache, "put", lambda *_: die()),
    "after scores are in the cache": (Cache, "put", None),
}


def score(folder: Path, out: Path, how: list[str], point: str = "", number: int = 0) -> int:
    """The exit code of a run in a process of its own, killed at the n-th such point."""

    def child() -> None:
        if point:
            owner, name, instead = POINTS[point]
            real, calls = getattr(owner, name), 0

            def counted(*given: Any, **more: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == number and instead is not None:
                    return instead(*given, **more)
                try:
                    return real(*given, **more)
                finally:
                    if calls == number:
                        die()

            setattr(owner, name, counted)
        main(arguments(folder, out, how))

    process = multiprocessing.get_context("fork").Process(target=child)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        pytest.fail(f"a run hangs: {point} {number}")
    return process.exitcode


def killed(folder: Path, how: list[str], point: str, number: int) -> bool:
    """Kills a run and gives the command again; whether there was such a point."""
    whole, out = folder / "whole.jsonl", folder / f"{point.replace(' ', '-')}-{number}.jsonl"
    again = [*how, *(["--cache", f"{out}.cache"] if how is NEURAL else [])]
    if not whole.exists():
        assert score(folder, whole, how) == 1  # a row that cannot be scored
    code = score(folder, out, again, point, number)
    if code == -signal.SIGKILL:
        assert score(folder, out, again) in (0, 1)  # 0 where it was complete
    else:
        assert code == 1
    assert out.read_bytes() == whole.read_bytes(), (point, number)
    assert not [*folder.glob(".q2-*"), *folder.glob("*.unfinished")]
    found, expected = (
        json.loads(Path(f"{path}.manifest.json").read_text()) for path in (out, whole))
    assert found["files"] == expected["files"]
    assert found["systems"][0]["scores"] == expected["systems"][0]["scores"]
    return code == -signal.SIGKILL


def all_killed(folder: Path, point: str) -> int:
    """Kills a run at each such point, one after the other; how many there are."""
    number = 1
    while killed(folder, OVERLAP, point, number):
        number += 1
    return number - 1


FILES = [point for point, (owner, *_) in POINTS.items() if owner in (os, files, Path)]


LEAST = {"before a file is removed": 5, "while a file is written": 4, "while a block is written": 4}
"""Two files, each with its folder; the first line and three blocks. Elsewhere the output and its
manifest."""


@pytest.mark.parametrize("point", FILES)
def test_killed_wherever_a_file_changes(folder: Path, point: str) -> None:
    assert all_killed(folder, point) >= LEAST.get(point, 2)


def test_killed_with_a_neural_metric(folder: Path) -> None:
    parser.load()  # once for all runs, which are forked
    for point, number in (
        ("in the midst of a block", 2),
        ("while a file is written", 3),
        ("before scores are in the cache", 2),
        ("after scores are in the cache", 3),
    ):
        assert killed(folder, NEURAL, point, number), point


def test_an_output_that_is_written_in_place_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault is planted: the kill leaves half of the output."""

    @contextmanager
    def in_place(path: Path, **_: object) -> Iterator[Path]:
        unfinished = path.parent / ".q2-0.tmp"
        yield unfinished
        path.write_bytes(unfinished.read_bytes())
        unfinished.unlink()
        files._to_disk(path)

    monkeypatch.setattr(run, "replacing", in_place)
    with pytest.raises(AssertionError, match="assert 2 in"):  # it is refused as not ours
        all_killed(folder, "while a file is written")


# --- other ends --------------------------------------------------------------------------


def command(
    folder: Path, out: Path, how: list[str] = OVERLAP, limit: tuple[int, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command itself, with a limit of the operating system (its number and value)."""
    return subprocess.run(
        [sys.executable, "-m", "q2_metric", *arguments(folder, out, how)],
        capture_output=True, text=True, check=False, timeout=600,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(limit[0], (limit[1],) * 2))


def test_too_little_memory(tmp_path: Path) -> None:
    """Whatever the memory does not suffice for: no row is to blame, and the run goes on later. (Few
    rows: no number of faults tells that the model is broken.)"""
    write_rows(tmp_path, 3)
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    assert command(tmp_path, whole, NEURAL).returncode == 0
    codes = []
    for megabytes in (300, 380, 440, 640):
        little = command(tmp_path, out, NEURAL, (resource.RLIMIT_AS, megabytes * 10**6))
        codes.append(little.returncode)
        if little.returncode == 0:  # it sufficed
            break
        # A library in C or Rust may end the process.
        assert little.returncode == 3 or little.returncode < 0 or little.returncode > 100, (
            megabytes, little.stderr)
        assert not out.exists(), (megabytes, little.stderr)
        # Where memory runs out in a destructor, Python itself says so and goes on.
        ours = re.sub(r"Exception ignored in: .*\nTraceback .*\n(  .*\n)*MemoryError: *\n", "",
                      little.stderr)
        assert "Traceback" not in ours
    assert codes.count(3) >= 2, codes
    assert command(tmp_path, out, NEURAL).returncode == 0
    assert out.read_bytes() == whole.read_bytes()


def test_too_few_open_files(folder: Path) -> None:
    whole, out = folder / "whole.jsonl", folder / "out.jsonl"
    assert command(folder, whole).returncode == 1
    few = command(folder, out, limit=(resource.RLIMIT_NOFILE, 5))
    assert few.returncode == 3
    assert "Too many open files; allow more open files (ulimit -n)" in few.stderr
    assert not out.exists()
    assert command(folder, out).returncode == 1
    assert out.read_bytes() == whole.read_bytes()


def test_a_disk_that_is_full_midway(tmp_path: Path) -> None:
    write_rows(tmp_path, 1_500)
    assert command(tmp_path, tmp_path / "whole.jsonl").returncode == 1
    size = (tmp_path / "whole.jsonl").stat().st_size
    with small_disk(tmp_path, size // 2) as disk:
        out = disk / "out.jsonl"
        full = command(tmp_path, out)
        assert full.returncode == 3
        assert full.stderr.splitlines()[-1].startswith(f"q2: error: {disk}/")
        assert full.stderr.endswith("cannot be written: No space left on device\n")
        assert not out.exists()
        with open_unfinished(out) as kept:
            assert 0 < len([*kept.blocks()]) < 6
        enlarge(disk, size * 4)
        assert command(tmp_path, out).returncode == 1
        assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_two_at_once(folder: Path) -> None:
    """The second leaves alone what the first is writing."""
    out = folder / "two.jsonl"
    with open_unfinished(out):
        second = command(folder, out)
    assert second.returncode == 3
    assert "another process is writing it" in second.stderr
    assert command(folder, out).returncode == 1
