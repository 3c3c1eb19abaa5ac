"""Loading models: devices, clear errors, silence; and scores that are no numbers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import torch
from click.testing import CliRunner
from hub_models import (
    PREMISES,
    SPANS,
    Folders,
    Load,
    load,
    scripted,
)
from local_models import ENCODERS, t5

from q2_metric.cli.main import main
from q2_metric.errors import InputError, MissingExtra, ModelError
from q2_metric.models.hub import batches, loading
from q2_metric.models.hub.loading import load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import Seq2SeqQuestions
from q2_metric.models.hub.reader import TorchReader


def test_devices_and_dtypes() -> None:
    assert loading.resolve_device("cpu") == "cpu"
    for device in ("gpu", "cuda:x", "cuda:99"):
        with pytest.raises(InputError, match="device"):
            loading.resolve_device(device)
    with pytest.raises(InputError, match="dtype"):
        load(TorchNli, "a/b", dtype="int8")


def test_bfloat16_is_close(folders: Folders) -> None:
    exact = TorchNli(load(TorchNli, str(folders("bert/nli")))).judge(PREMISES[:2])
    model = TorchNli(load(TorchNli, str(folders("bert/nli")), dtype="bfloat16"))
    assert model._loaded.model.dtype is torch.bfloat16
    for rough, fine in zip(model.judge(PREMISES[:2]), exact, strict=True):
        assert rough.entailment == pytest.approx(fine.entailment, abs=0.05)


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r'pip install "q2-metric\[torch\]"'):
        loading.load_config("google/flan-t5-base")
    with pytest.raises(MissingExtra):
        load(TorchReader, "a/b")


@pytest.mark.parametrize(("version", "works"), [
    ("5.0.0", False), ("4.57.1", False), ("5.1.0", True), ("5.24.0.dev0", True)])
def test_a_transformers_that_gives_other_scores_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, works: bool
) -> None:
    import transformers

    monkeypatch.setattr(transformers, "__version__", version)
    if works:
        loading.require("a model")
    else:
        with pytest.raises(ModelError, match=r"transformers>=5\.1,<6"):
            loading.require("a model")


def test_a_model_for_another_task_is_refused(folders: Folders) -> None:
    with pytest.raises(ModelError, match="not trained for AutoModelForSequenceClassification"):
        TorchNli(load(TorchNli, str(folders("bert/qa"))))
    with pytest.raises(ModelError, match="qa_outputs"):
        TorchReader(load(TorchReader, str(folders("roberta/nli"))))


def test_an_encoder_cannot_write_questions(folders: Folders) -> None:
    with pytest.raises(ModelError) as caught:
        Seq2SeqQuestions(load(Seq2SeqQuestions, str(folders("bert/qa"))))
    assert "\n" not in str(caught.value)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        TorchReader(load(TorchReader, str(tmp_path / "nothing")))
    with pytest.raises(ModelError, match=r"no config\.json"):
        TorchReader(load(TorchReader, str(tmp_path)))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError) as caught:
        TorchReader(load(TorchReader, str(tmp_path)))
    assert "\n" not in str(caught.value)


def test_an_unreachable_hub_names_the_offline_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="'bundled', which needs no network") as caught:
        TorchNli(load(TorchNli, "nobody/no-such-model-at-all"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("GatedRepoError", "accept its terms"),
        ("RepositoryNotFoundError", "no such model"),
        ("ConnectError", "cannot be reached"),
        ("Surprise", "Surprise: first line"),
    ],
)
def test_causes_become_one_line(kind: str, expected: str) -> None:
    cause = type(kind, (Exception,), {})("first line\nsecond line")
    with pytest.raises(ModelError) as caught, loading._errors_about("a/b"):
        raise cause
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("a/b: ")
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize("error", [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total"),
    RuntimeError("MPS backend out of memory (MPS allocated: 5 GB, max allowed: 6 GB)."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    MemoryError(),
])
@pytest.mark.parametrize("where", ["to", "from_pretrained"])
def test_a_model_that_does_not_fit_is_one_line(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    """Memory runs out while the real model is moved, or while it is read."""
    import transformers

    def full(*_: object, **__: object) -> None:
        raise error

    owner = torch.nn.Module if where == "to" else transformers.AutoModelForSequenceClassification
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "it sleeps .", "knowledge": "The dog sleeps."}')
    folder = str(folders("bert/nli"))
    monkeypatch.setattr(owner, where, full)
    monkeypatch.setattr(transformers.PreTrainedModel, where, full)
    shown = CliRunner().invoke(main, [
        "score", str(rows), "--metrics", "nli", "-s", f"nli_model={folder}", "--quiet"])
    assert shown.exit_code == 3, shown.output
    (line,) = shown.stderr.splitlines()
    assert line == (f"q2: error: {folder}: does not fit into memory: use --dtype bfloat16 (half of "
                    "it), another device, or a smaller preset (paper-small, bundled)")


def test_a_tokenizers_missing_package_is_named() -> None:
    with pytest.raises(ModelError, match="SentencePiece"), loading._errors_about("a/b"):
        raise ImportError("T5Tokenizer requires the SentencePiece library")


def test_the_service_that_converts_pickles_is_not_asked(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers would send it the caller's token."""
    monkeypatch.delenv("DISABLE_SAFETENSORS_CONVERSION", raising=False)
    load(TorchNli, str(folders("bert/nli")))
    assert os.environ["DISABLE_SAFETENSORS_CONVERSION"] == "1"


def test_loading_is_silent(folders: Folders, capfd: pytest.CaptureFixture[str]) -> None:
    folder = str(folders("bert/nli"))
    capfd.readouterr()
    TorchNli(load(TorchNli, folder)).judge(PREMISES)
    assert capfd.readouterr() == ("", "")


def test_windows_of_the_models(loaded: Load) -> None:
    for kind in ENCODERS:
        assert batches.window_size(loaded(f"{kind}/qa")) == 64
    assert batches.window_size(loaded("t5/tied")) == 512


def test_not_a_number_is_an_error(tmp_path: Path) -> None:
    def broken(vocabulary: Any, ids: torch.Tensor) -> Any:
        scores = torch.full(ids.shape, float("nan"))
        return SimpleNamespace(start_logits=scores, end_logits=scores)

    with pytest.raises(ModelError, match="not finite"):
        TorchReader(scripted(tmp_path, broken)).read([("who?", "a dog")])


@pytest.mark.parametrize("decoding", ["beam", "greedy", "sample"])
def test_questions_of_a_model_without_numbers_are_an_error(tmp_path: Path, decoding: Any) -> None:
    model = load_pretrained("AutoModelForSeq2SeqLM", str(t5(tmp_path / "nan")), "cpu")
    with torch.no_grad():
        model.model.get_encoder().final_layer_norm.weight.fill_(float("nan"))
    with pytest.raises(ModelError, match="not finite"):
        Seq2SeqQuestions(model, decoding=decoding).generate(SPANS[:2])
