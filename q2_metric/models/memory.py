"""Telling that memory ran out from other errors, whatever the runtime."""

from __future__ import annotations

MARKS = ("out of memory", "allocate memory", "not enough memory", "alloc_failed",
         "bad allocation", "bad_alloc")
"""What the errors of CUDA, cuBLAS, MPS, torch's CPU allocator and ONNX Runtime say."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out.

    Only some have a class of their own for it; the others are a RuntimeError (torch) or ONNX
    Runtime's own that say so.
    """
    if isinstance(error, MemoryError):
        return True
    runtimes = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime")
    return runtimes and any(mark in str(error).lower() for mark in MARKS)
