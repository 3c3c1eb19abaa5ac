"""Runs a network on many rows in batches, and finds the faster number format of a device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from q2_metric.models.bundled.encoding import QueryWindow, collate


def predict(
    network: nn.Module, rows: Sequence[QueryWindow], device: torch.device,
    forward: Callable[[nn.Module, Any, torch.device], Tensor], size: int = 64,
) -> list[Tensor]:
    """The output of the network for each row, in order.

    Args:
        network: the network.
        rows: the input rows. Rows of similar length share a batch.
        device: the device of the network.
        forward: ``forward(network, batch, device)`` computes the output of a batch.
        size: number of rows in a batch.
    """
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
    """Whether this device multiplies matrices faster in bfloat16 than in float32. This is measured.

    Devices with matrix units for bfloat16 (Intel AMX, GPUs) do. On others, bfloat16 is several
    times slower.
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
    """Converts a NumPy array to a tensor of the same type on the device."""
    return torch.from_numpy(array).to(device)
