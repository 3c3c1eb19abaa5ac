"""What a GPU would run, on the CPU: the bundled models in torch, their batches and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_bundled import FILLER, PAIRS, QUESTIONS, cascade, flat

torch = pytest.importorskip("torch")

from q2_metric.errors import ModelError  # noqa: E402
from q2_metric.models.bundled import models as bundled  # noqa: E402
from q2_metric.models.bundled import network  # noqa: E402
from q2_metric.models.bundled.encoding import Batch  # noqa: E402
from q2_metric.models.bundled.models import BundledEntailment, BundledReader  # noqa: E402
from q2_metric.models.hub import loading  # noqa: E402

TOLERANCES = {"float32": 1e-5, "bfloat16": 0.05}


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_padding_changes_nothing(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a short row is padded to several times its length."""
    pairs = [*PAIRS[:4], (FILLER[:400], "Room 3 holds 9 chairs.")]
    with monkeypatch.context() as patch:
        patch.setattr(bundled, "ON_ONNX", ())  # torch then runs all formats
        model, batched = (cascade("cpu", dtype, size) for size in (1, 8))
    alone = [verdict.entailment for verdict in model.judge(pairs)]
    together = batched.judge(pairs)
    assert [verdict.entailment for verdict in together] == pytest.approx(
        alone, abs=TOLERANCES[dtype])
    exact = [verdict.entailment for verdict in cascade().judge(pairs)]
    assert alone == pytest.approx(exact, abs=max(1e-3, TOLERANCES[dtype]))


def test_the_reader_reads_in_bfloat16() -> None:
    asked = [QUESTIONS[0], QUESTIONS[1], QUESTIONS[3]]
    whole = BundledReader("cpu", "bfloat16", batch_size=3).read(asked)
    assert flat(whole) == flat(BundledReader().read(asked))


def _on_a_device(monkeypatch: pytest.MonkeyPatch, capacity: int) -> tuple[Any, list[int]]:
    """An entailment model of a device with room for so many padded tokens, and its batches."""
    sizes: list[int] = []

    def forward(batch: Batch) -> Any:
        if batch.ids.size > capacity:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        sizes.append(batch.ids.size)
        # Each row's own number of tokens, so that a row that lost its place shows.
        return np.stack([batch.lengths, 0 * batch.lengths, 0 * batch.lengths], 1) / 100.0

    def forward_of(network: str, device: str, dtype: str) -> Any:
        assert (network, device, dtype) == ("entailment", "cuda", "bfloat16")
        return forward, 1

    monkeypatch.setattr(bundled, "forward_of", forward_of)
    model = BundledEntailment(device="cuda", dtype="bfloat16", network="entailment")
    return model, sizes


def test_a_network_that_does_not_fit_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    network.forward_of.cache_clear()
    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(ModelError, match="entailment network does not fit into the memory of cpu: "
                                         "use --dtype bfloat16, --device cpu, or the preset"):
        BundledEntailment(dtype="bfloat16", network="entailment")


def test_a_device_is_given_many_tokens_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = PAIRS * 40
    model, sizes = _on_a_device(monkeypatch, capacity=10**9)
    found = model.judge(pairs)
    assert max(sizes) > 0.7 * bundled.device_tokens("cuda")
    assert max(sizes) <= bundled.device_tokens("cuda")
    small, halved = _on_a_device(monkeypatch, capacity=9000)
    assert small.judge(pairs) == found
    assert max(halved) <= 9000
    assert small.budget.tokens <= 9000, "what did not fit is tried again"


def test_float32_is_the_default_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "forward_of", lambda *_: (None, 1))
    assert BundledReader("cuda", "auto").dtype == "float32"


def test_a_device_that_is_not_there_is_named() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(loading.InputError, match="cuda"):
        BundledReader(device="cuda")
