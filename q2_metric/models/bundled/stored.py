"""Reads the bundled weights from safetensors files, in which matrices have 8 bits per value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import ModelError

WEIGHTS = Path(__file__).parent / "weights"
VERSIONS = {"reader": "2", "entailment": "4", "wide": "3"}
"""The version of each bundled network's weights. Signatures contain it, and it grows with each
retraining. "reader" answers questions. "entailment" and "wide" judge entailment; "wide" has twice
the width."""
SHARED = "bundled.safetensors"
FILES = {"reader": SHARED, "entailment": SHARED, "wide": "wide.safetensors"}
"""The file of each network's weights. :data:`SHARED` also contains the word vectors that the reader
and the entailment network share."""
HASHES = "sha256.json"
"""Name of the file with the sha256 of each file in the same folder. ``tools.training.hashes``
writes it."""


def shipped(file: str) -> Path:
    """The path of a file in the folder :data:`WEIGHTS`.

    Raises:
        ModelError: the file is missing.
    """
    path = WEIGHTS / file
    if not path.exists():
        raise ModelError(f"the bundled weights are missing ({path}): reinstall q2-metric")
    return path


def intact(file: str) -> Path:
    """The path of a file in :data:`WEIGHTS`, after a check that it is the released file.

    Each file is hashed once in a process, before its first use (0.04 s for 70 MB on a processor
    with SHA extensions).

    Raises:
        ModelError: the file is missing or was changed. (Signatures name the released weights, so
            scores with other weights would have a wrong signature.)
    """
    path = shipped(file)
    _check(path)
    return path


def files() -> list[str]:
    """The names of the bundled files whose sha256 is recorded in :data:`HASHES`, sorted.

    Raises:
        ModelError: :data:`HASHES` is missing or damaged.
    """
    return sorted(_hashes(shipped(HASHES)))


@cache
def _check(path: Path) -> None:
    kept = _hashes(shipped(HASHES)).get(path.name)
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != kept:
            raise ModelError(f"{path} is not the released file (its sha256 is not the one in "
                             f"{HASHES}): reinstall q2-metric")


def _hashes(path: Path) -> dict[str, str]:
    try:
        hashes: dict[str, str] = json.loads(path.read_bytes())["sha256"]
        return dict(hashes)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is damaged: reinstall q2-metric") from error


def each_weight(owner: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields the name and the value of each weight, one at a time and converted from 8 bits.

    ``owner`` is the name of a neural network, or "words" for the word vectors that the networks
    share.

    Raises:
        ModelError: the weights are missing.
    """
    for name, value, scale in each_stored(owner):
        yield name, whole(value, scale)


def whole(value: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[Any]:
    """A weight in floating point. 8-bit values are multiplied by their scale.

    ``scale`` is ``None`` for a weight that is not stored in 8 bits.
    """
    return value if scale is None else value * scale


def each_stored(owner: str) -> Iterator[tuple[str, NDArray[Any], NDArray[np.float32] | None]]:
    """Yields the name, the stored value and the scale of each weight.

    A weight that is stored in 8 bits has a scale for each row. Other weights have ``None``.
    ``owner`` is the name of a neural network, or "words" for the word vectors that the networks
    share.
    """
    from safetensors import safe_open

    with safe_open(intact(FILES.get(owner, SHARED)), framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a dictionary)
            if name.startswith(f"{owner}.") and not name.endswith(".scale"):
                value = file.get_tensor(name)
                in_bits = value.dtype == np.int8
                yield name, value, file.get_tensor(f"{name}.scale") if in_bits else None


@lru_cache(maxsize=1)
def words() -> NDArray[np.float16]:
    """The word vectors that two neural networks share, in 16 bits to halve the memory.

    A network converts a vector to 32 bits after it has looked it up.
    """
    [(_, value, scale)] = each_stored("words")
    return halved(value, scale)


def halved(value: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float16]:
    """Converts a weight to 16 bits, without a 32-bit copy in between.

    ``scale`` is the scale of an 8-bit weight, or ``None`` for another weight.
    """
    half = np.empty(value.shape, np.float16)
    np.multiply(value, np.float32(1) if scale is None else scale, out=half, casting="unsafe")
    return half
