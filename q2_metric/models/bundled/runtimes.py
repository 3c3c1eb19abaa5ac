"""Chooses the runtime and the number format for the bundled weights."""

from __future__ import annotations

import os
from typing import Literal

from q2_metric.errors import InputError
from q2_metric.models.bundled import on_onnx
from q2_metric.models.bundled.encoding import Forward

DTYPES = ("float32", "int8", "bfloat16", "float16")
ON_ONNX = ("float32", "int8")

MOST_AT_ONCE = 8
"""Maximum number of batches that run at the same time. Each of them needs its own memory."""

Runtime = Literal["auto", "onnx", "torch"]


def forward_of(
    network: str, runtime: Runtime, device: str, dtype: str, threads: int | None
) -> Forward:
    """A function that computes a network's logits for a batch. Both runtimes agree to 1e-3.

    Args:
        network: a key of :data:`~q2_metric.models.bundled.stored.VERSIONS`.
        runtime: "auto" chooses ONNX Runtime for float32 or int8 on a CPU, and torch otherwise.
        device: "auto" (the CPU: the models are small), "cpu", "cuda", "mps".
        dtype: "float32" for both runtimes, "int8" for ONNX Runtime only, "bfloat16" or "float16"
            for torch only.
        threads: number of threads of ONNX Runtime; ``None`` uses all processors of this process.

    Raises:
        InputError: the combination of arguments does not exist.
        MissingExtra: torch is needed and not installed.
        ModelError: the weights are missing.
    """
    runtime = _checked(runtime, device, dtype)
    if runtime == "onnx":
        return on_onnx.forward_of(network, shared(threads)[1], dtype)
    from q2_metric.models.bundled import on_torch
    from q2_metric.models.hub.loading import resolve_device

    return on_torch.forward_of(
        network, "cpu" if device in ("auto", "cpu") else resolve_device(device), dtype)


def batches_at_once(runtime: Runtime, device: str, dtype: str, threads: int | None) -> int:
    return shared(threads)[0] if _checked(runtime, device, dtype) == "onnx" else 1


def shared(threads: int | None) -> tuple[int, int]:
    """The number of batches that run at the same time, and of threads for each batch.

    Two batches on one thread each are 1.6 times as fast as one batch on two threads, which wait for
    each other. The scores are equal.

    >>> shared(2), shared(20)
    ((2, 1), (6, 3))
    """
    threads = threads or processors()
    each = -(-threads // MOST_AT_ONCE)
    return threads // each, each


def _checked(runtime: Runtime, device: str, dtype: str) -> Runtime:
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)} or auto, not {dtype!r}")
    on_cpu = device in ("auto", "cpu")
    if dtype == "int8" and not (on_cpu and runtime != "torch"):
        raise InputError("int8 is for ONNX Runtime on a CPU; elsewhere use bfloat16 or float32")
    if runtime == "auto":
        runtime = "onnx" if on_cpu and dtype in ON_ONNX else "torch"
    if runtime == "onnx" and (not on_cpu or dtype not in ON_ONNX):
        raise InputError("the ONNX runtime of the bundled models is for CPUs, in float32 or int8")
    return runtime


def settled(dtype: str, device: str) -> str:
    """Replaces the dtype "auto": "int8" on a CPU, otherwise "float32"."""
    if dtype != "auto":
        return dtype
    return "int8" if device in ("auto", "cpu") else "float32"


def processors() -> int:
    """The number of processors that this process may use, at most OMP_NUM_THREADS."""
    may = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(may, int(asked)) if asked.isdecimal() and int(asked) else may
