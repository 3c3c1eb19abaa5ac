"""Reads the bundled weights from safetensors files, in which matrices have 8 bits per value.

Raises ModelError if a file is missing or damaged.
"""

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
VERSIONS = {"reader": "2", "entailment": "5", "wide": "5"}
"""Part of signatures. "wide" judges entailment like "entailment", with twice the width."""
SHARED = "bundled.safetensors"
FILES = {"reader": SHARED, "entailment": SHARED, "wide": "wide.safetensors"}
""":data:`SHARED` also contains the word vectors that reader and entailment network share."""
HASHES = "sha256.json"
"""The sha256 of each file in the folder. ``tools.training.hashes`` writes it."""


def shipped(file: str) -> Path:
    """The path of a file in the folder :data:`WEIGHTS`."""
    path = WEIGHTS / file
    if not path.exists():
        raise ModelError(f"the bundled weights are missing ({path}): reinstall q2-metric")
    return path


def intact(file: str) -> Path:
    """The path of a file in :data:`WEIGHTS`, after a check that it is the released file.

    Each file is hashed once in a process (0.04 s for 70 MB on a processor with SHA extensions).
    """
    path = shipped(file)
    _check(path)
    return path


def files() -> list[str]:
    """The names of the files in :data:`HASHES`, sorted."""
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


def whole(value: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[Any]:
    return value if scale is None else value * scale


def each_stored(owner: str) -> Iterator[tuple[str, NDArray[Any], NDArray[np.float32] | None]]:
    """Yields name, stored value, and the scale (rows, 1) of an 8-bit weight or ``None``, one weight
    at a time to save memory. ``owner`` is a network, or "words" for the word vectors that networks
    share."""
    from safetensors import safe_open

    with safe_open(intact(FILES.get(owner, SHARED)), framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a dictionary)
            if name.startswith(f"{owner}.") and not name.endswith(".scale"):
                value = file.get_tensor(name)
                in_bits = value.dtype == np.int8
                yield name, value, file.get_tensor(f"{name}.scale") if in_bits else None


@lru_cache(maxsize=1)
def words() -> tuple[tuple[str, NDArray[Any]], ...]:
    """The shared word vectors and their scales, each with its name."""
    [(name, value, scale)] = each_stored("words")
    return (name, value), (f"{name}.scale", scale)
