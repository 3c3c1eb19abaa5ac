"""Measures the ranges that are needed to compute the bundled networks in 8 bits.

A range says how small and how large the inputs of a matrix product get, channel by channel. The
ranges are measured once, on training texts, and stored beside the weights. So a score does not
depend on the other rows of a batch. If the inputs of a channel are far larger than those of others,
they are scaled down before they are rounded, and the weights of the channel are scaled up. The
inputs are not scaled down fully, because the weights are rounded too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from q2_metric.models.bundled.encoding import QueryWindow, Tokenizer, collate, pair
from q2_metric.models.bundled.models import WINDOW
from q2_metric.models.bundled.network import EntailmentNetwork, ReaderNetwork
from tools.training.eight_bits import LAYER
from tools.training.examples import held_out, read_jsonl

CLAIMS = ("bump", "faithdial_audit_wow", "fever_dev", "fool_me_twice", "lingnli_val",
          "mnli_taxinli", "scifact_rte", "snli_counterfactual", "summedits", "wice_claims")
QUESTIONS = ("fairytaleqa_extractive", "multispanqa_valid", "nq_swap", "qamr", "qed_dev_nq",
             "quoref_contrast", "squad1_dev", "squad2_dev_half", "tweetqa")
"""The training sets on which the reader's ranges are measured. Those of the entailment networks are
measured on ``CLAIMS``."""
ROWS = 24
"""Number of rows that are used from each training set."""
SHARE = 0.75
"""A channel's inputs are divided by its largest input to this power (SmoothQuant's alpha). Of the
values 0, 0.3, 0.5 and 0.7, the last had the smallest errors in nearly all products. Clipping rare
values increased the errors."""
BATCH = 8
APART = {"down": 8}
"""How many input channels of a linear map are multiplied in float32 instead of 8 bits. With the 8
channels of "down", the errors of the reader's logits are 0.6 times as large. For the other linear
maps, the gain would be smaller than the cost."""

Network = ReaderNetwork | EntailmentNetwork


def apart_of(product: str) -> int:
    """The number of input channels of a linear map that are multiplied in float32, not 8 bits.

    ``product`` is the linear map's name: the name of its weight without ".weight".
    """
    return APART.get(product.rpartition(".")[2], 0)


def windows(data: Path, network: str, tokenizer: Tokenizer) -> list[QueryWindow]:
    """Input rows for a network, made from training sets, sorted by length.

    Args:
        data: folder with the training data.
        network: name of the network, such as "reader".
        tokenizer: the tokenizer.
    """
    folder, names, query, text = (
        ("qa", QUESTIONS, "question", "context") if network == "reader"
        else ("groundedness", CLAIMS, "hypothesis", "premise"))
    rng = random.Random(0)
    found = []
    for name in names:
        rows = [row for row in read_jsonl(data / folder / f"{name}.jsonl.gz")
                if not held_out(row[text])]
        for row in rng.sample(rows, min(ROWS, len(rows))):
            asked = tokenizer(row[query]).cut(0, WINDOW // 3)
            known = "" if network == "statement" else row[text]
            found.append(pair(asked, tokenizer(known).cut(0, WINDOW - len(asked.ids) - 3)))
    return sorted(found, key=lambda row: len(row.ids))


class Extremes:
    """Records the smallest and the largest input of each channel of a linear layer."""

    def __init__(self) -> None:
        self.low: Tensor | None = None
        self.high: Tensor | None = None

    def meet(self, values: Tensor) -> None:
        """Updates the extremes with inputs of the layer, of shape (tokens, channels)."""
        low, high = values.amin(0), values.amax(0)
        self.low = low if self.low is None else torch.minimum(self.low, low)
        self.high = high if self.high is None else torch.maximum(self.high, high)

    def fixed(self, weight: Tensor, apart: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Computes how the layer's inputs are converted to 8 bits.

        Args:
            weight: the weights of the layer.
            apart: number of channels that are computed in float32 instead, because they would cause
                the largest errors.

        Returns:
            The factor of each channel (0 for those in float32), the integer that stands for the
                input 0, and the indices of the channels in float32.

        Raises:
            ValueError: no inputs were recorded.
        """
        if self.low is None or self.high is None:
            raise ValueError("a layer was never run")
        size = torch.maximum(self.low.abs(), self.high.abs()).clamp(min=1e-3)
        largest = weight.abs().amax(0).clamp(min=1e-4)
        channels = (size * largest).topk(apart).indices.sort().values
        kept = torch.ones_like(size)
        kept[channels] = 0
        spread = size**SHARE / largest ** (1 - SHARE)
        low = (kept * self.low / spread).min().clamp(max=0)
        high = (kept * self.high / spread).max().clamp(min=1e-3)
        step = (high - low) / 255
        multiplier = (kept / (spread * step)).contiguous()
        return multiplier, (-low / step).round().to(torch.uint8), channels


def products(network: Network) -> Iterator[tuple[str, nn.Linear]]:
    """Yields (name of its weights in the file, layer) of each linear layer that is computed in 8
    bits."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in LAYER:
            yield name.removeprefix("encoder."), module


def ranges(network: Network, rows: Sequence[QueryWindow]) -> dict[str, Tensor]:
    """Measures the ranges of a network's matrix products, as tensors by name.

    For a layer NAME, ``NAME.multiplier`` (in,) float32 is the factor of each channel, and
    ``NAME.zero`` () uint8 the integer that stands for 0. If some channels are computed in float32,
    ``NAME.apart`` int64 contains their indices.

    Args:
        network: a reader or an entailment network. Afterwards it is in evaluation mode.
        rows: typical inputs, at least one.
    """
    found = {name: Extremes() for name, _ in products(network)}
    real = torch.empty(0)

    def meet(name: str, _module: nn.Module, given: tuple[Tensor, ...]) -> None:
        found[name].meet(given[0].flatten(0, 1)[real])

    hooks = [module.register_forward_pre_hook(partial(meet, name))
             for name, module in products(network)]
    network.eval()
    with torch.inference_mode():
        for at in range(0, len(rows), BATCH):
            batch = collate(rows[at : at + BATCH])
            ids, types, lengths = map(torch.from_numpy, (batch.ids, batch.types, batch.lengths))
            real = (torch.arange(ids.shape[1]) < lengths[:, None]).flatten()
            network.encoder(ids, types, lengths)
    for hook in hooks:
        hook.remove()
    tensors: dict[str, Tensor] = {}
    for name, module in products(network):
        apart = apart_of(name)
        multiplier, zero, channels = found[name].fixed(module.weight.detach(), apart)
        tensors |= {f"{name}.multiplier": multiplier.float(), f"{name}.zero": zero}
        if apart:
            tensors[f"{name}.apart"] = channels
    return tensors
