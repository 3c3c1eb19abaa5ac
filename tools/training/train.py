"""The training loop. It is seeded, resumes after a kill, and runs on CPU or GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from q2_metric.models.bundled.encoding import QueryWindow, Tokenizer
from tools.training.batches import batches
from tools.training.examples import ExampleSource, TrainingExample
from tools.training.learner import Learner, progress_of
from tools.training.predict import bfloat16_is_faster

STATE = "state.safetensors"

Loss = Callable[[nn.Module, Sequence[QueryWindow], Sequence[TrainingExample], torch.device], Tensor]
Evaluate = Callable[[nn.Module], dict[str, float]]


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """How long and how fast to train.

    ``examples`` is the number of drawn examples. ``tokens`` is the size of a batch in padded
    tokens. ``length`` is the maximum length of a row in tokens; longer texts lose their end.
    """

    examples: int
    tokens: int = 5120
    length: int = 256
    rate: float = 1.5e-4
    head_rate: float = 6e-4
    warmup: float = 0.04
    weight_decay: float = 0.01
    average: float = 0.998
    seed: int = 13
    save_minutes: float = 4.0
    evaluate_every: int = 1500

    def scale(self, seen: int) -> float:
        """The factor for the learning rates after ``seen`` examples. It rises to 1 and then falls
        to 0."""
        part = seen / self.examples
        falling = (1 - part) / (1 - self.warmup) if part > self.warmup else 1.0
        return min(1.0, part / self.warmup + 1e-3) * max(0.0, falling)


def train(
    network: nn.Module,
    sources: Sequence[ExampleSource],
    tokenizer: Tokenizer,
    loss: Loss,
    evaluate: Evaluate,
    settings: TrainingSchedule,
    folder: Path,
    device: torch.device,
    stop: int | None = None,
) -> None:
    """Trains ``network`` in place and leaves its averaged weights in it.

    With ``stop``, the run ends after this number of examples, before the end of the schedule. Every
    few minutes, ``state.safetensors`` (weights, average, optimiser, progress) is written to
    ``folder``, and a log to ``log.jsonl``. If the same run is started again, it resumes after the
    last save.

    Raises:
        ValueError: ``folder`` contains a run with other settings or examples.
    """
    folder.mkdir(parents=True, exist_ok=True)
    network.to(device).train()
    learner = Learner(network, settings.rate, settings.head_rate, settings.weight_decay)
    log = _Log(folder / "log.jsonl")
    at = _resumed(learner, folder / STATE, settings, sources, device)
    half = bfloat16_is_faster(device)
    log.write(bfloat16=half)
    stream = batches(sources, tokenizer, tokens=settings.tokens, length=settings.length,
                     seed=settings.seed)
    next(islice(stream, at.step, at.step), None)  # skips the examples of the earlier run
    clock = _Clock(at.seen)
    while at.seen < (stop or settings.examples):
        rows, examples = next(stream)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            value = loss(network, rows, examples, device)
        scale = settings.scale(at.seen)
        at.seen += len(rows)
        at.step += 1
        learner.learn(value, scale, min(settings.average, (1 + at.step) / (10 + at.step)))
        clock.smooth(value.item())
        if at.step % 100 == 0:
            log.write(step=at.step, seen=at.seen, loss=round(clock.loss, 4),
                      pace=round(clock.pace(at.seen), 1))
        if clock.since_saved() > settings.save_minutes * 60:
            learner.save(folder / STATE, at.as_dict())
            clock.saved = time.monotonic()
        if at.step % settings.evaluate_every == 0:
            log.write(step=at.step, seen=at.seen, dev=learner.evaluated(evaluate))
    learner.take_average()
    log.write(step=at.step, seen=at.seen, dev=evaluate(network), minutes=clock.minutes())
    learner.save(folder / STATE, at.as_dict())


@dataclass(slots=True)
class _Place:
    """The progress of a run, and the settings and data that identify the run."""

    settings: TrainingSchedule
    read: list[list[Any]]
    seen: int = 0
    step: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {"settings": asdict(self.settings), "sources": self.read, "seen": self.seen,
                "step": self.step}


def _resumed(
    learner: Learner, path: Path, settings: TrainingSchedule, sources: Sequence[ExampleSource],
    device: torch.device,
) -> _Place:
    """The point from which the run goes on: the beginning, or the progress saved in ``path``."""
    at = _Place(settings, [[source.name, source.rate, len(source.examples)] for source in sources])
    if path.exists():
        saved = progress_of(path)
        for name, noun in (("settings", "settings"), ("sources", "examples")):
            if saved[name] != at.as_dict()[name]:
                raise ValueError(f"{path.parent} holds a run with other {noun}: {saved[name]}")
        at.seen, at.step = saved["seen"], saved["step"]
        learner.restore(path, device)
    return at


class _Clock:
    """Measures the time of a run, and smooths its loss."""

    def __init__(self, seen: int) -> None:
        self.loss = 0.0
        self._seen = seen
        self._started = self.saved = time.monotonic()

    def smooth(self, value: float) -> None:
        self.loss = self.loss + 0.02 * (value - self.loss) if self.loss else value

    def pace(self, seen: int) -> float:
        """The number of examples per second since the start."""
        return (seen - self._seen) / (time.monotonic() - self._started)

    def since_saved(self) -> float:
        """The number of seconds since the last save."""
        return time.monotonic() - self.saved

    def minutes(self) -> float:
        return round((time.monotonic() - self._started) / 60, 1)


class _Log:
    """Writes JSON lines to a file and to the screen."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def write(self, **entry: Any) -> None:
        line = json.dumps(entry)
        self._file.write(line + "\n")
        self._file.flush()
        print(line, flush=True)
