"""A run that is killed again and again ends with what an undisturbed run writes.

    python benchmarks/killed.py FOLDER [--rows N] [--texts N] [--metrics f1,bleu]
                                [--engine local|ray] [--actors N] [--kills K] [--seed S]
                                [--cached] [--no-evidence] [--json FILE]

Repeats the annotated Wizard of Wikipedia responses (``Q2_DATA_DIR`` or ``q2 data download
wow_q2``) with new ids, scores them once undisturbed and in this process's engine, then again
while SIGKILL hits the command at random moments (with Ray, by turns the command and one of
its actors), and compares the two files byte for byte. ``--cached`` gives each of the two
runs a score cache of its own, empty at first; without it there is none.
``--no-evidence`` is that of ``q2 score``.
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
from pathlib import Path
from typing import Any

from q2_metric.data.wow import read_annotated


def write_rows(path: Path, rows: int, texts: int) -> int:
    """Writes the rows, over the first ``texts`` responses; how many among them differ."""
    examples = [labelled.example for labelled in read_annotated()][:texts]
    with open(path, "w", encoding="utf-8") as file:
        for i in range(rows):
            one = examples[i % len(examples)]
            row = {"id": f"r{i}", "response": one.response, "knowledge": one.knowledge}
            file.write(json.dumps(row) + "\n")
    return len(set(examples[:rows]))


def descendants(pid: int) -> dict[int, str]:
    """The processes that a process started, directly or not, with their command lines."""
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
    """Kills the command, or an actor of it; which, or ``None`` where there was none."""
    if not actor:
        run.kill()
        run.wait()
        return "command"
    actors = [pid for pid, line in descendants(run.pid).items() if "MapWorker" in line]
    if not actors:
        return None
    os.kill(random.choice(actors), signal.SIGKILL)
    return "actor"


def command(given: argparse.Namespace, name: str, engine: str) -> list[str]:
    """``q2 score`` of the rows, into a file of that name."""
    folder: Path = given.folder
    q2 = [sys.executable, "-m", "q2_metric", "score", str(folder / "rows.jsonl")]
    q2 += ["--metrics", given.metrics, "--out", str(folder / f"{name}.jsonl"), "--quiet"]
    q2 += ["--cache", str(folder / f"{name}.sqlite")] if given.cached else ["--no-cache"]
    q2 += ["--no-evidence"] if given.no_evidence else []
    return q2 + (["--engine", "ray", "--actors", str(given.actors)] if engine == "ray" else [])


def disturb(given: argparse.Namespace, parts: Path) -> list[dict[str, Any]]:
    """Scores while the command is killed at random moments; what was killed, and when.

    Args:
        parts: folder in which finished blocks appear.
    """
    blocks = -(-given.rows // 256)
    moments = sorted(random.randrange(1, blocks) for _ in range(given.kills))
    events: list[dict[str, Any]] = []
    run = subprocess.Popen(command(given, "killed", given.engine))
    while run.poll() is None:
        done = len(list(parts.glob("*/*.jsonl")))
        if moments and done >= moments[0]:
            time.sleep(random.random() / 5)
            what = kill(run, given.engine == "ray" and len(moments) % 2 == 0)
            if what is not None:
                events.append({"killed": what, "finished_blocks": done})
                moments.pop(0)
            if what == "command":
                run = subprocess.Popen(command(given, "killed", given.engine))
        time.sleep(0.02)
    if run.returncode:
        sys.exit(f"the last run ended with {run.returncode}")
    return events


def counted(path: Path, metrics: list[str]) -> tuple[int, int]:
    """Different ids in an output, and rows with all scores."""
    ids, numbers = set(), 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            ids.add(row["id"])
            numbers += all(row[name] is not None for name in metrics)
    return len(ids), numbers


def arguments() -> argparse.Namespace:
    """Those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=1088)
    parser.add_argument("--metrics", default="f1,bleu")
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
    different = write_rows(folder / "rows.jsonl", given.rows, given.texts)

    whole, killed = folder / "whole.jsonl", folder / "killed.jsonl"
    seconds = 0.0
    if not whole.exists():
        started = time.monotonic()
        subprocess.run(command(given, "whole", "local"), check=True)
        seconds = time.monotonic() - started

    started = time.monotonic()
    events = disturb(given, Path(f"{killed}.parts"))
    disturbed = time.monotonic() - started
    ids, numbers = counted(killed, given.metrics.split(","))
    figures = {
        "engine": given.engine,
        "metrics": given.metrics,
        "evidence": not given.no_evidence,
        "cache": given.cached,
        "rows": given.rows,
        "different_texts": different,
        "undisturbed_seconds": round(seconds, 1),
        "killed_seconds": round(disturbed, 1),
        "kills": events,
        "rows_out": ids,
        "rows_with_scores": numbers,
        "equal_to_undisturbed": killed.read_bytes() == whole.read_bytes(),
    }
    print(json.dumps(figures, indent=1))
    if given.json:
        with open(given.json, "a", encoding="utf-8") as out:
            out.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
