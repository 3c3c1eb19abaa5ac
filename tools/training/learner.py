"""A network with its optimiser and the running average of its weights, saved as one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.files import replacing


class Learner:
    """What a training step changes: the network's weights, the optimiser, and the average of the
    weights.

    The word vectors and all weights that the caller froze stay fixed. Parameters that the base
    model lacks (heads, token types) have a learning rate of their own.

    Args:
        network: the network, on its device.
        rate, head_rate: maximum learning rates of the base model's parameters and of the other
            parameters.
        weight_decay: weight decay of AdamW.
    """

    def __init__(
        self, network: nn.Module, rate: float, head_rate: float, weight_decay: float
    ) -> None:
        network.encoder.words.weight.requires_grad_(False)  # type: ignore[union-attr]
        self.network = network
        self.named = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.average = {name: p.detach().clone() for name, p in self.named.items()}
        new = {n for n in self.named if not n.startswith("encoder.") or ".types." in n}
        groups = [
            {"params": [p for n, p in self.named.items() if n not in new], "lr": rate},
            {"params": [p for n, p in self.named.items() if n in new], "lr": head_rate},
        ]
        self.optimiser = torch.optim.AdamW(
            groups, weight_decay=weight_decay, betas=(0.9, 0.98), fused=True)
        self._peaks = [group["lr"] for group in self.optimiser.param_groups]
        self._order = [p for group in self.optimiser.param_groups for p in group["params"]]

    def learn(self, value: Tensor, scale: float, decay: float) -> None:
        """Makes one optimiser step on the loss ``value``.

        Args:
            scale: factor for the learning rates, in [0, 1].
            decay: weight of the old average in the new average.
        """
        for group, peak in zip(self.optimiser.param_groups, self._peaks, strict=True):
            group["lr"] = peak * scale
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._order, 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        weights = [p.detach() for p in self.named.values()]
        torch._foreach_lerp_(list(self.average.values()), weights, 1 - decay)

    def take_average(self) -> None:
        """Gives the network its averaged weights and sets evaluation mode."""
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(self.average[name])
        self.network.eval()

    def evaluated(self, evaluate: Callable[[nn.Module], dict[str, float]]) -> dict[str, float]:
        """Evaluates the averaged weights, and then restores the current weights."""
        kept = {name: p.detach().clone() for name, p in self.named.items()}
        self.take_average()
        result = evaluate(self.network)
        self.network.train()
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(kept[name])
        return result

    def save(self, path: Path, progress: dict[str, Any]) -> None:
        """Writes weights and progress into one file, in one step, so that they always belong
        together."""
        name_of = {id(p): name for name, p in self.named.items()}
        tensors = {f"weight/{name}": p.detach().contiguous() for name, p in self.named.items()}
        tensors |= {f"average/{name}": value for name, value in self.average.items()}
        for p, state in self.optimiser.state.items():
            tensors |= {f"state/{name_of[id(p)]}/{key}": value for key, value in state.items()}
        with replacing(path) as unfinished:
            save_file(tensors, unfinished, metadata={"progress": json.dumps(progress)})

    def restore(self, path: Path, device: torch.device) -> None:
        """Continues from a file that :meth:`save` wrote."""
        tensors = load_file(path, device=str(device))
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(tensors[f"weight/{name}"])
                self.average[name].copy_(tensors[f"average/{name}"])
        for name, p in self.named.items():
            prefix = f"state/{name}/"
            self.optimiser.state[p] = {
                key.removeprefix(prefix): value
                for key, value in tensors.items() if key.startswith(prefix)
            }


def progress_of(path: Path) -> dict[str, Any]:
    """Reads the progress of a saved run, and the settings and data that identify the run.

    Raises:
        ValueError: the file is not the state of a training run.
    """
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    if "progress" not in metadata:
        raise ValueError(f"{path} is no state of a training run")
    progress: dict[str, Any] = json.loads(metadata["progress"])
    return progress
