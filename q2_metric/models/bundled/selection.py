"""The bundled sentence vectors and weights for knowledge selection, without torch."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from q2_metric.models.bundled.models import tokenizer
from q2_metric.models.bundled.stored import SHARED, intact, words

Floats = NDArray[np.float32]

VERSION = "1"
"""Version of ``selection.safetensors``, part of the ranker's name."""

CUT = 96
"""Word pieces after which a text is cut. Questions are far shorter."""


class TextVectors:
    """Unit vectors of texts: a weighted mean of the word-piece vectors ``pieces`` (vocabulary,
    width), with the ``projection`` (width, size). A word piece with the vector ``v`` has the weight
    sigmoid(v @ weigh)."""

    def __init__(self, pieces: Floats, projection: Floats, weigh: Floats) -> None:
        weights = 1 / (1 + np.exp(-(pieces @ weigh)))
        self._pieces = weights[:, None].astype(np.float32) * (pieces @ projection)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """(texts, size). A text without words has a vector of zeros."""
        sums = np.zeros((len(texts), self._pieces.shape[1]), np.float32)
        for i, text in enumerate(texts):
            if ids := tokenizer()(text).ids[:CUT]:
                sums[i] = self._pieces[ids].sum(0)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        unit: Floats = (sums / np.where(norms > 0, norms, 1)).astype(np.float32)
        return unit


def piece_vectors() -> Floats:
    """Unit vectors: (30522, 384)."""
    vectors = words(intact(SHARED))["words.weight"].astype(np.float32)
    # Scaling to unit length cancels the scale of a row's 8-bit values.
    units: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-6)
    return units


@lru_cache(maxsize=1)
def learned() -> dict[str, Floats]:
    """The arrays of ``selection.safetensors``: ``projection`` and ``weigh`` are for
    :class:`TextVectors`, ``text``, ``mention`` and ``domain`` weigh a ranker's features, and
    ``detection`` a detector's."""
    arrays = load_file(intact("selection.safetensors"))
    return {name: value.astype(np.float32) for name, value in arrays.items()}


@lru_cache(maxsize=1)
def text_vectors() -> TextVectors:
    return TextVectors(piece_vectors(), learned()["projection"], learned()["weigh"])
