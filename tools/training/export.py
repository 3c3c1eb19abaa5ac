"""Writes trained networks as the files of the package: weights, ONNX graphs and tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.models.bundled.network import NARROW, SHAPES
from q2_metric.models.bundled.stored import FILES, WEIGHTS
from tools.training import hashes
from tools.training.graph import graph_of

WORDS = "encoder.words.weight"


def averaged(network: nn.Module, state: Path) -> nn.Module:
    """Loads the averaged weights of a saved training state into ``network``. Returns the network.

    Raises:
        ValueError: the file contains no averaged weights.
    """
    found = load_file(state)
    names = {n.removeprefix("average/"): v for n, v in found.items() if n.startswith("average/")}
    if not names:
        raise ValueError(f"{state} holds no averaged weights")
    network.load_state_dict(names, strict=False)
    return network


def stored(name: str, value: Tensor) -> dict[str, Tensor]:
    """Converts a tensor to the form in which it is stored, as tensors by name.

    A matrix becomes 8-bit integers and a scale for each row. Any other tensor becomes float16.

    Raises:
        ValueError: a value is not finite.
    """
    if not torch.isfinite(value).all():
        raise ValueError(f"{name} holds values that are not finite")
    if value.ndim != 2:
        return {name: value.half().contiguous()}
    scale = value.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return {name: (value / scale).round().to(torch.int8), f"{name}.scale": scale.contiguous()}


def export(networks: Mapping[str, nn.Module], tokenizer: Path, folder: Path) -> None:
    """Writes networks, their ONNX graphs and the tokenizer to a folder.

    Networks that are not given keep their shipped weights. The word vectors that two networks share
    are replaced only if both networks are given. torch and ONNX Runtime compute with the same
    values, which are restored from the stored ones.

    Args:
        networks: the networks, by name.
        tokenizer: file of the tokenizer.
        folder: the folder.

    Raises:
        ValueError: networks that share word vectors have different ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted({FILES[name] for name in networks}):
        here = [name for name, where in FILES.items() if where == file]
        inside = {name: networks[name] for name in here if name in networks}
        left = [name for name in here if name not in networks]
        tensors = _shipped(file, (*left, "words")) if left else _words(inside)
        for name, network in inside.items():
            tensors |= _named(network, name)
        save_file(tensors, folder / file, metadata={"format": "pt"})
        (folder / file).chmod(0o644)  # all users of an installation can read the file
    for name in networks:
        (folder / f"{name}.onnx").write_bytes(graph_of(name))
        (folder / f"{name}.int8.onnx").write_bytes(graph_of(name, eight_bits=True))
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    hashes.write(folder)


def _shipped(file: str, owners: tuple[str, ...]) -> dict[str, Tensor]:
    """The shipped weights in a file that belong to these networks (or to the shared "words")."""
    return {name: value for name, value in load_file(WEIGHTS / file).items()
            if name.startswith(tuple(f"{owner}." for owner in owners))}


def _words(networks: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The word vectors that these networks share, in the form in which they are stored."""
    shared = [network.get_parameter(WORDS).detach()
              for name, network in networks.items() if _shares(name)]
    if not all(torch.equal(words, shared[0]) for words in shared):
        raise ValueError("the networks must share their word vectors")
    return stored("words.weight", shared[0]) if shared else {}


def _shares(name: str) -> bool:
    return SHAPES[name] == NARROW


def _named(network: nn.Module, prefix: str) -> dict[str, Tensor]:
    """The weights of a network in the form in which they are stored, without shared word vectors.

    ``prefix`` is the name of the network.
    """
    tensors: dict[str, Tensor] = {}
    for name, value in network.state_dict().items():
        if not (_shares(prefix) and name == WORDS):
            tensors |= stored(f"{prefix}.{name.removeprefix('encoder.')}", value.detach())
    return tensors
