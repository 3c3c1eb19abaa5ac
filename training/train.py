"""The training loop: seeded, resumable after a kill, on CPU or GPU."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.files import replacing
from q2_metric.models.bundled.encoding import Tokenizer, Window, collate, pair
from training.examples import Example, Source, draw

STATE = "state.safetensors"


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how fast to train.

    ``examples`` are counted as drawn; ``tokens`` is the padded size of a batch;
    ``length`` the longest row in tokens (longer texts lose their end).
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


Loss = Callable[[nn.Module, Sequence[Window], Sequence[Example], torch.device], Tensor]


def batches(
    sources: Sequence[Source], tokenizer: Tokenizer, settings: Settings
) -> Iterator[tuple[list[Window], list[Example]]]:
    """An endless stream of batches, the same for the same seed.

    Rows of similar length are batched together within shuffled blocks.
    """
    rng = random.Random(settings.seed)
    while True:
        epoch = draw(sources, rng)
        for at in range(0, len(epoch), 4096):
            rows = []
            for example in epoch[at : at + 4096]:
                query = tokenizer(example.query).cut(0, settings.length // 2)
                text = tokenizer(example.text)
                rows.append((pair(query, text.cut(0, settings.length - len(query.ids) - 3)),
                             example))
            rows.sort(key=lambda row: len(row[0].ids))
            ready: list[list[tuple[Window, Example]]] = []
            batch: list[tuple[Window, Example]] = []
            for row in rows:
                size = -(-len(row[0].ids) // 8) * 8
                if batch and size * (len(batch) + 1) > settings.tokens:
                    ready.append(batch)
                    batch = []
                batch.append(row)
            ready.append(batch)
            rng.shuffle(ready)
            for batch in ready:
                yield [row for row, _ in batch], [example for _, example in batch]


def train(
    network: nn.Module,
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    loss: Loss,
    evaluate: Callable[[nn.Module], dict[str, float]],
    settings: Settings,
    folder: Path,
    device: torch.device,
    stop: int | None = None,
) -> None:
    """Trains ``network`` in place and leaves its averaged weights in it.

    ``stop`` ends the run after so many examples, within the schedule of ``settings``.

    ``folder`` receives ``state.safetensors`` (weights, their average, optimiser and how far
    it is) every few minutes, and ``log.jsonl``. Started again with the same settings and
    examples, it goes on after the last save, at whatever moment it was killed.

    Raises:
        ValueError: ``folder`` holds a run with other settings or examples.
    """
    folder.mkdir(parents=True, exist_ok=True)
    network.to(device).train()
    frozen = network.encoder.words.weight  # type: ignore[union-attr]
    frozen.requires_grad_(False)
    named = {name: p for name, p in network.named_parameters() if p.requires_grad}
    new = {name for name in named if not name.startswith("encoder.") or ".types." in name}
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for n, p in named.items() if n not in new], "lr": settings.rate},
            {"params": [p for n, p in named.items() if n in new], "lr": settings.head_rate},
        ],
        weight_decay=settings.weight_decay, betas=(0.9, 0.98), fused=True,
    )
    peaks = [group["lr"] for group in optimiser.param_groups]
    order = [p for group in optimiser.param_groups for p in group["params"]]
    name_of = {id(p): name for name, p in named.items()}
    average = {name: p.detach().clone() for name, p in named.items()}
    seen = step = 0
    read = [[source.name, source.rate, len(source.examples)] for source in sources]
    if (folder / STATE).exists():
        saved = _progress(folder)
        if saved["settings"] != asdict(settings):
            raise ValueError(f"{folder} holds a run with other settings: {saved['settings']}")
        if saved["sources"] != read:
            raise ValueError(f"{folder} holds a run with other examples: {saved['sources']}")
        seen, step = saved["seen"], saved["step"]
        _restore(folder, named, average, optimiser, order, name_of, device)

    def save() -> None:
        progress = {"settings": asdict(settings), "sources": read, "seen": seen, "step": step}
        _save(folder, named, average, optimiser, name_of, progress)

    log = (folder / "log.jsonl").open("a", encoding="utf-8")
    half = bfloat16_is_faster(device)
    _write(log, bfloat16=half)
    stream = batches(sources, tokenizer, settings)
    for _ in range(step):
        next(stream)
    started = saved_at = time.monotonic()
    running, seen_before = 0.0, seen
    while seen < (stop or settings.examples):
        rows, examples = next(stream)
        part = seen / settings.examples
        scale = min(1.0, part / settings.warmup + 1e-3) * max(
            0.0, (1 - part) / (1 - settings.warmup) if part > settings.warmup else 1.0)
        for group, peak in zip(optimiser.param_groups, peaks, strict=True):
            group["lr"] = peak * scale
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            value = loss(network, rows, examples, device)
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(order, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seen += len(rows)
        step += 1
        decay = min(settings.average, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(average.values()), [p.detach() for p in named.values()],
                             1 - decay)
        running += 0.02 * (value.item() - running) if running else value.item()
        if step % 100 == 0:
            pace = (seen - seen_before) / (time.monotonic() - started)
            _write(log, step=step, seen=seen, loss=round(running, 4), pace=round(pace, 1))
        if time.monotonic() - saved_at > settings.save_minutes * 60:
            save()
            saved_at = time.monotonic()
        if step % settings.evaluate_every == 0:
            _write(log, step=step, seen=seen, dev=_with(network, named, average, evaluate))
    with torch.no_grad():
        for name, p in named.items():
            p.copy_(average[name])
    network.eval()
    _write(log, step=step, seen=seen, dev=evaluate(network),
           minutes=round((time.monotonic() - started) / 60, 1))
    save()


def _with(
    network: nn.Module, named: dict[str, nn.Parameter], average: dict[str, Tensor],
    evaluate: Callable[[nn.Module], dict[str, float]],
) -> dict[str, float]:
    """Evaluates the averaged weights and puts the current ones back."""
    kept = {name: p.detach().clone() for name, p in named.items()}
    with torch.no_grad():
        for name, p in named.items():
            p.copy_(average[name])
        network.eval()
        result = evaluate(network)
        network.train()
        for name, p in named.items():
            p.copy_(kept[name])
    return result


def _write(log: Any, **entry: Any) -> None:
    line = json.dumps(entry)
    log.write(line + "\n")
    log.flush()
    print(line, flush=True)


def _save(
    folder: Path, named: dict[str, nn.Parameter], average: dict[str, Tensor],
    optimiser: torch.optim.Optimizer, name_of: dict[int, str], progress: dict[str, Any],
) -> None:
    """One file, put in place at once: weights never stand beside another step's progress."""
    tensors = {f"weight/{name}": p.detach().contiguous() for name, p in named.items()}
    tensors |= {f"average/{name}": value for name, value in average.items()}
    for p, state in optimiser.state.items():
        tensors |= {f"state/{name_of[id(p)]}/{key}": value for key, value in state.items()}
    with replacing(folder / STATE) as unfinished:
        save_file(tensors, unfinished, metadata={"progress": json.dumps(progress)})


