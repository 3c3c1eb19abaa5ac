"""Batches of a torch model: how large they may be on a device, and their padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from q2_metric.models.batching import Budget, in_batches
from q2_metric.models.hub.loading import limit_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from q2_metric.models.hub.loading import LoadedModel

CPU_TOKENS = 1024
"""Padded tokens of a batch on a CPU, so that it fits in the caches: 512 to 2048 took about the same
time, 4096 a fifth more, single short rows up to half more (a RoBERTa-base, a T5-small)."""
FIRST_TOKENS = 16_384
"""Padded tokens of the first batch on other devices, before the memory per token is known."""
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
    """Counts of the work done: model calls, rows, tokens, and tokens with padding."""

    calls: int = 0
    rows: int = 0
    tokens: int = 0
    padded: int = 0

    @property
    def padding(self) -> float:
        """The share of padding among the tokens that were computed, in [0, 1)."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


class DeviceMemory(Protocol):
    """A device's memory in bytes."""

    def start(self) -> None:
        """Begin to measure."""
        ...

    def used(self) -> int:
        """Peak memory use since ``start``."""
        ...

    def free(self) -> int:
        """Memory that is still free."""
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
        # Memory that the allocator holds but does not use is free for the next batch too.
        held = torch.cuda.memory_reserved(self._device)
        return int(free + held - torch.cuda.memory_allocated(self._device))


def memory_of(device: Any) -> DeviceMemory | None:
    """The memory of a device; ``None`` if torch cannot measure it (CPU, MPS)."""
    name = str(device)
    return CudaMemory(name) if name.startswith("cuda") else None


class Batches:
    """Runs rows through a model in batches of similar length (see ``batching``).

    With a batch size, that many rows share a batch. Without one, a budget of padded tokens
    limits the batch. The budget is fixed on a CPU. On CUDA it is derived from the free memory
    and from the memory that earlier batches took.

    Args:
        loaded: gives the padding ids and the device.
        batch_size: rows of a batch, at least 1, or ``None``.
        copies, extra: of the model's beams, see ``Budget``.
        cpu_tokens: the budget on a CPU, in padded tokens with copies and extra.

    Raises:
        InputError: a batch size below 1.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        batch_size: int | None,
        *,
        copies: int = 1,
        extra: int = 0,
        cpu_tokens: int = CPU_TOKENS,
    ) -> None:
        self.usage = Usage()
        self._loaded = loaded
        on_cpu = str(loaded.device) == "cpu"
        first, most = (cpu_tokens, cpu_tokens) if on_cpu else (FIRST_TOKENS, MOST_TOKENS)
        self.budget = Budget(first, batch_size, copies, extra, most)
        self._memory = memory_of(loaded.device) if batch_size is None else None

    def run(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any]:
        """The results of all rows, in their order.

        Args:
            rows: model inputs.
            call: takes padded tensors of shape (batch, tokens), gives one result per row.

        Raises:
            ModelError: a single row does not fit into memory.
        """
        return in_batches(
            [len(row["input_ids"]) for row in rows],
            lambda places: self._batch([rows[i] for i in places], call),
            self.budget,
            longest_first=True,
            too_large=self._too_large,
            ran_out=self._ran_out,
        )

    def _batch(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any]:
        import torch

        limit_threads()
        if self._memory:
            self._memory.start()
        tensors = {
            name: torch.from_numpy(ids).to(self._loaded.device)
            for name, ids in pad(self._loaded.tokenizer, rows).items()
        }
        with torch.inference_mode():
            results = list(call(tensors))
        lengths = [len(row["input_ids"]) for row in rows]
        self.usage.calls += 1
        self.usage.rows += len(rows)
        self.usage.tokens += sum(lengths)
        self.usage.padded += len(rows) * max(lengths)
        if self._memory:
            self._learn(self._memory, self.budget.cost(len(rows), max(lengths)))
        return results

    def _learn(self, memory: DeviceMemory, cost: int) -> None:
        """Set the budget from the memory that a batch took; small batches are not informative."""
        if 2 * cost < self.budget.tokens:
            return
        room = int(MEMORY_SHARE * memory.free() * cost / max(1, memory.used()))
        self.budget.grow(min(room, self.budget.tokens * GROWTH))

    def _ran_out(self) -> None:
        if str(self._loaded.device).startswith("cuda"):
            import torch

            torch.cuda.empty_cache()

    def _too_large(self, width: int) -> str:
        return (
            f"{self._loaded.name}: a single input of {width} tokens does not fit into the "
            f"memory of {self._loaded.device}; use dtype='bfloat16', another device, or "
            "(SCALE) a smaller chunk_size"
        )


def pad(tokenizer: Any, rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """Pad rows to the longest, on the tokenizer's side; the attention mask is 0 on padding."""
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
    left = tokenizer.padding_side == "left"  # XLNet's classifier reads the last token
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        place = slice(shape[1] - length, None) if left else slice(length)
        for name in padded:
            padded[name][i, place] = 1 if name == "attention_mask" else row[name]
    return padded
