"""The training loop of all networks. It is seeded, and a run that was killed can be resumed."""

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

    ``examples`` is the number of examples that are drawn in all. ``tokens`` is the size of a batch,
    in tokens including padding. ``length`` is the maximum number of tokens of an example; the end
    of longer texts is cut off. ``rate`` and ``head_rate`` are the peak learning rates of the
    encoder and of the layers above it. ``warmup`` is the part of the run in which they rise.
    ``average`` is the decay of the moving average of the weights. ``evaluate_every`` counts steps.
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
        """The factor on the learning rates after ``seen`` examples: it rises to 1, then falls to 0.
        """
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
    """Trains ``network`` in place. In the end, it has the moving average of its weights.

    Every few minutes, the weights, their average, the optimiser and the progress are saved to
    ``state.safetensors`` in ``folder``. If the same run is started again, it resumes from there.
    A log is appended to ``log.jsonl``.

    Args:
        sources: where the examples are drawn from.
        evaluate: computes figures on development data, for the log.
        stop: the number of examples after which the run ends before the end of its schedule.

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
        if at.step % 25 == 0:
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
    """The progress of a run in examples (``seen``) and batches (``step``).

    ``settings`` and ``read`` (name, rate and size of each source of examples) identify the run.
    """

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
    """The point at which the run starts: its beginning, or the progress saved in ``path``.

    If ``path`` exists, the learner's weights are restored from it.
    """
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
    """Measures the time of a run, and keeps a moving average of its loss."""

    def __init__(self, seen: int) -> None:
        self.loss = 0.0
        self._seen = seen
        self._started = self.saved = time.monotonic()

    def smooth(self, value: float) -> None:
        """Adds the loss of a batch to the moving average."""
        self.loss = self.loss + 0.02 * (value - self.loss) if self.loss else value

    def pace(self, seen: int) -> float:
        """The number of examples per second since the start."""
        return (seen - self._seen) / (time.monotonic() - self._started)

    def since_saved(self) -> float:
        """The number of seconds since the last save."""
        return time.monotonic() - self.saved

    def minutes(self) -> float:
        """The number of minutes since the start."""
        return round((time.monotonic() - self._started) / 60, 1)


class _Log:
    """Writes each entry of the log as a line of JSON, to a file and to the screen."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def write(self, **entry: Any) -> None:
        line = json.dumps(entry)
        self._file.write(line + "\n")
        self._file.flush()
        print(line, flush=True)
