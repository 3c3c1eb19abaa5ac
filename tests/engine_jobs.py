"""Jobs whose metric is slow or deadly, importable in the workers of a Ray cluster."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from q2_metric.engine import cluster
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.errors import MissingExtra
from q2_metric.types import Example, Score


class Counting:
    """Scores a response by its number ("… 17" -> 0.17), and notes each block in a folder.

    The name of a note tells the process, so that tests see who scored how often.
    """

    name = "knowledge_f1"
    signature = "knowledge_f1|version:test"

    def __init__(self, notes: Path, seconds: float, deadly: str | None, deaths: int) -> None:
        self.notes, self.seconds, self.deadly, self.deaths = notes, seconds, deadly, deaths

    def score(self, examples: Sequence[Example]) -> list[Score]:
        (self.notes / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        if any(example.response == self.deadly for example in examples):
            died = len(list(self.notes.glob("died-*")))
            if died < self.deaths:
                (self.notes / f"died-{died}").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return [Score(e, int(e.response.rsplit(" ", 1)[1]) / 1000) for e in examples]


@dataclass(frozen=True)
class CountingJob(Job):
    """A job of :class:`Counting`; ``deadly`` kills its process ``deaths`` times."""

    notes: Path = Path()
    seconds: float = 0.0
    deadly: str | None = None
    deaths: int = 0

    def load(self, warn: Callable[[str], None] | None = None) -> LoadedJob:
        (self.notes / f"load-{os.getpid()}").touch(exist_ok=False)  # once in a process
        return LoadedJob([Counting(self.notes, self.seconds, self.deadly, self.deaths)])


# --- in place of the process that is connected to a cluster ----------------------------------


def slow(pipe: Any, *_given: object) -> None:
    """Warns, and sends the blocks from the one that is asked for; the last comes late."""
    pipe.send(None)
    pipe.send("few GPUs")
    pipe.send(({"f1": "signed"}, {"f1": {}}))
    for block in range(pipe.recv(), 3):
        time.sleep(block == 2)
        pipe.send(block)
    pipe.send(None)


def dying(pipe: Any, *_given: object) -> None:
    """Ends after two blocks."""
    pipe.send(None)
    pipe.send(({}, {}))
    for block in range(pipe.recv(), 2):
        pipe.send(block)
    os._exit(1)


def dying_with_its_folder(pipe: Any, *_given: object) -> None:
    """Creates the folder of a cluster, and ends."""
    cluster._folder(None)
    dying(pipe)


def told_to_end_while_it_ends(pipe: Any, *_given: object) -> None:
    """Creates the folder of a cluster, and gets SIGTERM while it stops the cluster."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    cluster._folder(SimpleNamespace(shutdown=lambda: os.kill(os.getpid(), signal.SIGTERM)))
    slow(pipe)


def without_a_package(pipe: Any, *_given: object) -> None:
    pipe.send(None)
    pipe.send(MissingExtra("the reader", "torch", "hub"))


def endless(note: str) -> None:
    """Is at work, as the note says, until it is told to end."""
    threading.Thread(target=cluster._end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    Path(note).touch()
    try:
        time.sleep(600)
    finally:
        Path(note).unlink()
