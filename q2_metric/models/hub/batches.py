"""Decides how large a batch of a torch model can be on its device, pads the rows and runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from q2_metric.models.batching import Budget, device_tokens, in_batches
from q2_metric.models.hub.loading import limit_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from q2_metric.models.hub.loading import LoadedModel

CPU_TOKENS = 1024
"""Padded tokens of a batch on a CPU, whose caches it should fit. With RoBERTa-base and T5-small,
512 to 2048 tokens took about the same time, and 4096 a fifth more."""

Row = dict[str, list[int]]
"""The model's inputs for one text or pair, such as "input_ids", with one number per token."""


class Batches:
    """Runs rows through a model in batches of similar length (see ``batching``). Without
    ``batch_size`` (rows), a budget of padded tokens limits each batch: ``cpu_tokens``, or on other
    devices ``device_tokens``. For ``copies`` and ``extra``, see ``Budget``."""

    def __init__(
        self, loaded: LoadedModel, batch_size: int | None, *, copies: int = 1, extra: int = 0,
        cpu_tokens: int = CPU_TOKENS,
    ) -> None:
        self._loaded = loaded
        tokens = cpu_tokens if str(loaded.device) == "cpu" else device_tokens(loaded.device)
        self.budget = Budget(tokens, batch_size, copies, extra)

    def run(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any]:
        """The results of all rows, in order. ``call`` takes a batch's tensors by name, (batch,
        tokens), and returns one result for each row; ModelError if a single row does not fit into
        memory."""
        return in_batches(
            [len(row["input_ids"]) for row in rows],
            lambda places: self._batch([rows[i] for i in places], call), self.budget,
            too_large=lambda width: (
                f"{self._loaded.name}: a single input of {width} tokens does not fit into the "
                f"memory of {self._loaded.device}; use dtype='bfloat16', another device, or "
                "(SCALE) a smaller chunk_size"))

    def _batch(
        self, rows: Sequence[Row], call: Callable[[dict[str, Any]], Sequence[Any]]
    ) -> list[Any]:
        import torch

        limit_threads()
        tensors = {name: torch.from_numpy(ids).to(self._loaded.device)
                   for name, ids in pad(self._loaded.tokenizer, rows).items()}
        with torch.inference_mode():
            return list(call(tensors))


def pad(tokenizer: Any, rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """The arrays (rows, longest row) of a batch by name; the attention mask is 0 on the padding."""
    return dict(tokenizer.pad(
        list(rows), return_attention_mask=True, return_tensors="np", verbose=False))
