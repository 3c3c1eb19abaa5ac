"""Runs the bundled neural networks in PyTorch, on any device."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import ModelError, is_out_of_memory, optional
from q2_metric.models.bundled.encoding import Batch, Forward
from q2_metric.models.bundled.stored import VERSIONS, in_floats

if TYPE_CHECKING:
    from torch import nn


def load(module: nn.Module, prefix: str) -> None:
    """Copies the bundled weights into a network of :mod:`q2_metric.models.bundled.network`."""
    import torch

    heads = ("span", "dense", "classify")
    state = {}
    for name, value in in_floats(prefix):
        short = name.removeprefix(f"{prefix}.")
        key = short if short.startswith(heads) else f"encoder.{short}"
        state[key] = torch.from_numpy(value)
    module.load_state_dict(state)


@lru_cache(maxsize=len(VERSIONS) * 2)
def forward_of(prefix: str, device: str, dtype: str) -> Forward:
    """A function that computes a network's logits for a batch, on any of torch's devices.
    ModelError: the weights are missing, or memory ran out."""
    torch = optional("torch", f"device {device!r} with the bundled models", "torch", "torch")
    from q2_metric.models.bundled.network import made
    from q2_metric.models.hub.loading import limit_threads

    try:
        module = made(prefix)
        load(module, prefix)
        module.to(device=device, dtype=getattr(torch, dtype)).eval()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"the bundled {prefix} network does not fit into the memory of {device}: use --dtype "
            "bfloat16, --device cpu, or the preset bundled-small") from error

    def forward(batch: Batch) -> NDArray[np.float32]:
        limit_threads()
        inputs = [batch.ids, batch.types, batch.lengths]
        if prefix != "reader":
            inputs.append(batch.query)
        with torch.inference_mode():
            logits = module(*(torch.from_numpy(array).to(device) for array in inputs))
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result

    return forward
