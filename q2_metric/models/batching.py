"""Makes batches of rows of similar length, within a budget that is halved if memory runs out.

The module depends on no device or library: callers pass the function that runs a batch. It also
recognises the out-of-memory errors of the runtimes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from q2_metric.errors import InputError, ModelError

MARKS = ("out of memory", "allocate memory", "not enough memory", "alloc_failed",
         "bad allocation", "bad_alloc")
"""Texts in the out-of-memory errors of CUDA, cuBLAS, MPS, torch's CPU and ONNX Runtime."""

T = TypeVar("T")


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out.

    Only some of these errors have their own class. The others are recognised by their message:
    a RuntimeError (torch) or an error of ONNX Runtime.
    """
    if isinstance(error, MemoryError):
        return True
    runtimes = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime")
    return runtimes and any(mark in str(error).lower() for mark in MARKS)


@dataclass(slots=True)
class Budget:
    """The maximum size of a batch, in rows or in padded tokens.

    Args:
        tokens: padded tokens of a batch, with copies and extra; ignored if ``rows`` is given.
        rows: rows of a batch, at least 1; ``None`` limits by tokens.
        copies: rows that the model makes of each row (beams).
        extra: tokens that each copy needs beside its own (those to be generated).
        most: the number of tokens up to which the budget may grow; ``None`` for no growth.
        step: all rows of a batch have the same length after rounding up to a multiple of ``step``,
            so a row's padding does not depend on the others; ``None`` allows any lengths.

    Raises:
        InputError: ``rows`` is below 1.
    """

    tokens: int
    rows: int | None = None
    copies: int = 1
    extra: int = 0
    most: int | None = None
    step: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise InputError(f"batch_size must be at least 1, not {self.rows}")

    def cost(self, rows: int, width: int) -> int:
        """Padded tokens of ``rows`` rows of ``width`` tokens, copies and extra included."""
        return rows * self.copies * (width + self.extra)

    def take(self, lengths: Iterable[int]) -> int:
        """The number of rows, from the front, that make the next batch: at least one.

        >>> Budget(tokens=24).take([12, 7, 7])
        2
        """
        size = width = 0
        for length in lengths:
            if size and self.step and -(-length // self.step) != -(-width // self.step):
                break
            width = max(width, length)
            full = size == self.rows if self.rows else self.cost(size + 1, width) > self.tokens
            if size and full:
                break
            size += 1
        return size

    def grow(self, tokens: int) -> None:
        """Sets the budget to ``tokens``, within the limit."""
        self.tokens = max(1, min(tokens, self.tokens if self.most is None else self.most))

    def halve(self, rows: int, width: int) -> None:
        """Reduces the budget after ``rows`` rows of ``width`` tokens did not fit."""
        if self.rows is not None:
            self.rows = rows // 2
        else:
            self.tokens = self.most = self.cost(rows // 2, width)


def in_batches(
    lengths: Sequence[int],
    run: Callable[[Sequence[int]], Sequence[T]],
    budget: Budget,
    *,
    longest_first: bool,
    too_large: Callable[[int], str],
    ran_out: Callable[[], None] = lambda: None,
    at_once: int = 1,
) -> list[T]:
    """The results of all rows, in their order; rows of similar length share a batch.

    A batch that does not fit into memory is halved and retried, and later batches of this
    ``budget`` are no larger.

    Args:
        lengths: tokens of each row.
        run: computes the results of the rows at these places.
        budget: the limit of a batch; it shrinks if memory runs out.
        longest_first: start with the longest rows, so that too large a batch fails at once;
            otherwise start with the shortest.
        too_large: makes the message for a single row of this many tokens that does not fit.
        ran_out: called after memory ran out, when nothing refers to the batch any more.
        at_once: number of batches that run at the same time, each in a thread.

    Raises:
        ModelError: a single row does not fit into memory.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=longest_first)
    results: dict[int, T] = {}
    while len(results) < len(order):
        for part, outputs in _run(_parts(order[len(results):], lengths, budget), run, at_once):
            if outputs is not None:
                results.update(zip(part, outputs, strict=True))
                continue
            ran_out()
            width = max(lengths[place] for place in part)
            if len(part) == 1:
                raise ModelError(too_large(width))
            budget.halve(len(part), width)
            break  # what is left makes other batches
    return [results[place] for place in range(len(lengths))]


def _parts(
    order: Sequence[int], lengths: Sequence[int], budget: Budget
) -> Iterator[Sequence[int]]:
    """The places of each batch, within the budget as it is when the batch is taken."""
    at = 0
    while at < len(order):
        size = budget.take(lengths[order[place]] for place in range(at, len(order)))
        yield order[at : at + size]
        at += size


def _run(
    parts: Iterable[Sequence[int]], run: Callable[[Sequence[int]], Sequence[T]], at_once: int
) -> Iterator[tuple[Sequence[int], Sequence[T] | None]]:
    """Each batch with its results, in order; ``None`` if memory ran out."""

    def tried(part: Sequence[int]) -> tuple[Sequence[int], Sequence[T] | None]:
        try:
            return part, run(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # This is outside the handler: its traceback would keep the batch alive.
        return part, None

    # One after the other, each part is taken when the one before is done: the budget may change.
    if at_once == 1:
        yield from map(tried, parts)
        return
    # A new pool each time: a forked child would wait for the threads of its parent.
    with ThreadPoolExecutor(at_once, thread_name_prefix="q2-batch") as pool:
        try:
            yield from pool.map(tried, parts)
        finally:
            pool.shutdown(cancel_futures=True)
