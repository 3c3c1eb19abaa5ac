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

    from q2_metric.models.hub.loading import LoadedModel

STATE = "training"
"""The subfolder from which a run resumes: it holds the checkpoint, after the end the progress."""
CHECKPOINT, ENDED = "checkpoint.pt", "progress.json"


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Settings of a training run; by default Bae et al.'s for rankers (section 4.3). ``rate`` is
    the learning rate of Adam. Ours: the best evaluation's model is kept, because the paper does not
    say which epoch's it takes; ``evaluate_every`` counts steps (``None``: an epoch); training ends
    after ``patience`` evaluations without an improvement (``None``: after all epochs, as in the
    paper)."""

    rate: float = 1e-5
    batch_size: int = 16
    epochs: int = 20
    evaluate_every: int | None = None
    patience: int | None = None
    seed: int = 0


@dataclass(slots=True)
class Progress:
    """``best`` is the highest value so far; ``worse`` counts the evaluations since then."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    done: bool = False


Report = Callable[[Progress, float], None]


def train(
    loaded: LoadedModel, count: int, loss_of: Callable[[Sequence[int], random.Random], Tensor],
    judge: Callable[[], float], folder: str | Path, settings: TrainSettings,
    report: Report | None = None,
) -> Progress:
    """Trains with Adam until the evaluation no longer improves, and saves the best model. An
    interrupted run resumes from a subfolder. InputError: the saved state belongs to other settings,
    or cannot be read.

    Args:
        count: number of training examples.
        loss_of: computes the loss of the examples with the given indices. It draws its random
            numbers from the given generator.
        judge: evaluates the current model; higher is better. ``report`` gets what it returned.
    """
    import torch

    state, model = Path(folder) / STATE, loaded.model
    # The number of epochs, for example, may change before a run resumes.
    same = {"count": count, "rate": settings.rate, "batch_size": settings.batch_size,
            "seed": settings.seed}
    optimizer = torch.optim.AdamW(model.parameters(), settings.rate, weight_decay=0.0)
    progress = _resumed(state, model, optimizer, same)
    steps = _steps(settings, count)
    every = settings.evaluate_every or -(-count // settings.batch_size)
    while not progress.done and progress.step < len(steps):
        model.train()
        torch.manual_seed(settings.seed * 1_000_003 + progress.step)  # seeds dropout
        optimizer.zero_grad()
        rng = random.Random(f"{settings.seed}-{progress.step}")
        loss_of(steps[progress.step], rng).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        progress.step += 1
        last = progress.step == len(steps)
        if last or progress.step % every == 0:
            model.eval()
            with torch.inference_mode():
                value = judge()
            progress.worse += 1
            if progress.best is None or value > progress.best:
                progress.best, progress.best_step, progress.worse = value, progress.step, 0
                model.save_pretrained(folder)
                loaded.tokenizer.save_pretrained(folder)
            waited = settings.patience is not None and progress.worse >= settings.patience
            progress.done = last or waited
            _save(state, model, optimizer, {"progress": asdict(progress), "settings": same})
            if report is not None:
                report(progress, value)
    if progress.done:
        (state / CHECKPOINT).unlink(missing_ok=True)
    model.eval()
    return progress


def _steps(settings: TrainSettings, count: int) -> list[list[int]]:
    size, batches = settings.batch_size, []
    for epoch in range(settings.epochs):
        order = list(range(count))
        random.Random(f"{settings.seed}-epoch-{epoch}").shuffle(order)
        batches += [order[at : at + size] for at in range(0, count, size)]
    return batches


def _save(state: Path, model: nn.Module, optimizer: Optimizer, about: dict[str, Any]) -> None:
    import torch

    state.mkdir(parents=True, exist_ok=True)
    if about["progress"]["done"]:
        write_text(state / ENDED, json.dumps(about))
        return
    with replacing(state / CHECKPOINT) as unfinished:
        torch.save({**about, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                   unfinished)


def _resumed(state: Path, model: nn.Module, optimizer: Optimizer, same: dict[str, Any]) -> Progress:
    """The progress so far. Of a run that has not ended, also restores model and optimizer."""
    import torch

    path = next((path for path in (state / ENDED, state / CHECKPOINT) if path.exists()), None)
    if path is None:
        return Progress()
    try:
        kept = read_json(path) if path.name == ENDED else torch.load(
            path, map_location="cpu", weights_only=True)
        progress, made = Progress(**kept["progress"]), kept["settings"]
        if made == same and not progress.done:
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, EOFError,
            UnpicklingError) as error:
        reason = str(error).partition(". ")[0]  # torch goes on with advice to read it unsafely
        raise InputError(f"{path}: cannot be read: {reason}; remove it to start again") from error
    if made != same:
        raise InputError(f"{path}: was written by a run with other settings or data; remove it to "
                         "start again")
    return progress
