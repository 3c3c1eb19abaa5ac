"""The bundled encoder in PyTorch: used by the training recipe and by the GPU runtime.

A six-layer BERT (MiniLM-L6-H384) whose token types carry lexical alignment
(:mod:`q2_metric.text.alignment`), with one of two heads. The same weights run on ONNX
Runtime (:mod:`training.graph`); a test holds the two to 1e-3 of each other.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from q2_metric.text.alignment import N_TYPES

LAYERS, HIDDEN, HEADS, FEED_FORWARD = 6, 384, 12, 1536
VOCABULARY, POSITIONS = 30522, 512
LAYER_NORM_EPS = 1e-12


class Layer(nn.Module):
    """A post-norm transformer layer."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.norm1 = nn.LayerNorm(HIDDEN, eps=LAYER_NORM_EPS)
        self.up = nn.Linear(HIDDEN, FEED_FORWARD)
        self.down = nn.Linear(FEED_FORWARD, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN, eps=LAYER_NORM_EPS)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, HIDDEN // HEADS).transpose(1, 2)
            for part in self.qkv(x).split(HIDDEN, dim=-1)
        )
        # Written out: on CPU the fused kernel's backward pass is several times slower.
        weights = (q @ k.transpose(-1, -2)) * (HIDDEN // HEADS) ** -0.5 + bias
        context = weights.softmax(-1).to(v.dtype) @ v
        context = context.transpose(1, 2).reshape(batch, length, HIDDEN)
        x = self.norm1(x + self._drop(self.out(context)))
        return self.norm2(x + self._drop(self.down(F.gelu(self.up(x)))))  # type: ignore[no-any-return]

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)


class Encoder(nn.Module):
    """Embeddings and layers: (batch, length) ids and types -> (batch, length, 384)."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.words = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(POSITIONS, HIDDEN)
        self.types = nn.Embedding(N_TYPES, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=LAYER_NORM_EPS)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(places) + self.types(types))
        x = F.dropout(x, self.dropout, self.training)
        bias = torch.zeros(ids.shape, device=ids.device, dtype=x.dtype)
        bias = bias.masked_fill(places >= lengths[:, None], -1e4)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        return x  # type: ignore[no-any-return]


class EntailmentNetwork(nn.Module):
    """Three logits: entailment, neutral, contradiction.

    The head reads the first token, and the mean and maximum over the hypothesis.
    ``dropout`` is of training.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = Encoder(dropout)
        self.dense = nn.Linear(3 * HIDDEN, HIDDEN)
        self.classify = nn.Linear(HIDDEN, 3)

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """``query`` is 1.0 on the tokens of the hypothesis, else 0.0: (batch, length)."""
        x = self.encoder(ids, types, lengths)
        mask = query[:, :, None].to(x.dtype)
        mean = (x * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        peak = (x - 1e4 * (1 - mask)).amax(1)
        pooled = torch.cat([x[:, 0], mean, peak.clamp(min=-1e3)], dim=-1)
        pooled = F.dropout(pooled, self.dropout, self.training)
        return self.classify(torch.tanh(self.dense(pooled)))  # type: ignore[no-any-return]


class ReaderNetwork(nn.Module):
    """Start and end logits for each token: (batch, length, 2).

    ``dropout`` is of training.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = Encoder(dropout)
        self.span = nn.Linear(HIDDEN, 2)

    def forward(self, ids: Tensor, types: Tensor, lengths: Tensor) -> Tensor:
        x = F.dropout(self.encoder(ids, types, lengths), self.dropout, self.training)
        return self.span(x)  # type: ignore[no-any-return]
