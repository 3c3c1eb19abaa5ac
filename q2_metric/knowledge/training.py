"""Trains RSS, the detector and the responder with transformers' Trainer.

Random numbers depend only on the seed and the step, so a run that was interrupted and resumed ends
with the same weights as an uninterrupted run.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import Trainer, TrainingArguments

STATE = "training"
"""The subfolder of the Trainer's checkpoint and the progress, from which a run resumes."""
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
    device: Any


def train(
    task: Task,
    folder: str | Path,
    settings: TrainSettings,
    *,
    report: Report | None = None,
) -> Progress:
    """Trains with Adam until the evaluation no longer improves, and saves the best model.

    An interrupted run resumes from a subfolder. ``report`` gets what ``task.judge`` returned.

    Raises:
        InputError: the saved state belongs to other settings, or the device is a GPU other than
            the first.
        MissingExtra: accelerate is not installed.
    """
    folder = Path(folder)
    checkpoint, progress = _resumed(folder / STATE, settings, task.count)
    if not progress.done:
        trainer = _trainer(task, folder / STATE, settings)
        trainer.add_callback(_judged(task, folder, settings, progress, report))
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        task.model.eval()
    if progress.done:
        _write(folder / STATE, progress, settings, task.count)
        for saved in (folder / STATE).glob("checkpoint-*"):
            shutil.rmtree(saved)
    return progress


def _steps(settings: TrainSettings, count: int) -> list[list[int]]:
    """For each training step, the indices of the examples in its batch."""
    size, batches = settings.batch_size, []
    for epoch in range(settings.epochs):
        order = list(range(count))
        random.Random(f"{settings.seed}-epoch-{epoch}").shuffle(order)
        batches += [order[at : at + size] for at in range(0, count, size)]
    return batches


def _trainer(task: Task, state: Path, settings: TrainSettings) -> Trainer:
    """The Trainer's data set has one item for each step: the indices of the step's examples."""
    import torch
    from torch.utils.data import SequentialSampler
    from transformers import Trainer

    class Steps(Trainer):  # type: ignore[misc]
        def _get_train_sampler(self, train_dataset: Any = None) -> SequentialSampler:
            return SequentialSampler(self.train_dataset)

        def compute_loss(self, model: Any, inputs: dict[str, Any], **_: Any) -> Tensor:
            step = self.state.global_step
            torch.manual_seed(settings.seed * 1_000_003 + step)  # seeds dropout
            rng = random.Random(f"{settings.seed}-{step}")
            return task.loss_of(inputs["places"].tolist(), rng)

    steps = _steps(settings, task.count)
    return Steps(
        model=task.model,
        args=_arguments(state, settings, len(steps), str(task.device)),
        train_dataset=steps,
        data_collator=lambda chosen: {"places": torch.tensor(chosen[0])},
    )


def _arguments(
    state: Path, settings: TrainSettings, steps: int, device: str
) -> TrainingArguments:
    from transformers import TrainingArguments

    if device.endswith(tuple("123456789")):
        raise InputError(
            f"training runs on the first GPU, not on {device!r}: choose a GPU with "
            "CUDA_VISIBLE_DEVICES"
        )
    try:
        arguments = TrainingArguments(
            str(state), max_steps=steps, per_device_train_batch_size=1,
            learning_rate=settings.rate, lr_scheduler_type="constant", optim="adamw_torch",
            weight_decay=0.0, max_grad_norm=0.0, seed=settings.seed, save_strategy="no",
            # Two checkpoints are kept, because a killed process may leave the last one incomplete.
            save_total_limit=2, logging_strategy="no", report_to="none", disable_tqdm=True,
            remove_unused_columns=False, dataloader_pin_memory=False, use_cpu=device == "cpu",
        )
        arguments.n_gpu  # noqa: B018 (finds the devices, for which it needs accelerate)
    except ImportError as error:
        raise MissingExtra("training", "accelerate", "torch") from error
    arguments._n_gpu = min(1, arguments.n_gpu)  # more GPUs would need the model on each of them
    return arguments


def _judged(
    task: Task, folder: Path, settings: TrainSettings, progress: Progress,
    report: Report | None,
) -> Any:
    import torch
    from transformers import TrainerCallback

    every = settings.evaluate_every or -(-task.count // settings.batch_size)

    def judge(last: bool) -> None:
        task.model.eval()
        with torch.inference_mode():
            value = task.judge()
        task.model.train()
        if progress.best is None or value > progress.best:
            progress.best, progress.best_step, progress.worse = value, progress.step, 0
            folder.mkdir(parents=True, exist_ok=True)
            task.save(folder)
        else:
            progress.worse += 1
        waited = settings.patience is not None and progress.worse >= settings.patience
        progress.done = last or waited
        if report is not None:
            report(progress, value)

    class EvaluationCallback(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress.step = state.global_step
            last = progress.step == state.max_steps
            judging = last or progress.step % every == 0
            if judging:
                judge(last)
            control.should_training_stop = progress.done
            control.should_save = judging

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            checkpoint = folder / STATE / f"checkpoint-{state.global_step}"
            _write(checkpoint, progress, settings, task.count)

    return EvaluationCallback()


def _write(folder: Path, progress: Progress, settings: TrainSettings, count: int) -> None:
    about = {"progress": asdict(progress), "settings": _identity(settings, count)}
    (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8", newline="\n")


def _resumed(
    state: Path, settings: TrainSettings, count: int
) -> tuple[Path | None, Progress]:
    """The folder of the last complete checkpoint (``None`` without one), and the progress."""
    saved = sorted(state.glob(f"**/{ABOUT}"), key=lambda path: path.stat().st_mtime_ns)
    if not saved:
        return None, Progress()
    path = saved[-1]
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        progress, made = Progress(**about["progress"]), about["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; remove it to start again") from error
    if made != _identity(settings, count):
        raise InputError(
            f"{path}: was written by a run with other settings or data; remove it to start again"
        )
    return path.parent, progress


def _identity(settings: TrainSettings, count: int) -> dict[str, Any]:
    """What must be equal for a run to resume; the number of epochs, for example, may change."""
    kept = asdict(settings)
    return {"count": count, **{k: kept[k] for k in ("rate", "batch_size", "seed")}}
