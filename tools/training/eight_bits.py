"""Converts the matrices of the networks' layers to 8 bits.

The inputs of a matrix product are multiplied by factors and rounded. The factors are fixed on
training texts (:mod:`tools.training.ranges`), so a row's scores do not depend on its batch. A few
channels with far larger values are multiplied in float32 (Dettmers et al. 2022, "LLM.int8()",
section 3.2). ``onnxruntime.quantization`` 1.32 depends on the batch in its dynamic mode, and is
slower in its static mode (docs/results/speed.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGEST_PAIR = 128
"""Maximum absolute sum of two neighbouring 8-bit weights. Processors without VNNI add two products
in 16 bits, where 255 * 129 would not fit."""
LAYER = ("qkv", "out", "up", "down")
"""The linear maps of a layer in 8 bits. The task heads after the last layer are in float32."""
AT_ONCE = 1 << 16
"""Elements of a matrix that are rounded at once, so that they stay in the processor's cache."""
Floats = NDArray[np.float32]


def quantised(weight: Floats, multiplier: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Converts a linear layer's matrix to 8 bits, with one scale for each output.

    Args:
        weight: the matrix (out, in).
        multiplier: the factor of each input channel (in,). Channels with factor 0 get weights of 0.

    Returns:
        The 8-bit integers (in, out), within :data:`LARGEST_PAIR`, and the scales (out,).
    """
    left_out = multiplier == 0
    divided_by = np.where(left_out, 1, multiplier)
    outputs, inputs = weight.shape
    whole, scale = np.empty((inputs, outputs), np.int8), np.empty(outputs, np.float32)
    at_once = max(1, AT_ONCE // inputs)
    for start in range(0, outputs, at_once):
        part = slice(start, start + at_once)
        rows = weight[part] / divided_by
        rows[:, left_out] = 0
        # Two weights of the same sign are limited together. The sum of two rounded numbers exceeds
        # the sum of the numbers by at most 1, so both limits are 127.
        largest = np.maximum(np.abs(rows).max(1), np.abs(rows[:, 0::2] + rows[:, 1::2]).max(1))
        scale[part] = np.maximum(largest / (LARGEST_PAIR - 1), 1e-12)
        whole[:, part] = np.rint(rows / scale[part, None]).astype(np.int8).T
    return whole, scale


def in_eight_bits(
    product: str, weight: Tensor, ranges: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The stored tensors of a layer's linear map, by name, without its bias.

    Args:
        product: the name of the map.
        weight: its matrix (out, in).
        ranges: what :func:`tools.training.ranges.ranges` measured for the network.
    """
    found = {name: value for name, value in ranges.items() if name.startswith(f"{product}.")}
    whole, scale = quantised(weight.float().numpy(), found[f"{product}.multiplier"].numpy())
    found |= {f"{product}.weight": torch.from_numpy(whole),
              f"{product}.weight.scale": torch.from_numpy(scale)}
    apart = found.get(f"{product}.apart")
    if apart is not None:
        found[f"{product}.apart.weight"] = weight[:, apart].T.float().contiguous()
    return found


def is_product(name: str) -> bool:
    """Whether a weight is the matrix of a linear map in a layer."""
    product, _, kind = name.rpartition(".")
    return ".layers." in name and kind == "weight" and product.rpartition(".")[2] in LAYER
