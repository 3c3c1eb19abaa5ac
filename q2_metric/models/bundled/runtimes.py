"""Chooses the runtime for the bundled weights, and how many batches run at the same time."""

import os

from q2_metric.errors import InputError
from q2_metric.models.bundled import on_onnx
from q2_metric.models.bundled.encoding import Forward
from q2_metric.processors import processors

DTYPES = ("float32", "int8", "bfloat16", "float16")
ON_ONNX = ("float32", "int8")
"""ONNX Runtime runs these on a CPU. Torch runs everything else."""

MOST_AT_ONCE = 8
"""Maximum number of batches that run at the same time. Each of them needs its own memory."""


def forward_of(network: str, device: str, dtype: str) -> tuple[Forward, int]:
    """A function that computes a network's logits for a batch, and how many batches may run at the
    same time. Both runtimes agree to 1e-3.

    ``device`` is "auto" (the CPU: the models are small), "cpu", "cuda" or "mps"; ``dtype`` is one
    of :data:`DTYPES`. InputError: there is no such combination. MissingExtra: torch is needed and
    not installed. ModelError: the weights are missing.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)} or auto, not {dtype!r}")
    on_cpu = device in ("auto", "cpu")
    if on_cpu and dtype in ON_ONNX:
        at_once, each = shared(threads())
        return on_onnx.forward_of(network, each, dtype), at_once
    if dtype == "int8":
        raise InputError("int8 is for ONNX Runtime on a CPU; elsewhere use bfloat16 or float32")
    from q2_metric.models.bundled import on_torch
    from q2_metric.models.hub.loading import resolve_device

    return on_torch.forward_of(network, "cpu" if on_cpu else resolve_device(device), dtype), 1


def shared(threads: int) -> tuple[int, int]:
    """The number of batches that run at the same time, and of threads for each batch.

    Two batches on one thread each are 1.6 times as fast as one batch on two threads, which wait for
    each other. The scores are equal.

    >>> shared(2), shared(20)
    ((2, 1), (6, 3))
    """
    each = -(-threads // MOST_AT_ONCE)
    return threads // each, each


def threads() -> int:
    """The number of threads for all batches: one for each processor, at most OMP_NUM_THREADS."""
    may, asked = processors(), os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(may, int(asked)) if asked.isdecimal() and int(asked) else may
