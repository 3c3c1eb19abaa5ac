"""The bundled networks in PyTorch, for training and for GPUs.

It is a six-layer BERT (MiniLM-L6-H384, or the lower half of MPNet) that reads, in place of segment
ids, which words occur in both texts. A test checks that ONNX Runtime, with the same weights
(``tools/training/graph.py``), agrees to 1e-3.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from q2_metric.errors import ModelError, is_out_of_memory
from q2_metric.models.bundled.encoding import SEP, TEXT_START, Batch, Forward
from q2_metric.models.bundled.stored import VERSIONS, below, in_floats
from q2_metric.models.hub.loading import limit_threads
from q2_metric.text.alignment import N_TYPES, QUERY, TEXT

VOCABULARY, POSITIONS = 30522, 512
FARTHEST = 128
"""MPNet's attention treats all distances between tokens from here on as equal."""


@dataclass(frozen=True, slots=True)
class Shape:
    """``eps`` is the epsilon of layer normalisation, and ``distances`` the number of classes of
    token distances in the attention (MPNet: Song et al. 2020, as in T5), 0 for none. The lowest
    ``apart`` layers read query and text apart (PreTTR: MacAvaney et al. 2020, section 3), so that
    a text is read once, whatever is asked about it."""

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    eps: float
    distances: int = 0
    apart: int = 0


NARROW = Shape(layers=6, hidden=384, heads=12, feed_forward=1536, eps=1e-12)
"""MiniLM-L6-H384."""
WIDE = Shape(layers=6, hidden=768, heads=12, feed_forward=3072, eps=1e-5, distances=32)
NINE, DEEP = replace(WIDE, layers=9), replace(WIDE, layers=12)
"""The first six and nine layers of MPNet, and all of them, which are too large to ship."""
SHAPES = {"reader": NARROW, "entailment": NARROW, "wide": WIDE,
          "statement": replace(NARROW, layers=2)}
APART = 2
"""The layers of a shipped network that read query and text apart, if it has such layers."""


