"""Devices that torch reports and that fail: the faults are injected, no GPU is needed."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from hub_models import NLI, PREMISES, Folders
from published_models import build

from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.models import stages
from q2_metric.models.hub import loading
from q2_metric.models.hub.loading import load_pretrained
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.models.presets import Preset, Stage
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.scoring import score_rows
from q2_metric.types import Example


def pretend(patch: pytest.MonkeyPatch, *, cuda: int = 0, mps: bool = False) -> None:
    """Has torch report devices that this machine does not have."""
    patch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    patch.setattr(torch.cuda, "device_count", lambda: cuda)
    patch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(("cuda", "mps", "device", "taken"), [
    (1, True, "auto", "cuda"), (0, True, "auto", "mps"), (0, False, "auto", "cpu"),
    (2, False, "cuda:1", "cuda:1"), (1, True, "mps", "mps"), (2, True, "cpu", "cpu"),
])
def test_the_device_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, cuda: int, mps: bool, device: str, taken: str
) -> None:
    pretend(monkeypatch, cuda=cuda, mps=mps)
    assert loading.resolve_device(device) == taken


def test_a_gpu_that_torch_only_counts_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a driver that is too old for this torch, ``device_count`` may still ask NVML."""
    pretend(monkeypatch, cuda=1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert loading.resolve_device() == "cpu"
    with pytest.raises(InputError, match="'cuda' does not exist here"):
        loading.resolve_device("cuda")


@pytest.mark.parametrize("there", ["cuda", "mps"])
def test_a_device_that_does_not_work_is_one_line(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """This torch has neither: it fails as one does whose driver is too old."""
    pretend(monkeypatch, cuda=int(there == "cuda"), mps=there == "mps")
    with pytest.raises(ModelError, match=r"device does not work .*: use --device cpu") as told:
        load_pretrained(NLI, str(folders("bert/nli")), "auto")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(("device", "fault"), [
    ("cuda", torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")),
    ("mps", RuntimeError("MPS backend out of memory (MPS allocated: 17.89 GB)")),
    ("cpu", RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")),
])
def test_memory_that_runs_out_on_the_way_to_the_device(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, device: str, fault: Exception
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise fault

    pretend(monkeypatch, cuda=int(device == "cuda"), mps=device == "mps")
    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(ModelError, match="does not fit into memory: use --dtype bfloat16") as told:
        load_pretrained(NLI, str(folders("bert/nli")), device)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("fault", [
    NotImplementedError("The operator 'aten::x' is not currently implemented for the MPS device."),
    RuntimeError("CUDA error: an illegal memory access was encountered\nmore"),
])
def test_a_device_that_fails_while_it_scores_ends_the_run(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    metric = EndToEndNli.from_preset("bundled", nli_model=str(folders("bert/nli")), device="cpu")

    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr(metric._entailment._loaded.model, "forward", fail)  # type: ignore[attr-defined]
    rows = [Example(response, premise) for premise, response in PREMISES[:2]]
    with pytest.raises(ModelError, match="the device failed"):
        score_rows([metric], rows, on_fault=lambda *_: None)
    stages.clear_cache()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_are_loaded_in_the_precision_that_is_asked_for(
    stand_ins: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    """Not in float32 first, which takes twice the memory."""
    import transformers

    asked: list[Any] = []
    real = transformers.AutoModelForSeq2SeqLM.from_pretrained

    def load(*arguments: Any, **keywords: Any) -> Any:
        asked.append(keywords["dtype"])
        return real(*arguments, **keywords)

    monkeypatch.setattr(transformers.AutoModelForSeq2SeqLM, "from_pretrained", load)
    folder = str(build("google/flan-t5-xl", stand_ins))
    model = load_pretrained("AutoModelForSeq2SeqLM", folder, "cpu", dtype)
    kind = getattr(torch, dtype)
    assert asked == [kind]
    kinds = {one.dtype for name, one in model.model.named_parameters() if ".wo." not in name}
    assert kinds == {kind}  # T5 keeps its "wo" in float32 beside float16
    (verdict,) = YesNoEntailment(model).judge([("The king sailed.", "A king sailed.")])
    assert 0 < verdict.entailment < 1


def test_a_large_model_in_float32_is_said_before_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stand_ins: Path
) -> None:
    build("google/flan-t5-xl", stand_ins)
    monkeypatch.chdir(stand_ins)
    for dtype, told in (("float32", 1), ("bfloat16", 0)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "q2_metric"):
            stages.load_backbone("paper", config=RuntimeConfig(device="cpu", dtype=dtype))
        assert len(caplog.messages) == told
        assert all("needs 11 GB of memory" in one and "--dtype bfloat16 needs 6 GB" in one
                   for one in caplog.messages)
    stages.clear_cache()


def test_a_presets_size_is_that_of_its_stages() -> None:
    small, large = Stage("nli", "a/b", millions=100), Stage("yes-no", "c/d", millions=1000)
    one = Preset("x", "", Stage("syntactic"), Stage("bundled"), small, large)
    assert (one.gigabytes(), one.gigabytes(2)) == pytest.approx((4.4, 2.2))
