"""``q2 score`` killed at any moment goes on, and ends with what an undisturbed run writes."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROWS = 3_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, and the output of an undisturbed run."""
    folder = tmp_path_factory.mktemp("killed")
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for i in range(ROWS):
            said = f"Row {i} has {i % 7} hills and {i % 11} rivers, said Ann on day {i % 31}."
            row = {"id": f"r{i}", "response": 7 if i == 700 else said, "knowledge": said * 3}
            file.write(json.dumps(row) + "\n")
    assert subprocess.run(command(folder, "whole.jsonl"), check=False).returncode == 1
    return folder


def command(folder: Path, out: str) -> list[str]:
    return [
        sys.executable, "-m", "q2_metric", "score", str(folder / "rows.jsonl"),
        *("--metrics", "knowledge_f1,knowledge_bleu", "--out", str(folder / out), "--quiet"),
    ]


def seconds_of_a_block(parts: Path) -> float:
    """Between the last two that were written, at most a second; 0 where there are not two."""
    written = []
    with suppress(FileNotFoundError):  # the run has just ended
        for path in parts.glob("*/*.jsonl"):
            written.append(path.stat().st_mtime)
    *_, before, last = sorted([0.0, 0.0, *written])
    return min(last - before, 1.0) if before else 0.0


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(folder: Path, seed: int) -> None:
    """In the midst of a block, after a few more of its 12 are there."""
    rng, out = random.Random(seed), f"killed-{seed}.jsonl"

    def blocks() -> int:
        with suppress(FileNotFoundError):  # the run has just ended
            return len(list(folder.glob(f"{out}.parts/*/*.jsonl")))
        return 0

    kills: list[tuple[int, float]] = []
    while True:
        wanted = blocks() + rng.randrange(1, 6)
        run = subprocess.Popen(command(folder, out), stderr=subprocess.DEVNULL)
        while run.poll() is None and blocks() < wanted:
            time.sleep(0.001)
        share = rng.random()
        time.sleep(share * seconds_of_a_block(folder / f"{out}.parts"))
        run.kill()
        if run.wait() != -signal.SIGKILL:
            assert run.returncode == 1  # the empty response
            break
        kills.append((blocks(), share))
    midway = [share for done, share in kills if 0 < done < -(-ROWS // 256)]
    assert midway, f"nothing was killed between its first block and its last: {kills}"
    assert any(share > 0.02 for share in midway), "only ends of blocks were hit"
    assert (folder / out).read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert not list(folder.glob(f"{out}.parts*"))
    found = json.loads((folder / f"{out}.manifest.json").read_text())
    whole = json.loads((folder / "whole.jsonl.manifest.json").read_text())
    assert found["files"] == whole["files"]
    assert found["systems"][0]["scores"] == whole["systems"][0]["scores"]


def test_a_disk_that_is_full_midway(folder: Path) -> None:
    """A limit on file sizes stands in for it: the first large file cannot be written."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    full = subprocess.run(
        command(folder, "full.jsonl"), preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert full.returncode == 3
    assert full.stderr.splitlines()[-1].startswith(f"q2: error: {folder / 'full.jsonl'}: cannot be")
    assert not (folder / "full.jsonl").exists()
    assert subprocess.run(command(folder, "full.jsonl"), check=False).returncode == 1
    assert (folder / "full.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_two_at_once(folder: Path) -> None:
    """The second leaves the first alone."""
    first = subprocess.Popen(command(folder, "two.jsonl"), stderr=subprocess.DEVNULL)
    while not (folder / "two.jsonl.parts" / "manifest.json").exists():
        assert first.poll() is None
        time.sleep(0.01)
    second = subprocess.run(
        command(folder, "two.jsonl"), capture_output=True, text=True, check=False
    )
    assert second.returncode == 3
    assert "another process is writing it" in second.stderr
    assert first.wait() == 1
    assert (folder / "two.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