class Layer(nn.Module):
    """A transformer layer with normalisation after each block ("post-norm")."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.norm1 = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.up = nn.Linear(shape.hidden, shape.feed_forward)
        self.down = nn.Linear(shape.feed_forward, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=shape.eps)

    def forward(self, x: Tensor, bias: Tensor, wanted: int) -> Tensor:
        """Maps (batch, length, hidden) to the first states: (batch, ``wanted``, hidden). ``bias``
        is added to the attention's logits; it masks the padding."""
        batch, length, hidden = x.shape
        q, k, v = (part.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(hidden, dim=-1))
        q, x = q[:, :, :wanted], x[:, :wanted]
        bias = bias[:, :, :wanted]
        # The attention is written out, because the backward pass of the fused kernel is several
        # times slower on a CPU.
        weights = (q @ k.transpose(-1, -2)) * (hidden // self.heads) ** -0.5 + bias
        context = weights.softmax(-1).to(v.dtype) @ v
        context = context.transpose(1, 2).reshape(batch, wanted, hidden)
        x = self.norm1(x + self.dropout(self.out(context)))
        return self.norm2(  # type: ignore[no-any-return]
            x + self.dropout(self.down(F.gelu(self.up(x)))))


class Encoder(nn.Module):
    """Maps token ids and token types (batch, length) to states (batch, length, hidden). With
    ``wanted``, only the states of the first positions are computed in the last layer."""

    def __init__(self, dropout: float = 0.0, shape: Shape = NARROW) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.words = nn.Embedding(VOCABULARY, shape.hidden)
        self.positions = nn.Embedding(POSITIONS, shape.hidden)
        self.types = nn.Embedding(N_TYPES, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.distances = nn.Embedding(shape.distances, shape.heads) if shape.distances else None
        self.shape = shape
        self.join = nn.Embedding(N_TYPES, shape.hidden) if shape.apart else None

    def forward(
        self, ids: Tensor, types: Tensor, lengths: Tensor, wanted: int | None = None
    ) -> Tensor:
        length = ids.shape[1]
        order = places = torch.arange(length, device=ids.device)
        bias = torch.zeros(ids.shape, device=ids.device, dtype=self.norm.weight.dtype)
        bias = bias.masked_fill(order >= lengths[:, None], -1e4)[:, None, None, :]
        if self.distances is not None:
            classes = distance_classes(order, self.distances.num_embeddings)
            bias = bias + self.distances(classes).permute(2, 0, 1)
        plain, apart = types, bias
        if self.join is not None:
            start = (ids == SEP).int().argmax(1, keepdim=True) + 1
            is_text = order >= start
            places = torch.where(is_text, order - start + TEXT_START, order)
            plain = torch.where(types < QUERY, TEXT, QUERY)
            apart = bias.masked_fill((is_text[:, :, None] != is_text[:, None])[:, None], -1e4)
        embedded = self.words(ids) + self.positions(places) + self.types(plain)
        x: Tensor = self.dropout(self.norm(embedded))
        for at, layer in enumerate(self.layers):
            if self.join is not None and at == self.shape.apart:
                x = x + self.join(types) - self.join(plain)
            is_last = at == len(self.layers) - 1
            x = layer(x, apart if at < self.shape.apart else bias,
                      wanted if is_last and wanted is not None else length)
        return x


def distance_classes(places: Tensor, classes: int) -> Tensor:
    """The class of each two positions' distance: (length, length), in [0, ``classes``).

    Half of the classes are for tokens before a position. In each half, small distances have a class
    each, and larger ones share logarithmic classes up to :data:`FARTHEST`.
    """
    distance = places[None, :] - places[:, None]
    half, near, away = classes // 2, classes // 4, distance.abs()
    # At least 1, so that the logarithm is defined. Smaller distances do not use the logarithm.
    far = (away.clamp(min=near).float() / near).log() / math.log(FARTHEST / near)
    shared = (near + (far * (half - near)).long()).clamp(max=half - 1)
    return half * (distance > 0).long() + torch.where(away < near, away, shared)


class EntailmentNetwork(nn.Module):
    """Its head reads the first token's state, and mean and maximum of the hypothesis's states."""

    def __init__(self, dropout: float = 0.0, shape: Shape = NARROW) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(dropout, shape)
        self.dense = nn.Linear(3 * shape.hidden, shape.hidden)
        self.classify = nn.Linear(shape.hidden, 3)

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """The logits of entailment, neutral and contradiction: (batch, 3). ``query`` (batch,
        length) is 1.0 on the tokens of the hypothesis and 0.0 elsewhere."""
        places = torch.arange(1, query.shape[1] + 1, device=query.device)
        wanted = max(1, int((query * places).amax()))  # the first token and the hypothesis
        x = self.encoder(ids, types, lengths, wanted)
        mask = query[:, :wanted, None].to(x.dtype)
        mean = (x * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        peak = (x - 1e4 * (1 - mask)).amax(1)
        pooled = self.dropout(torch.cat([x[:, 0], mean, peak.clamp(min=-1e3)], dim=-1))
        return self.classify(torch.tanh(self.dense(pooled)))  # type: ignore[no-any-return]


class ReaderNetwork(nn.Module):
    """Computes the start and end logits of each token: (batch, length, 2)."""

    def __init__(self, dropout: float = 0.0, shape: Shape = NARROW) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(dropout, shape)
        self.span = nn.Linear(shape.hidden, 2)

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor) -> Tensor:
        states = self.encoder(ids, types, lengths)
        return self.span(self.dropout(states))  # type: ignore[no-any-return]


def made(network: str) -> ReaderNetwork | EntailmentNetwork:
    """The bundled network with this name, with random weights."""
    kind = ReaderNetwork if network == "reader" else EntailmentNetwork
    return kind(shape=shape_of(network))


def shape_of(network: str) -> Shape:
    """The shape of a shipped network."""
    return replace(SHAPES[network], apart=APART if below(network) else 0)


def load(module: nn.Module, prefix: str) -> None:
    """Copies the bundled weights into a network."""
    state = {}
    for name, value in in_floats(prefix):
        short = name.removeprefix(f"{prefix}.")
        key = short if short.startswith(("span", "dense", "classify")) else f"encoder.{short}"
        state[key] = torch.from_numpy(value)
    module.load_state_dict(state)


@lru_cache(maxsize=len(VERSIONS) * 2)
def forward_of(prefix: str, device: str, dtype: str) -> Forward:
    """A function that computes a network's logits for a batch, on any of torch's devices.
    ModelError: the weights are missing, or memory ran out."""
    try:
        module = made(prefix)
        load(module, prefix)
        module.to(device=device, dtype=getattr(torch, dtype)).eval()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"the bundled {prefix} network does not fit into the memory of {device}: use --dtype "
            "bfloat16, --device cpu, or the preset bundled-small") from error

    def forward(batch: Batch) -> NDArray[np.float32]:
        limit_threads()
        inputs = [batch.ids, batch.types, batch.lengths]
        if prefix != "reader":
            inputs.append(batch.query)
        with torch.inference_mode():
            logits = module(*(torch.from_numpy(array).to(device) for array in inputs))
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result

    return forward
