"""Batches of similar length, as large as memory allows and halved where it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from q2_metric.errors import InputError, ModelError
from q2_metric.models.memory import is_out_of_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from q2_metric.models.hub.common import Loaded

CPU_TOKENS = 1024
"""Padded tokens of a batch on a CPU, which should stay in its caches: 512 to 2048 took about the
same time, 4096 a fifth more, single short rows up to half more (a RoBERTa-base, a T5-small)."""
FIRST_TOKENS = 16_384
"""Padded tokens of the first batch elsewhere, before it is known what a token takes."""
MOST_TOKENS = 262_144
"""Padded tokens of a batch at most: enough to keep any one device busy."""
MEMORY_SHARE = 0.8
"""Share of the free memory that a batch may take."""
GROWTH = 4
"""How many times larger a batch may be than the largest that was measured."""

Row = dict[str, list[int]]
"""Model inputs of one text or pair: a map from names to token lists of one length."""


@dataclass(slots=True)
class Usage:
    """What was run: calls of the model, rows, tokens, and tokens with their padding."""

    calls: int = 0
    rows: int = 0
    tokens: int = 0
    padded: int = 0

    @property
    def padding(self) -> float:
        """The share of padding among the tokens that were computed, in [0, 1)."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


class Memory(Protocol):
    """A device's memory in bytes."""

    def start(self) -> None:
        """Begin to measure."""
        ...

    def used(self) -> int:
        """The most that was taken since ``start``."""
        ...

    def free(self) -> int:
        """What could still be taken."""
        ...


class CudaMemory:
    """Memory of a CUDA device, as torch's allocator sees it."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._before = 0

    def start(self) -> None:
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)

    def used(self) -> int:
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before

    def free(self) -> int:
        import torch

        free, _ = torch.cuda.mem_get_info(self._device)
        # What the allocator holds without using it is free for the next batch too.
        held = torch.cuda.memory_reserved(self._device)
        return int(free + held - torch.cuda.memory_allocated(self._device))


def memory_of(device: Any) -> Memory | None:
    """How to measure a device's memory; ``None`` where torch cannot tell (CPU, MPS)."""
    name = str(device)
    return CudaMemory(name) if name.startswith("cuda") else None


class Batches:
    """Runs rows through a model in batches of similar length.

    With a batch size, that many rows share a batch. Without one, as many rows as fit a
    budget of padded tokens: a fixed one on a CPU; on CUDA it is found from the free memory
    and from what the batches so far took. A batch that does not fit is halved and retried,
    and later batches, of later calls too, are no larger.

    Args:
        loaded: gives the padding ids and the device.
        batch_size: rows of a batch, at least 1, or ``None``.
        copies: rows that the model makes of each (beams).
        extra: tokens that each of these takes beside its own (those to be generated).
        cpu_tokens: the budget on a CPU, in padded tokens with copies and extra.

    Raises:
        InputError: a batch size below 1.
    """

    def __init__(
        self,
        loaded: Loaded,
        batch_size: int | None,
        *,
        copies: int = 1,
        extra: int = 0,
        cpu_tokens: int = CPU_TOKENS,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise InputError(f"batch_size is {batch_size}, but must be at least 1")
        self.usage = Usage()
        self._loaded = loaded
        self.batch_size = batch_size
        self._copies, self._extra = copies, extra
        on_cpu = str(loaded.device) == "cpu"
        self._tokens = cpu_tokens if on_cpu else FIRST_TOKENS
        self._most = cpu_tokens if on_cpu else MOST_TOKENS
        self._memory = memory_of(loaded.device) if batch_size is None else None

    def run(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any]:
        """The results of all rows, in their order.

        The longest rows go first, so that too large a batch fails at once.

        Args:
            rows: model inputs.
            call: takes padded tensors of shape (batch, tokens), gives one result per row.

        Raises:
            ModelError: a single row does not fit into memory.
        """
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i]["input_ids"]))
        results: list[Any] = [None] * len(rows)
        at = 0
        while at < len(order):
            width = len(rows[order[at]]["input_ids"])
            part = order[at : at + self._fitting(width)]
            found = self._attempt([rows[i] for i in part], call)
            if found is None:
                self._halve(len(part), width)
                continue
            for i, result in zip(part, found, strict=True):
                results[i] = result
            at += len(part)
        return results

    def _cost(self, rows: int, width: int) -> int:
        """Padded tokens of a batch, with its copies and what they generate."""
        return rows * self._copies * (width + self._extra)

    def _fitting(self, width: int) -> int:
        """Rows of a batch whose longest row has ``width`` tokens."""
        if self.batch_size is not None:
            return self.batch_size
        return max(1, self._tokens // max(1, self._cost(1, width)))

    def _attempt(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any] | None:
        """The results of a batch, or ``None`` where it did not fit into memory."""
        import torch

        tensors: dict[str, Any] = {}
        if self._memory:
            self._memory.start()
        try:
            tensors = {
                name: torch.from_numpy(ids).to(self._loaded.device)
                for name, ids in pad(self._loaded.tokenizer, rows).items()
            }
            with torch.inference_mode():
                found = list(call(tensors))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            lengths = [len(row["input_ids"]) for row in rows]
            self.usage.calls += 1
            self.usage.rows += len(rows)
            self.usage.tokens += sum(lengths)
            self.usage.padded += len(rows) * max(lengths)
            if self._memory:
                self._learn(self._memory, self._cost(len(rows), max(lengths)))
            return found
        # Out of the handler, whose traceback would keep the batch's tensors alive.
        tensors.clear()
        if str(self._loaded.device).startswith("cuda"):
            torch.cuda.empty_cache()
        return None

    def _learn(self, memory: Memory, cost: int) -> None:
        """Set the budget by what a batch took; small batches say too little."""
        if 2 * cost < self._tokens:
            return
        room = int(MEMORY_SHARE * memory.free() * cost / max(1, memory.used()))
        self._tokens = max(1, min(room, self._tokens * GROWTH, self._most))

    def _halve(self, rows: int, width: int) -> None:
        if rows == 1:
            raise ModelError(
                f"{self._loaded.name}: a single input of {width} tokens does not fit into the "
                f"memory of {self._loaded.device}; use dtype='bfloat16', another device, or "
                "(SCALE) a smaller chunk_size"
            )
        if self.batch_size is not None:
            self.batch_size = rows // 2
        else:
            self._tokens = self._most = self._cost(rows // 2, width)


def pad(tokenizer: Any, rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """Pad rows on the right to the longest; the attention mask is 0 on padding."""
    lengths = [len(row["input_ids"]) for row in rows]
    fill = {
        "input_ids": tokenizer.pad_token_id or 0,
        "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0),
    }
    shape = (len(rows), max(lengths))
    padded = {
        name: np.full(shape, fill.get(name, 0), dtype=np.int64)
        for name in rows[0]
        if name != "attention_mask"
    }
    padded["attention_mask"] = np.zeros(shape, dtype=np.int64)
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        for name in padded:
            padded[name][i, :length] = 1 if name == "attention_mask" else row[name]
    return padded
