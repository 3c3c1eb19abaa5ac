"""Writes trained networks as the files of the package: weights, ONNX graphs and tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.models.bundled.stored import FILES, TABLES, WEIGHTS
from q2_metric.text.alignment import N_TYPES, QUERY, TEXT
from tools.training import hashes
from tools.training.eight_bits import in_eight_bits, is_product
from tools.training.graph import below, graph_of
from tools.training.ranges import Network

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


def stored(name: str, value: Tensor, ranges: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Converts a weight to the form in which it is stored (:mod:`q2_metric.models.bundled.stored`),
    as tensors by name. ``ranges`` are those of its network.

    Raises:
        ValueError: a value is not finite.
    """
    if not torch.isfinite(value).all():
        raise ValueError(f"{name} holds values that are not finite")
    if value.ndim != 2:
        return {name: value.float().contiguous()}
    if is_product(name):
        return in_eight_bits(name.removesuffix(".weight"), value, ranges)
    scale = value.abs().amax(1).clamp(min=1e-12) / 127
    whole = (value / scale[:, None]).round().to(torch.int8)
    return {name: whole if name.endswith(TABLES) else whole.T.contiguous(),
            f"{name}.scale": scale.contiguous()}


def export(
    networks: Mapping[str, Network], ranges: Mapping[str, Mapping[str, Tensor]],
    tokenizer: Path, folder: Path,
) -> None:
    """Writes networks, their ONNX graphs and the tokenizer to a folder.

    Networks that are not given keep their shipped weights. The word vectors that two networks share
    are replaced only if both networks are given. torch and ONNX Runtime compute with the same
    values, which are restored from the stored ones.

    Args:
        networks: the networks, by name.
        ranges: what :func:`tools.training.ranges.ranges` measured for each of them.
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
            shape = network.encoder.shape
            own = partial(_named, name, shape.apart)
            measured = {own(key): value for key, value in ranges[name].items()}
            for key, value in network.state_dict().items():
                if key.endswith("join.weight"):  # what a type adds to that of the lower layers
                    value = value - value[[TEXT] * QUERY + [QUERY] * (N_TYPES - QUERY)]
                if key != WORDS:
                    tensors |= stored(own(key), value.detach(), measured)
        save_file(tensors, folder / file, metadata={"format": "pt"})
        (folder / file).chmod(0o644)  # all users of an installation can read the file
    for name, network in networks.items():
        shape = network.encoder.shape
        for suffix, eight_bits in ((".onnx", False), (".int8.onnx", True)):
            (folder / f"{name}{suffix}").write_bytes(graph_of(name, shape, eight_bits))
            lower = folder / f"{name}.below{suffix}"
            if shape.apart:
                lower.write_bytes(below(f"{name}.below", shape, eight_bits))
            else:
                lower.unlink(missing_ok=True)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    hashes.write(folder)


def _named(network: str, apart: int, key: str) -> str:
    """The name of a network's weight in its file. Those of the lowest ``apart`` layers have a name
    of their own (:func:`q2_metric.models.bundled.stored.below`)."""
    part, _, rest = key.removeprefix("encoder.").partition(".")
    is_below = apart and (part in ("positions", "types", "norm") or (
        part == "layers" and int(rest.partition(".")[0]) < apart))
    return f"{network}.below.{part}.{rest}" if is_below else f"{network}.{part}.{rest}"


def _shipped(file: str, owners: tuple[str, ...]) -> dict[str, Tensor]:
    """The shipped weights in a file that belong to these networks (or to the shared "words")."""
    return {name: value for name, value in load_file(WEIGHTS / file).items()
            if name.startswith(tuple(f"{owner}." for owner in owners))}


def _words(networks: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The word vectors of the networks in a file, in the form in which they are stored."""
    first, *others = (network.get_parameter(WORDS).detach() for network in networks.values())
    if not all(torch.equal(words, first) for words in others):
        raise ValueError("the networks must share their word vectors")
    return stored("words.weight", first, {})