def _progress(folder: Path) -> dict[str, Any]:
    with safe_open(folder / STATE, framework="pt") as file:
        metadata = file.metadata() or {}
    if "progress" not in metadata:
        raise ValueError(f"{folder / STATE} is no state of a training run")
    progress: dict[str, Any] = json.loads(metadata["progress"])
    return progress


def _restore(
    folder: Path, named: dict[str, nn.Parameter], average: dict[str, Tensor],
    optimiser: torch.optim.Optimizer, order: list[nn.Parameter], name_of: dict[int, str],
    device: torch.device,
) -> None:
    tensors = load_file(folder / STATE, device=str(device))
    with torch.no_grad():
        for name, p in named.items():
            p.copy_(tensors[f"weight/{name}"])
            average[name].copy_(tensors[f"average/{name}"])
    for p in order:
        prefix = f"state/{name_of[id(p)]}/"
        optimiser.state[p] = {
            key.removeprefix(prefix): value
            for key, value in tensors.items() if key.startswith(prefix)
        }


def predict(
    network: nn.Module, rows: Sequence[Window], device: torch.device,
    forward: Callable[[nn.Module, Any, torch.device], Tensor], size: int = 64,
) -> list[Tensor]:
    """``forward``'s output for each row, in order, computed in batches by length."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
    found: list[Tensor] = [torch.empty(0)] * len(rows)
    half = bfloat16_is_faster(device)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=half):
        for at in range(0, len(order), size):
            part = order[at : at + size]
            output = forward(network, collate([rows[i] for i in part]), device).float().cpu()
            for i, row in zip(part, output, strict=True):
                found[i] = row
    return found


@lru_cache(maxsize=4)
def bfloat16_is_faster(device: torch.device) -> bool:
    """Whether this device multiplies matrices of a batch's size faster in bfloat16.

    It is with matrix units for it (Intel AMX, GPUs); without, it is several times slower.
    """
    took = {}
    for dtype in (torch.float32, torch.bfloat16):
        left = torch.ones(2048, 384, device=device, dtype=dtype)
        right = torch.ones(384, 1536, device=device, dtype=dtype)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            (left @ right)[0, 0].item()
            times.append(time.perf_counter() - started)
        took[dtype] = min(times)
    return took[torch.bfloat16] < took[torch.float32]


def as_tensor(array: Any, device: torch.device) -> Tensor:
    """A NumPy array as a tensor of the index or float type it needs."""
    return torch.from_numpy(array).to(device)
