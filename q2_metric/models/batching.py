"""Batches of rows of similar length, as large as the budget and halved where memory ends.

It knows no device and no library: what runs a batch is handed in. The errors by which the
runtimes say that memory ran out are told apart from others here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from q2_metric.errors import InputError, ModelError

MARKS = ("out of memory", "allocate memory", "not enough memory", "alloc_failed",
         "bad allocation", "bad_alloc")
"""What the errors of CUDA, cuBLAS, MPS, torch's CPU allocator and ONNX Runtime say."""

T = TypeVar("T")


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out.

    Only some have a class of their own for it; the others are a RuntimeError (torch) or ONNX
    Runtime's own that say so.
    """
    if isinstance(error, MemoryError):
        return True
    runtimes = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime")
    return runtimes and any(mark in str(error).lower() for mark in MARKS)


@dataclass(slots=True)
class Budget:
    """How large a batch may be: so many rows, or as many as so many padded tokens hold.

    Args:
        tokens: padded tokens of a batch, with copies and extra; not looked at with ``rows``.
        rows: of a batch, at least 1; ``None`` to go by tokens.
        copies: rows that the model makes of each (beams).
        extra: tokens that each of these takes beside its own (those to be generated).
        most: to how many tokens it may grow; not at all if ``None``.
        step: the rows of a batch are of one length, rounded up to it, so that how a row is padded
            does not depend on the others; of any length if ``None``.

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
        """Padded tokens of so many rows of ``width`` tokens, copies and extra included."""
        return rows * self.copies * (width + self.extra)

    def take(self, lengths: Iterable[int]) -> int:
        """How many of the rows, in this order, make the next batch: at least one.

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
        """Take so many tokens from now on, within the limit."""
        self.tokens = max(1, min(tokens, self.tokens if self.most is None else self.most))

    def halve(self, rows: int, width: int) -> None:
        """What did not fit at ``rows`` rows of ``width`` tokens is not tried again."""
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
) -> list[T]:
    """The results of all rows, in their order; rows of similar length share a batch.

    A batch that does not fit into memory is halved and retried, and later batches of this
    ``budget`` are no larger.

    Args:
        lengths: tokens of each row.
        run: the results of the rows at these places.
        budget: of a batch; it shrinks where memory ends.
        longest_first: too large a batch then fails at once; else the shortest go first.
        too_large: what to say of a single row of so many tokens that does not fit.
        ran_out: called after memory ran out, when nothing refers to the batch any more.

    Raises:
        ModelError: a single row does not fit into memory.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=longest_first)
    results: dict[int, T] = {}
    at = 0
    while at < len(order):
        size = budget.take(lengths[order[place]] for place in range(at, len(order)))
        part = order[at : at + size]
        found: Sequence[T] | None = None
        try:
            found = run(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # Out of the handler, whose traceback would keep the batch alive.
        if found is None:
            ran_out()
            width = max(lengths[place] for place in part)
            if size == 1:
                raise ModelError(too_large(width))
            budget.halve(size, width)
            continue
        results.update(zip(part, found, strict=True))
        at += size
    return [results[place] for place in range(len(lengths))]
