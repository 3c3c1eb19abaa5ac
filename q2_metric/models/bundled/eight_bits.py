"""Computes the matrix products of the bundled neural networks in 8 bits.

Factors fixed on training texts (``ranges.safetensors``) keep a row's scores independent of its
batch. A few channels with far larger values are multiplied in float32 (Dettmers et al. 2022,
"LLM.int8()", section 3.2). ``onnxruntime.quantization`` 1.32 depends on the batch in its dynamic
mode, and is slower in its static mode (docs/results/speed.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import ModelError

LARGEST_PAIR = 128
"""Maximum absolute sum of two neighbouring 8-bit weights. Processors without VNNI add two products
in 16 bits, where 255 * 129 would not fit."""
RANGES = "ranges.safetensors"
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


def initializers(
    name: str, weight: Floats, ranges: dict[str, NDArray[Any]]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The ONNX initializers of a linear map in an 8-bit graph.

    Args:
        name: the name of its weight (see :func:`is_product`).
        weight: the matrix (out, in).
        ranges: ``NAME.multiplier`` (in,), ``NAME.zero`` (), the 8-bit value that stands for 0, and
            for some maps ``NAME.apart``, the indexes of the channels that stay in float32.
    """
    product = name.removesuffix(".weight")
    multiplier = ranges[f"{product}.multiplier"]
    whole, scale = quantised(weight.astype(np.float32, copy=False), multiplier)
    yield name, whole
    yield f"{name}.scale", scale
    yield f"{product}.multiplier", multiplier
    yield f"{product}.zero", ranges[f"{product}.zero"]
    apart = ranges.get(f"{product}.apart")
    if apart is not None:
        yield f"{product}.apart", apart
        yield f"{product}.apart.weight", np.ascontiguousarray(weight[:, apart].T, np.float32)


def is_product(name: str) -> bool:
    product, _, kind = name.rpartition(".")
    return ".layers." in name and kind == "weight" and product.rpartition(".")[2] in LAYER


def load_ranges(weights: Path, prefix: str) -> dict[str, NDArray[Any]]:
    """Reads the factors from :data:`RANGES` beside the file of the network's weights.

    Raises:
        ModelError: the file is missing or belongs to other weights.
    """
    from safetensors import safe_open

    path = weights.parent / RANGES
    if not path.exists():
        raise ModelError(f"the ranges for 8 bits are missing ({path}): reinstall q2-metric")
    with safe_open(path, framework="numpy") as file:
        if (file.metadata() or {}).get(prefix) != fingerprint(weights, prefix):
            raise ModelError(f"{path} was made for other weights of the {prefix} network: "
                             "run python -m tools.training --part ranges")
        return {name: file.get_tensor(name) for name in file.keys()  # noqa: SIM118
                if name.startswith(f"{prefix}.")}


def fingerprint(weights: Path, prefix: str) -> str:
    """A digest (16 hexadecimal digits) that differs between two training runs."""
    from safetensors import safe_open

    digest = hashlib.sha256()
    with safe_open(weights, framework="numpy") as file:
        for name in sorted(file.keys()):
            if name.startswith(f"{prefix}.") and name.endswith((".bias", "norm1.weight")):
                digest.update(file.get_tensor(name).tobytes())
    return digest.hexdigest()[:16]
