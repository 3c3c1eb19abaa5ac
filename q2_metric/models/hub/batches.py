"""Decides how large a batch of a torch model can be on its device, pads the rows and runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from q2_metric.models.batching import Budget, in_batches
from q2_metric.models.hub.loading import limit_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from q2_metric.models.hub.loading import LoadedModel

CPU_TOKENS = 1024
"""Padded tokens of a batch on a CPU, whose caches it should fit. With RoBERTa-base and T5-small,
512 to 2048 tokens took about the same time, and 4096 a fifth more."""
FIRST_TOKENS = 16_384
"""Padded tokens of the first batch on a GPU, before the memory per token is known."""
MOST_TOKENS = 262_144
"""Maximum padded tokens of a batch, enough to keep any single device busy."""
MEMORY_SHARE = 0.8
"""Share of the free memory that a batch may take."""
GROWTH = 4
"""After a measured batch, the budget of tokens can grow to this many times its previous value."""

Row = dict[str, list[int]]
"""The model's inputs for one text or pair, such as "input_ids", with one number per token."""


@dataclass(slots=True)
class Usage:
    """The work done so far; ``padded`` counts the tokens with padding."""

    calls: int = 0
    rows: int = 0
    tokens: int = 0
    padded: int = 0

    @property
    def padding(self) -> float:
        """The share of padding among the computed tokens, in [0, 1)."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


class CudaMemory:
    """Measures the memory of a CUDA device in bytes, as torch's allocator reports it."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._before = 0

    def start(self) -> None:
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)

    def used(self) -> int:
        """The largest amount of memory that was taken since :meth:`start`."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before

    def free(self) -> int:
        import torch

        free, _ = torch.cuda.mem_get_info(self._device)
        # Memory that the allocator holds but does not use is also free for the next batch.
        held = torch.cuda.memory_reserved(self._device)
        return int(free + held - torch.cuda.memory_allocated(self._device))


def memory_of(device: Any) -> CudaMemory | None:
    """``None`` for devices other than CUDA."""
    name = str(device)
    return CudaMemory(name) if name.startswith("cuda") else None


class Batches:
    """Runs rows through a model in batches of similar length (see ``batching``).

    Without ``batch_size`` (rows), a budget of padded tokens limits each batch: ``cpu_tokens``, or
    on CUDA what the free memory and the memory that earlier batches took allow. For ``copies`` and
    ``extra``, see ``Budget``.
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
        """The results of all rows, in order. ``call`` takes a batch's tensors by name, (batch,
        tokens), and returns one result for each row; ModelError if a single row does not fit into
        memory."""
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

    def _learn(self, memory: CudaMemory, cost: int) -> None:
        """Sets the budget from the memory that a batch of ``cost`` padded tokens took."""
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
    """The arrays (rows, longest row) of a batch by name; the attention mask is 0 on the padding."""
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
