"""From trained networks to the files that the package ships."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.models.bundled.network import NARROW, SHAPES, EntailmentNetwork, ReaderNetwork
from q2_metric.models.bundled.runtimes import WEIGHTS
from training.graph import entailment_graph, reader_graph


def averaged(network: nn.Module, state: Path) -> nn.Module:
    """``network`` with the averaged weights of a training state."""
    found = load_file(state)
    names = {n.removeprefix("average/"): v for n, v in found.items() if n.startswith("average/")}
    if not names:
        raise ValueError(f"{state} holds no averaged weights")
    network.load_state_dict(names, strict=False)
    return network


def stored(name: str, value: Tensor) -> dict[str, Tensor]:
    """A tensor as it is written: rows of a matrix to 8 bits, anything else in float16.

    Raises:
        ValueError: a value is not finite.
    """
    if not torch.isfinite(value).all():
        raise ValueError(f"{name} holds values that are not finite")
    if value.ndim != 2:
        return {name: value.half().contiguous()}
    scale = value.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return {name: (value / scale).round().to(torch.int8), f"{name}.scale": scale.contiguous()}


def export(reader: ReaderNetwork, entailment: EntailmentNetwork, tokenizer: Path,
           folder: Path) -> None:
    """Writes weights (the word vectors once), graphs and tokenizer to ``folder``.

    Matrices are stored in 8 bits with a float32 scale for each row, vectors in float16; both
    runtimes compute in floating point from the same restored values.

    Raises:
        ValueError: the networks' word vectors differ: they are shared, and frozen.
    """
    words = reader.encoder.words.weight
    if not torch.equal(words, entailment.encoder.words.weight):
        raise ValueError("the two networks must share their word vectors")
    tensors = {**stored("words.weight", words.detach()), **_named(reader, "reader"),
               **_named(entailment, "entailment")}
    _write(tensors, tokenizer, folder)


def export_one(network: nn.Module, prefix: str, tokenizer: Path, folder: Path) -> None:
    """The same with one network's weights new, and what the package ships of the other.

    Args:
        prefix: "reader" or "entailment", whose weights ``network`` has.
    """
    shipped = load_file(WEIGHTS / "bundled.safetensors")
    others = {name: value for name, value in shipped.items() if not name.startswith(f"{prefix}.")}
    _write({**others, **_named(network, prefix)}, tokenizer, folder)


def _named(network: nn.Module, prefix: str) -> dict[str, Tensor]:
    """A network's weights as they are written, but for word vectors that it shares."""
    tensors: dict[str, Tensor] = {}
    shares = SHAPES[prefix] == NARROW
    for name, value in network.state_dict().items():
        if not (shares and name == "encoder.words.weight"):
            tensors |= stored(f"{prefix}.{name.removeprefix('encoder.')}", value.detach())
    return tensors


def _write(tensors: dict[str, Tensor], tokenizer: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / "bundled.safetensors"
    save_file(tensors, weights, metadata={"format": "pt"})
    weights.chmod(0o644)  # readable for all users of an installation
    for name, graph in (("reader", reader_graph), ("entailment", entailment_graph)):
        (folder / f"{name}.onnx").write_bytes(graph())
        (folder / f"{name}.int8.onnx").write_bytes(graph(eight_bits=True))
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
