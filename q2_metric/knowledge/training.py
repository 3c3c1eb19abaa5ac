"""The training loop of RSS, the detector and the responder: early stopping, resumable.

Every random choice of a step follows from the seed and the number of the step, so a run that
was stopped and resumed ends with the same weights as one that was not.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor, nn

STATE = "training"
"""Folder below the model's that holds what a run needs to go on."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train; the defaults are those of Bae et al. (section 4.2) where it has them.

    ``rate`` is Adam's, ``batch_size`` counts examples. Every ``evaluate_every`` steps (an epoch if
    ``None``) the model is judged and the state saved; ``patience`` judgements without a better
    one end the training.
    """

    rate: float = 1e-5
    batch_size: int = 16
    epochs: int = 10
    evaluate_every: int | None = None
    patience: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.evaluate_every is not None and self.evaluate_every < 1:
            raise InputError(f"evaluate_every must be at least 1, not {self.evaluate_every}")
        if self.rate <= 0:
            raise InputError(f"the learning rate must be above 0, not {self.rate}")


@dataclass(slots=True)
class Progress:
    """Where a run stands: steps done, the best judgement and how many came after it."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    done: bool = False


def train(
    model: nn.Module,
    count: int,
    loss_of: Callable[[Sequence[int], random.Random], Tensor],
    judge: Callable[[], float],
    save: Callable[[Path], None],
    folder: str | Path,
    settings: Settings,
    *,
    stop_at: int | None = None,
    report: Callable[[Progress, float], None] | None = None,
) -> Progress:
    """Trains with Adam until the judgement no longer improves; the best is in ``folder``.

    Args:
        model: whose parameters are trained.
        count: number of training examples.
        loss_of: the loss of the examples at these places; draws from the generator given.
        judge: how good the model is now (in evaluation mode), higher is better.
        save: writes the model into a folder.
        folder: of the best model; a run that was stopped goes on from its subfolder.
        stop_at: stop after this step, saving the state (to go on later).
        report: told the progress and the last judgement at each judgement.

    Raises:
        InputError: there are no examples, or the state is of other settings.
    """
    import torch

    if count < 1:
        raise InputError("there are no training examples")
    folder = Path(folder)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.rate)
    progress = _resume(model, optimizer, folder / STATE, settings, count)
    per_epoch = -(-count // settings.batch_size)
    last = per_epoch * settings.epochs
    every = settings.evaluate_every or per_epoch
    while not progress.done and (stop_at is None or progress.step < stop_at):
        torch.manual_seed(settings.seed * 1_000_003 + progress.step)  # dropout
        rng = random.Random(f"{settings.seed}-{progress.step}")
        model.train()
        optimizer.zero_grad()
        loss = loss_of(_places(progress.step, per_epoch, count, settings), rng)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        progress.step += 1
        if progress.step % every == 0 or progress.step == last:
            model.eval()
            with torch.inference_mode():
                value = judge()
            if progress.best is None or value > progress.best:
                progress.best, progress.best_step, progress.worse = value, progress.step, 0
                folder.mkdir(parents=True, exist_ok=True)
                save(folder)
            else:
                progress.worse += 1
            progress.done = progress.step == last or progress.worse >= settings.patience
            _save(model, optimizer, folder / STATE, progress, settings, count)
            if report is not None:
                report(progress, value)
        elif progress.step == stop_at:
            _save(model, optimizer, folder / STATE, progress, settings, count)
    model.eval()
    return progress


def _places(step: int, per_epoch: int, count: int, settings: Settings) -> list[int]:
    epoch, at = divmod(step, per_epoch)
    order = list(range(count))
    random.Random(f"{settings.seed}-epoch-{epoch}").shuffle(order)
    return order[at * settings.batch_size : (at + 1) * settings.batch_size]


def _save(
    model: nn.Module, optimizer: Any, folder: Path, progress: Progress, settings: Settings,
    count: int,
) -> None:
    """Writes the state beside the old one, then puts it in its place."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {f"model.{k}": v.clone().contiguous() for k, v in model.state_dict().items()}
    for place, values in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{place}.{name}": value.clone() for name, value in values.items()}
    metadata = {"progress": json.dumps(asdict(progress)),
                "settings": json.dumps(_identity(settings, count))}
    save_file(tensors, folder / "state.tmp", metadata=metadata)
    os.replace(folder / "state.tmp", folder / "state.safetensors")


def _resume(
    model: nn.Module, optimizer: Any, folder: Path, settings: Settings, count: int
) -> Progress:
    path = folder / "state.safetensors"
    if not path.exists():
        return Progress()
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{path}: cannot be read: {error}; remove it to start anew") from error
    if json.loads(metadata["settings"]) != _identity(settings, count):
        raise InputError(
            f"{path}: is of a run with other settings or data; remove it to start anew"
        )
    model.load_state_dict(
        {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    )
    saved = optimizer.state_dict()
    saved["state"] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, place, value = name.split(".")
            saved["state"].setdefault(int(place), {})[value] = tensor
    optimizer.load_state_dict(saved)
    return Progress(**json.loads(metadata["progress"]))


def _identity(settings: Settings, count: int) -> dict[str, Any]:
    """What must be the same for a run to go on; more epochs or patience are welcome."""
    kept = asdict(settings)
    return {"count": count, **{k: kept[k] for k in ("rate", "batch_size", "seed")}}
