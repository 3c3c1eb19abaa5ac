"""The bundled models in 8 bits: exact products, scores no company changes, when they are used."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_bundled import FILLER, PAIRS, QUESTIONS, cascade, flat

from q2_metric import Q2, InputError, Scale
from q2_metric.models.bundled import models
from q2_metric.models.bundled.encoding import QueryWindow, collate, pair
from q2_metric.models.bundled.models import BundledEntailment, BundledReader
from q2_metric.models.bundled.stored import FILES, of_network

MORE = [(FILLER[: 90 * i + 40], f"Room {i} holds {3 * i} chairs.") for i in range(12)]
"""Rows of many lengths."""


def test_no_sum_of_two_products_leaves_16_bits() -> None:
    """Processors without VNNI would cut it off; the matrix loses at most half a step."""
    pytest.importorskip("torch")
    from tools.training.eight_bits import quantised

    rng = np.random.default_rng(0)
    weight = rng.standard_normal((64, 96)).astype(np.float32)
    weight[0] = 1.0  # all neighbours as large as can be
    weight[1, ::2] = -weight[1, 1::2]
    weight[2] = 0.0
    multiplier = rng.uniform(0.5, 60, 96).astype(np.float32)
    multiplier[:2] = 1.0
    whole, scale = quantised(weight, multiplier)
    first, second = whole[0::2].astype(int), whole[1::2].astype(int)
    for a, b in ((255, 255), (255, 0), (0, 255)):
        assert np.abs(a * first + b * second).max() <= 32767
    restored = whole * scale * multiplier[:, None]
    assert np.all(np.abs(restored - weight.T) <= 0.501 * scale * multiplier[:, None])


def on_threads(threads: int, model: Callable[..., Any], **how: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "processors", lambda: threads)
        return model(**how)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_batches_that_run_at_once_have_the_same_bits(dtype: str) -> None:
    pairs = [*PAIRS, *MORE]
    alone, three = (on_threads(threads, cascade, dtype=dtype) for threads in (1, 3))
    assert three.judge(pairs) == alone.judge(pairs)


def test_the_largest_numbers_are_added_exactly() -> None:
    """By ONNX Runtime on this processor; a sum that is cut off would be far off."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("torch")
    import onnxruntime

    from tools.training.eight_bits import quantised

    weight = np.where(np.random.default_rng(1).random((16, 64)) < 0.9, 1.0, -1.0)
    whole, _ = quantised(weight.astype(np.float32), np.ones(64, np.float32))
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["c"])], "product",
        [helper.make_tensor_value_info("a", kinds.UINT8, ["rows", 64])],
        [helper.make_tensor_value_info("c", kinds.INT32, ["rows", 16])],
        [onnx.numpy_helper.from_array(whole, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (1, 7):
        found = session.run(None, {"a": np.full((rows, 64), 255, np.uint8)})[0]
        assert (found == 255 * whole.astype(int).sum(0)).all()


@pytest.mark.parametrize("model", [cascade, BundledReader])
def test_the_same_bits_alone_and_in_any_batch(model: Callable[..., Any]) -> None:
    rows = PAIRS[:4] + MORE + [(f"{premise} ", claim) for premise, claim in PAIRS[:4]]
    rng = random.Random(3)
    one = on_threads(1, model, dtype="int8", batch_size=1)
    call = "judge" if model is cascade else "read"
    alone = [getattr(one, call)([row])[0] for row in rows]
    for batch_size, threads in ((None, 2), (3, 1), (64, 2)):
        other = on_threads(threads, model, dtype="int8", batch_size=batch_size)
        order = rng.sample(range(len(rows)), len(rows))
        found = getattr(other, call)([rows[i] for i in order])
        assert [found[order.index(i)] for i in range(len(rows))] == alone


def test_eight_bits_say_what_32_say() -> None:
    pairs = PAIRS[:4] + MORE
    whole = cascade().judge(pairs)
    rough = cascade(dtype="int8").judge(pairs)
    apart = [abs(a.entailment - b.entailment) for a, b in zip(whole, rough, strict=True)]
    assert 0 < np.mean(apart) < 0.02
    assert max(apart) < 0.1
    asked = [QUESTIONS[0], QUESTIONS[1], QUESTIONS[3]]
    answers = BundledReader(dtype="int8").read(asked)
    assert flat(answers) == flat(BundledReader().read(asked))


def test_answers_at_a_tie_are_read_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [(question, FILLER[: 60 * i + 90] + text)
             for i, (question, text) in enumerate(QUESTIONS)]
    exact = [one and one.score for one in BundledReader().read(asked)]
    reader = BundledReader(dtype="int8")
    monkeypatch.setattr(models, "TIE", 0.0)
    rough = [one and one.score for one in reader.read(asked)]
    assert rough != pytest.approx(exact, abs=1e-3)
    monkeypatch.setattr(models, "TIE", float("inf"))
    assert [one and one.score for one in reader.read(asked)] == pytest.approx(exact, abs=1e-4)
    assert BundledReader()._exact is None


def test_eight_bits_are_named() -> None:
    names = [BundledReader(dtype="int8").name, cascade(dtype="int8").name]
    assert all(name.endswith("-int8") for name in names)
    signature = Q2.from_preset("bundled", dtype="int8").signature
    assert all(f":{name}|" in signature for name in names)
    assert f":{names[1]}|" in Scale.from_preset("bundled", dtype="int8").signature


def test_eight_bits_are_for_one_runtime() -> None:
    with pytest.raises(InputError, match="int8 is for ONNX Runtime on a CPU"):
        BundledReader("cuda", "int8")


def test_eight_bits_are_the_default_on_a_cpu() -> None:
    assert {BundledReader(device, "auto").dtype for device in ("auto", "cpu")} == {"int8"}
    for metric in (Q2, Scale):
        plain, eight = (metric.from_preset("bundled", **how) for how in ({}, {"dtype": "int8"}))
        assert plain.signature == eight.signature
        assert "-int8|" not in metric.from_preset("bundled", dtype="float32").signature


class _Rounded:
    """A linear layer of torch that rounds as the graph does, and adds whole numbers exactly."""

    def __init__(self, found: dict[str, Any], product: str) -> None:
        import torch

        self.multiplier = torch.from_numpy(found[f"{product}.multiplier"])
        self.zero = float(found[f"{product}.zero"])
        self.whole = torch.from_numpy(found[f"{product}.weight"]).double()
        self.scale = torch.from_numpy(found[f"{product}.weight.scale"])
        self.apart = torch.from_numpy(found.get(f"{product}.apart", np.empty(0, np.int64)))

    def __call__(self, module: Any, given: Any, _output: Any) -> Any:
        whole = ((given[0] * self.multiplier).round() + self.zero).clamp(0, 255) - self.zero
        beside = given[0][..., self.apart] @ module.weight[:, self.apart].T
        return (whole.double() @ self.whole).float() * self.scale + module.bias + beside


def test_channels_apart_are_in_no_sum_of_whole_numbers() -> None:
    for prefix in FILES:
        found = of_network(prefix)
        end = ".down.apart"
        layers = [name.removesuffix(end) for name in found if name.endswith(end)]
        assert len(layers) == (2 if prefix == "statement" else 6)
        for layer in layers:
            product = f"{layer}.down"
            apart = np.flatnonzero(found[f"{product}.multiplier"] == 0)
            assert apart.tolist() == found[f"{product}.apart"].tolist()
            assert not found[f"{product}.weight"][apart].any()
            assert np.abs(found[f"{product}.apart.weight"]).max(1).min() > 0
            assert found[f"{layer}.up.multiplier"].all()


@pytest.mark.slow
@pytest.mark.parametrize("prefix", FILES)
def test_another_runtime_gives_the_same_in_eight_bits(prefix: str) -> None:
    torch = pytest.importorskip("torch")
    from q2_metric.models.bundled.network import load, made, shape_of

    network = made(prefix)
    load(network, prefix)
    found = of_network(prefix)
    changed = 0
    for name, module in network.named_modules():
        product = f"{prefix}.{name.removeprefix('encoder.')}"
        if f"{product}.multiplier" in found:
            module.register_forward_hook(_Rounded(found, product))
            changed += 1
    assert changed == 4 * shape_of(prefix).layers
    model = BundledEntailment(dtype="int8")
    rows = [row for _, row in model._rows([(claim, premise) for premise, claim in [*PAIRS, *MORE]])]
    eight, whole = (models.forward_of(prefix, "cpu", dtype)[0]
                    for dtype in ("int8", "float32"))
    apart, rough = [], []
    for row in rows:
        batch = collate([row])
        inputs = [batch.ids, batch.types, batch.lengths]
        if prefix != "reader":
            inputs.append(batch.query)
        with torch.inference_mode():
            expected = network.eval()(*map(torch.from_numpy, inputs)).numpy()
        real = slice(None, len(row.ids) if prefix == "reader" else None)
        found_here = eight(batch)[0][real]
        apart.append(np.abs(expected[0][real] - found_here).mean())
        rough.append(np.abs(whole(batch)[0][real] - found_here).mean())
    # A number on the edge of two whole ones falls to either by its last bit, and after six layers
    # that is about as much as rounding itself is, of the mean of all; a wrong scale or zero would
    # be far more.
    assert np.mean(apart) < (1.5 if prefix == "entailment" else 1.25) * np.mean(rough) < 0.2


def test_each_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the layers that read claim and text apart: for all claims, and again in later batches,
    until newer texts need the room."""
    from q2_metric.models.bundled import on_onnx

    def row(claim: str, text: str) -> QueryWindow:
        return pair(models.tokenizer()(claim), models.tokenizer()(text))

    read: list[int] = []
    states_of = on_onnx._States._read
    monkeypatch.setattr(on_onnx._States, "_read", lambda self, parts: (
        read.append(len(parts)), states_of(self, parts))[1])
    monkeypatch.setattr(on_onnx, "KEPT", 400)
    forward = on_onnx.open_network("entailment", 1, "int8")
    rows = [row(f"Room {i} is large.", FILLER[:700]) for i in range(6)]
    first = forward(collate(rows))
    assert forward(collate(rows[:3])).tolist() == first[:3].tolist()
    assert read == [7, 0], "six claims and one text"
    forward(collate([row("It rains.", FILLER[i:700]) for i in range(100, 500, 100)]))
    assert forward(collate(rows)).tolist() == first.tolist()
    assert read == [7, 0, 5, 7], "later texts took the room"
