"""Reads the bundled weights from safetensors files, in the form that the ONNX graphs need.

A linear map NAME of a layer computes ``(x * multiplier) @ (weight * scale) + x[apart] @
apart.weight + bias`` (:mod:`tools.training.eight_bits`). Its matrix ``NAME.weight`` (in, out) has 8
bits, and ``NAME.weight.scale`` (out,) a number for each output. In an 8-bit graph, ``x *
multiplier`` is rounded, and ``NAME.zero`` stands for 0. A matrix after the last layer has a scale,
but no multiplier. A table, such as the word vectors, has a scale for each row.

Raises ModelError if a file is missing or damaged.
"""

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
VERSIONS = {"reader": "2", "entailment": "6", "wide": "5", "statement": "1"}
"""Part of signatures. "wide" judges entailment like "entailment", with twice the width. "statement"
reads a claim alone, and tells it from chat and refusals."""
SHARED = "bundled.safetensors"
FILES = {"reader": SHARED, "entailment": SHARED, "wide": "wide.safetensors", "statement": SHARED}
""":data:`SHARED` also contains the word vectors that its networks share."""
TABLES = ("words.weight", "positions.weight", "types.weight", "join.weight",
          "distances.weight")
"""Ends of the names of tables, whose rows are looked up instead of multiplied."""
HASHES = "sha256.json"
"""The sha256 of each file in the folder. ``tools.training.hashes`` writes it."""


def shipped(file: str) -> Path:
    """The path of a file in the folder :data:`WEIGHTS`."""
    path = WEIGHTS / file
    if not path.exists():
        raise ModelError(f"the bundled weights are missing ({path}): reinstall q2-metric")
    return path


def intact(file: str) -> Path:
    """The path of a file in :data:`WEIGHTS`, after a check that it is the released file: once in a
    process (0.04 s for 70 MB on a processor with SHA extensions)."""
    path = shipped(file)
    _check(path)
    return path


def below(network: str) -> str | None:
    """If the lower layers of a network read query and text apart: the name of their graph, with
    which the names of their weights begin."""
    name = f"{network}.below"
    return name if f"{name}.onnx" in files() else None


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


def tensors(network: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields the name and value of each tensor of a graph, one at a time to save memory. The word
    vectors are called "words.weight" in every graph that has them."""
    from safetensors import safe_open

    file, lower = intact(file_of(network)), below(network)
    if not lower:
        yield from words(file).items()
    with safe_open(file, framework="numpy") as opened:
        for name in opened.keys():  # noqa: SIM118 (not a dictionary)
            if name.startswith(f"{network}.") and not (lower and name.startswith(f"{lower}.")):
                yield name, opened.get_tensor(name)


def file_of(graph: str) -> str:
    """The file with the weights of a graph."""
    return FILES[graph.partition(".")[0]]


@lru_cache(maxsize=len(FILES))
def words(file: Path) -> dict[str, NDArray[Any]]:
    """The word vectors in a file, which its networks share, and their scales."""
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as opened:
        return {name: opened.get_tensor(name) for name in ("words.weight", "words.weight.scale")}


def of_network(network: str) -> dict[str, NDArray[Any]]:
    """All tensors of a network, also those of its lower layers, whose names are like the others."""
    lower = below(network)
    return dict(tensors(network)) | ({
        name.replace(lower, network): value for name, value in tensors(lower)} if lower else {})


def in_floats(network: str) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yields the name and value of each weight as torch has it, with matrices (out, in)."""
    found = of_network(network)
    for name, value in found.items():
        product, _, kind = name.rpartition(".")
        scale = found.get(f"{name}.scale")
        if kind not in ("weight", "bias") or product.endswith(".apart"):
            continue
        if scale is None:
            yield name, value
        elif name.endswith(TABLES):
            yield name, value * scale[:, None]
        else:
            matrix = (value * scale).T
            if (multiplier := found.get(f"{product}.multiplier")) is not None:
                matrix *= multiplier
            if (apart := found.get(f"{product}.apart")) is not None:
                matrix[:, apart] = found[f"{product}.apart.weight"].T
            yield name, matrix
