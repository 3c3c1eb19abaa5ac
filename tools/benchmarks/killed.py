"""Checks that a run that is killed several times writes the same output as an undisturbed run.

    python -m tools.benchmarks killed FOLDER [--rows N] [--texts N] [--metrics …]
                                      [--engine local|ray] [--actors N] [--kills K] [--seed S]
                                          [--cached] [--no-evidence] [--json FILE]

The rows repeat the annotated Wizard of Wikipedia responses (``Q2_DATA_DIR`` or ``q2 data download
wow_q2``) with new ids. First, ``q2 score`` scores them undisturbed in one process. Then it scores
them again, is killed at random moments by SIGKILL, and is started again. With Ray, the command and
one of its actors are killed in alternation. The benchmark fails if the two output files differ in a
byte, or if the second run ended before all kills. With ``--cached``, each run has its own score
cache, which is empty at first. ``--no-evidence`` is passed on to ``q2 score``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from q2_metric.data.readers import read_annotated
from q2_metric.engine.unfinished import unfinished_path


def write_rows(path: Path, rows: int, texts: int) -> int:
    """Writes a file with ``rows`` rows that repeat the first ``texts`` responses.

    Returns the number of different responses (with their knowledge).
    """
    examples = [labelled.example for labelled in read_annotated()][:texts]
    with open(path, "w", encoding="utf-8") as file:
        for i in range(rows):
            example = examples[i % len(examples)]
            row = {"id": f"r{i}", "response": example.response, "knowledge": example.knowledge}
            file.write(json.dumps(row) + "\n")
    return len(set(examples[:rows]))


def descendants(pid: int) -> dict[int, str]:
    """By process id, the command lines of all child processes of a process, of their children, and
    so on."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: dict[int, str] = {}
    level = [pid]
    while level:
        level = [child for child, parent in parents.items() if parent in level]
        for child in level:
            try:
                found[child] = (Path("/proc") / str(child) / "cmdline").read_text()
            except OSError:
                continue
    return found


def kill(run: subprocess.Popen[bytes], actor: bool) -> str | None:
    """Kills the command or, if ``actor`` is true, one of its Ray actors.

    Returns "command" or "actor"; ``None`` if there was no actor to kill.
    """
    if not actor:
        run.kill()
        run.wait()
        return "command"
    actors = [pid for pid, line in descendants(run.pid).items() if "MapWorker" in line]
    if not actors:
        return None
    os.kill(random.choice(actors), signal.SIGKILL)
    return "actor"


def finished(unfinished: Path) -> int:
    """The number of finished blocks in an unfinished output."""
    with suppress(FileNotFoundError), open(unfinished, "rb") as file:  # or the run has just ended
        return max(0, sum(not line.startswith(b"{") for line in file) - 1)
    return 0


def disturbed(
    command: list[str], unfinished: Path, moments: list[int], ray: bool
) -> tuple[float, list[dict[str, Any]]]:
    """Runs a command and kills it several times. After each kill it is started again.

    Args:
        command: the command.
        unfinished: the file in which the command keeps its finished blocks.
        moments: a kill happens when this many blocks are finished.
        ray: if true, every second kill hits a Ray actor instead of the command.

    Returns:
        The seconds until the command ended by itself, and a record of each kill.
    """
    events: list[dict[str, Any]] = []
    started = begun = time.monotonic()
    before = 0
    run = subprocess.Popen(command)
    while run.poll() is None:
        done = finished(unfinished)
        if moments and done >= moments[0]:
            share = random.random()
            time.sleep(share * (time.monotonic() - begun) / max(1, done - before))
            victim = kill(run, ray and len(moments) % 2 == 0)
            if victim is not None:
                events.append({"killed": victim, "finished_blocks": done,
                               "into_the_next": round(share, 2)})
                moments.pop(0)
            if victim == "command":
                begun, before = time.monotonic(), done
                run = subprocess.Popen(command)
        time.sleep(0.02)
    if run.returncode:
        sys.exit(f"the last run ended with {run.returncode}")
    if moments:
        sys.exit(f"it ended after {len(events)} kills, before the other {len(moments)}")
    return time.monotonic() - started, events


def scored(out: Path, metrics: list[str]) -> tuple[int, int]:
    """(number of different ids in an output, number of its rows that have all scores)."""
    ids, numbers = set(), 0
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            ids.add(row["id"])
            numbers += all(row[name] is not None for name in metrics)
    return len(ids), numbers


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=1088)
    parser.add_argument("--metrics", default="knowledge_f1,knowledge_bleu")
    parser.add_argument("--engine", default="local", choices=["local", "ray"])
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--no-evidence", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    random.seed(given.seed)

    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.jsonl"
    different = write_rows(rows, given.rows, given.texts)

    def command(name: str, engine: str) -> list[str]:
        q2 = [sys.executable, "-m", "q2_metric", "score", str(rows), "--metrics", given.metrics]
        q2 += ["--out", str(folder / f"{name}.jsonl"), "--quiet"]
        cache = folder / f"{name}.sqlite"
        q2 += ["--cache", str(cache)] if given.cached else ["--no-cache"]
        q2 += ["--no-evidence"] if given.no_evidence else []
        return q2 + (["--engine", "ray", "--actors", str(given.actors)] if engine == "ray" else [])

    whole, killed = folder / "whole.jsonl", folder / "killed.jsonl"
    seconds = 0.0
    if not whole.exists():
        started = time.monotonic()
        subprocess.run(command("whole", "local"), check=True)
        seconds = time.monotonic() - started

    blocks = -(-given.rows // 256)
    moments = sorted(random.randrange(1, blocks) for _ in range(given.kills))
    took, events = disturbed(
        command("killed", given.engine), unfinished_path(killed), moments, given.engine == "ray")
    rows_out, with_scores = scored(killed, given.metrics.split(","))
    figures = {
        "engine": given.engine,
        "metrics": given.metrics,
        "evidence": not given.no_evidence,
        "cache": given.cached,
        "rows": given.rows,
        "different_texts": different,
        "undisturbed_seconds": round(seconds, 1),
        "killed_seconds": round(took, 1),
        "kills": events,
        "rows_out": rows_out,
        "rows_with_scores": with_scores,
        "equal_to_undisturbed": killed.read_bytes() == whole.read_bytes(),
    }
    print(json.dumps(figures, indent=1))
    if not figures["equal_to_undisturbed"]:
        sys.exit(f"{killed} is not what an undisturbed run writes")
    if given.json:
        with open(given.json, "a", encoding="utf-8") as out:
            out.write(json.dumps(figures) + "\n")
