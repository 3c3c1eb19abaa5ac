"""A network in training with its optimiser and the running average of its weights. All are saved
together in one file."""

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
    """A network, its optimiser, and the running average of its weights. :meth:`learn` makes a
    training step.

    The word vectors are frozen, and so are all weights that the caller froze.

    Args:
        network: the network, on its device.
        rate: maximum learning rate of the parameters that the base model has too.
        head_rate: maximum learning rate of the other parameters (heads, token types).
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
        """Makes one optimiser step.

        Args:
            value: the loss of the batch.
            scale: factor for the learning rates, in [0, 1].
            decay: weight of the old average of the weights in the new average.
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
        """Replaces the network's weights by their average, and sets evaluation mode."""
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(self.average[name])
        self.network.eval()

    def evaluated(self, evaluate: Callable[[nn.Module], dict[str, float]]) -> dict[str, float]:
        """Evaluates the network with its averaged weights. Afterwards it has its current weights
        again."""
        kept = {name: p.detach().clone() for name, p in self.named.items()}
        self.take_average()
        result = evaluate(self.network)
        self.network.train()
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(kept[name])
        return result

    def save(self, path: Path, progress: dict[str, Any]) -> None:
        """Writes weights, average, optimiser and ``progress`` to one file.

        The file is replaced as a whole, so it is never half written.
        """
        name_of = {id(p): name for name, p in self.named.items()}
        tensors = {f"weight/{name}": p.detach().contiguous() for name, p in self.named.items()}
        tensors |= {f"average/{name}": value for name, value in self.average.items()}
        for p, state in self.optimiser.state.items():
            tensors |= {f"state/{name_of[id(p)]}/{key}": value for key, value in state.items()}
        with replacing(path, public=True) as unfinished:
            save_file(tensors, unfinished, metadata={"progress": json.dumps(progress)})

    def restore(self, path: Path, device: torch.device) -> None:
        """Loads weights, average and optimiser from a file that :meth:`save` wrote."""
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
    """Reads what :meth:`Learner.save` wrote as ``progress``: how far the run was, and its settings
    and data.

    Raises:
        ValueError: the file is not the state of a training run.
    """
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    if "progress" not in metadata:
        raise ValueError(f"{path} is no state of a training run")
    progress: dict[str, Any] = json.loads(metadata["progress"])
    return progress
