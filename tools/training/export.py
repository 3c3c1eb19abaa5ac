"""Writes trained networks as the files that the package ships."""

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
    """Gives ``network`` the averaged weights of a saved training state."""
    found = load_file(state)
    names = {n.removeprefix("average/"): v for n, v in found.items() if n.startswith("average/")}
    if not names:
        raise ValueError(f"{state} holds no averaged weights")
    network.load_state_dict(names, strict=False)
    return network


def stored(name: str, value: Tensor) -> dict[str, Tensor]:
    """A tensor in the form in which it is stored: a matrix in 8 bits with a scale for each row, any
    other tensor in float16.

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
    """Writes networks, their graphs and the tokenizer to ``folder``.

    ``networks`` maps names to networks. For a network that is not given, the shipped weights are
    kept. The word vectors that two networks share are replaced only if both networks are given.
    Matrices are stored in 8 bits with a float32 scale for each row, vectors in float16. Both
    runtimes compute with the same restored values.

    Raises:
        ValueError: the shared word vectors of the networks differ, although they are frozen.
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
    """The shipped weights of these networks in a file."""
    return {name: value for name, value in load_file(WEIGHTS / file).items()
            if name.startswith(tuple(f"{owner}." for owner in owners))}


def _words(networks: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The word vectors that the networks of a file share, in stored form."""
    shared = [network.get_parameter(WORDS).detach()
              for name, network in networks.items() if _shares(name)]
    if not all(torch.equal(words, shared[0]) for words in shared):
        raise ValueError("the networks must share their word vectors")
    return stored("words.weight", shared[0]) if shared else {}


def _shares(name: str) -> bool:
    return SHAPES[name] == NARROW


def _named(network: nn.Module, prefix: str) -> dict[str, Tensor]:
    """The weights of a network in stored form, without the word vectors that it shares."""
    tensors: dict[str, Tensor] = {}
    for name, value in network.state_dict().items():
        if not (_shares(prefix) and name == WORDS):
            tensors |= stored(f"{prefix}.{name.removeprefix('encoder.')}", value.detach())
    return tensors
