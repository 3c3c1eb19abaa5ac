"""Trains RSS, the detector and the responder.

Random numbers depend only on the seed and the step, so a run that was interrupted and resumed ends
with the same weights as an uninterrupted run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError
from q2_metric.files import read_json, replacing, write_text

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

STATE = "training"
"""The subfolder of the checkpoint and the progress, from which a run resumes."""
ABOUT = "progress.json"


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Settings of a training run; by default Bae et al.'s for rankers (section 4.3).

    ``rate`` is the learning rate of Adam. Ours: the best evaluation's model is kept, because the
    paper does not say which epoch's it takes; ``evaluate_every`` counts steps (``None``: an epoch);
    training ends after ``patience`` evaluations without an improvement (``None``: after all epochs,
    as in the paper).
    """

    rate: float = 1e-5
    batch_size: int = 16
    epochs: int = 20
    evaluate_every: int | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience", "evaluate_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.rate <= 0:
            raise InputError(f"the learning rate must be above 0, not {self.rate}")


@dataclass(slots=True)
class Progress:
    """``best`` is the highest value so far; ``worse`` counts the evaluations since then."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    done: bool = False


Report = Callable[[Progress, float], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A model to train.

    Args:
        count: number of training examples.
        loss_of: computes the loss of the examples with the given indices. It draws its random
            numbers from the given generator.
        judge: evaluates the current model; higher is better.
        save: writes the model into a folder.
    """

    model: nn.Module
    count: int
    loss_of: Callable[[Sequence[int], random.Random], Tensor]
    judge: Callable[[], float]
    save: Callable[[Path], None]


def train(
    task: Task, folder: str | Path, settings: TrainSettings, *, report: Report | None = None
) -> Progress:
    """Trains with Adam until the evaluation no longer improves, and saves the best model.

    An interrupted run resumes from a subfolder. ``report`` gets what ``task.judge`` returned.

    Raises:
        InputError: the saved state belongs to other settings, or cannot be read.
    """
    import torch

    folder = Path(folder)
    state = folder / STATE
    progress = _resumed(state / ABOUT, settings, task.count)
    optimizer = torch.optim.AdamW(task.model.parameters(), settings.rate, weight_decay=0.0)
    if progress.step and not progress.done:
        _restore(_checkpoint(state, progress), task.model, optimizer)
    steps = _steps(settings, task.count)
    every = settings.evaluate_every or -(-task.count // settings.batch_size)
    while not progress.done and progress.step < len(steps):
        _step(task, optimizer, steps[progress.step], settings.seed, progress.step)
        progress.step += 1
        last = progress.step == len(steps)
        if last or progress.step % every == 0:
            value = _judge(task, folder, progress)
            waited = settings.patience is not None and progress.worse >= settings.patience
            progress.done = last or waited
            _save(state, task, optimizer, settings, progress)
            if report is not None:
                report(progress, value)
    if progress.done:
        _remove(state)
    task.model.eval()
    return progress


def _steps(settings: TrainSettings, count: int) -> list[list[int]]:
    """For each training step, the indices of the examples in its batch."""
    size, batches = settings.batch_size, []
    for epoch in range(settings.epochs):
        order = list(range(count))
        random.Random(f"{settings.seed}-epoch-{epoch}").shuffle(order)
        batches += [order[at : at + size] for at in range(0, count, size)]
    return batches


def _step(task: Task, optimizer: Optimizer, places: Sequence[int], seed: int, step: int) -> None:
    import torch

    task.model.train()
    torch.manual_seed(seed * 1_000_003 + step)  # seeds dropout
    optimizer.zero_grad()
    task.loss_of(places, random.Random(f"{seed}-{step}")).backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _judge(task: Task, folder: Path, progress: Progress) -> float:
    """Evaluates the model, and saves it if it is the best so far."""
    import torch

    task.model.eval()
    with torch.inference_mode():
        value = task.judge()
    if progress.best is None or value > progress.best:
        progress.best, progress.best_step, progress.worse = value, progress.step, 0
        folder.mkdir(parents=True, exist_ok=True)
        task.save(folder)
    else:
        progress.worse += 1
    return value


def _checkpoint(state: Path, progress: Progress) -> Path:
    return state / f"step-{progress.step}.pt"


def _save(
    state: Path, task: Task, optimizer: Optimizer, settings: TrainSettings, progress: Progress
) -> None:
    """Writes the progress after its checkpoint, and removes the checkpoint before. So a killed
    process leaves a progress whose checkpoint is complete."""
    import torch

    state.mkdir(parents=True, exist_ok=True)
    with replacing(_checkpoint(state, progress)) as unfinished:
        torch.save({"model": task.model.state_dict(), "optimizer": optimizer.state_dict()},
                   unfinished)
    about = {"progress": asdict(progress), "settings": _identity(settings, task.count)}
    write_text(state / ABOUT, json.dumps(about))
    _remove(state, but=_checkpoint(state, progress))


def _remove(state: Path, but: Path | None = None) -> None:
    for saved in state.glob("step-*.pt"):
        if saved != but:
            saved.unlink()


def _resumed(path: Path, settings: TrainSettings, count: int) -> Progress:
    if not path.exists():
        return Progress()
    try:
        about = read_json(path)
        progress, made = Progress(**about["progress"]), about["settings"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; remove it to start again") from error
    if made != _identity(settings, count):
        raise InputError(f"{path}: was written by a run with other settings or data; remove it to "
                         "start again")
    return progress


def _restore(path: Path, model: nn.Module, optimizer: Optimizer) -> None:
    import torch

    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
    except (OSError, ValueError, LookupError, RuntimeError, EOFError, UnpicklingError) as error:
        reason = str(error).partition(". ")[0]  # torch goes on with advice to read it unsafely
        raise InputError(f"{path}: cannot be read: {reason}; remove {path.parent} to start "
                         "again") from error


def _identity(settings: TrainSettings, count: int) -> dict[str, Any]:
    """What must be equal for a run to resume; the number of epochs, for example, may change."""
    return {"count": count, "rate": settings.rate, "batch_size": settings.batch_size,
            "seed": settings.seed}
