"""From trained networks to the files that the package ships."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from q2_metric.models.network import EntailmentNetwork, ReaderNetwork
from q2_metric.training.graph import entailment_graph, reader_graph


def averaged(network: nn.Module, state: Path) -> nn.Module:
    """``network`` with the averaged weights of a training state."""
    found = load_file(state)
    names = {n.removeprefix("average/"): v for n, v in found.items() if n.startswith("average/")}
    if not names:
        raise ValueError(f"{state} holds no averaged weights")
    network.load_state_dict(names, strict=False)
    return network


def export(reader: ReaderNetwork, entailment: EntailmentNetwork, tokenizer: Path,
           folder: Path) -> None:
    """Writes weights (float16, the word vectors once), graphs and tokeniser to ``folder``.

    Raises:
        ValueError: the networks' word vectors differ: they are shared, and frozen.
    """
    words = reader.encoder.words.weight
    if not torch.equal(words, entailment.encoder.words.weight):
        raise ValueError("the two networks must share their word vectors")
    tensors: dict[str, Tensor] = {"words.weight": words.detach().half()}
    for prefix, network in (("reader", reader), ("entailment", entailment)):
        for name, value in network.state_dict().items():
            if name != "encoder.words.weight":
                short = name.removeprefix("encoder.")
                tensors[f"{prefix}.{short}"] = value.detach().half().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / "bundled.safetensors"
    save_file(tensors, weights, metadata={"format": "pt"})
    weights.chmod(0o644)  # readable for all users of an installation
    (folder / "reader.onnx").write_bytes(reader_graph())
    (folder / "entailment.onnx").write_bytes(entailment_graph())
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
