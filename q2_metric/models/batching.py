"""Puts rows of similar length into batches. The batch size is halved when memory runs out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from q2_metric.errors import MachineFault, ModelError, is_out_of_memory
from q2_metric.memory import free_gpu_memory

T = TypeVar("T")


def device_tokens(device: object) -> int:
    """Padded tokens of a batch on CUDA or MPS (not measured); too large a batch is halved."""
    return 65_536 if str(device).startswith("cuda") else 16_384


@dataclass(slots=True)
class Budget:
    """The maximum size of a batch: ``rows`` (at least 1) or else padded ``tokens``. The model makes
    ``copies`` of each row (beams), and generates ``extra`` tokens for each copy. With ``step``,
    rows of a batch have the same length after rounding up to a multiple of it, so that a row's
    padding does not depend on the others."""

    tokens: int
    rows: int | None = None
    copies: int = 1
    extra: int = 0
    step: int | None = None

    def cost(self, rows: int, width: int) -> int:
        """The tokens of ``rows`` rows of ``width`` tokens, with copies and generated tokens."""
        return rows * self.copies * (width + self.extra)

    def take(self, lengths: Iterable[int]) -> int:
        """The number of rows from the front that form the next batch, at least one.

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

    def halve(self, rows: int, width: int) -> None:
        """After a batch of this size ran out of memory: later ones have at most half of it."""
        if self.rows is not None:
            self.rows = min(self.rows, rows // 2)
        else:
            self.tokens = min(self.tokens, self.cost(rows // 2, width))


def in_batches(
    lengths: Sequence[int], run: Callable[[Sequence[int]], Sequence[T]], budget: Budget, *,
    name: str, at_once: int = 1,
) -> list[T]:
    """Runs all rows in batches of similar length, and returns the results in the order of the rows.

    ``run`` takes the indices of a batch's rows in ``lengths`` (in tokens), the longest rows first,
    and returns their results. A batch that does not fit into memory is halved; later batches are no
    larger. ``at_once`` batches run at the same time, each in a thread. ModelError, which tells the
    model's ``name``: a single row does not fit into memory.
    """
    def results(part: Sequence[int]) -> list[T]:
        try:
            return list(run(part))
        except MachineFault:  # a smaller batch is no help
            raise
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # Outside the handler, whose traceback would keep the batch in memory.
        free_gpu_memory()
        width, half = max(lengths[place] for place in part), len(part) // 2
        if not half:
            raise ModelError(
                f"{name}: a single row of {width} tokens does not fit into memory; free some, or "
                "use dtype='bfloat16', another device, or (SCALE) a smaller chunk_size"
            ) from MemoryError()
        budget.halve(len(part), width)
        return results(part[:half]) + results(part[half:])

    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    parts = _parts(order, lengths, budget)
    if at_once == 1:  # each batch is taken after the one before, which may change the budget
        done = list(map(results, parts))
    else:
        # Each call makes a new pool. A forked child would wait for the threads of its parent's.
        with ThreadPoolExecutor(at_once, thread_name_prefix="q2-batch") as pool:
            done = list(pool.map(results, parts))
    found = dict(zip(order, chain.from_iterable(done), strict=True))
    return [found[place] for place in range(len(lengths))]


def _parts(order: Sequence[int], lengths: Sequence[int], budget: Budget) -> Iterator[Sequence[int]]:
    at = 0
    while at < len(order):
        size = budget.take(lengths[order[place]] for place in range(at, len(order)))
        yield order[at : at + size]
        at += size
