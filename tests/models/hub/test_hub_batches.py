"""How rows become batches: order, padding, memory, and what compiles (on fakes and tiny models)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np
import torch
from local_models import ENCODERS, encoder, gpt2, t5
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from q2_metric.errors import ModelError, is_out_of_memory
from q2_metric.models.hub import batches as torch_batches
from q2_metric.models.hub.batches import Batches, Row, pad
from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.reader import TorchReader
from q2_metric.models.hub.yes_no import YesNoEntailment

TOKENIZER = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(WordLevel({"[PAD]": 7})), pad_token="[PAD]")
TOKENIZER._pad_token_type_id = 3  # as XLNet's
CPU = LoadedModel("fake", TOKENIZER, None, "cpu")


def rows_of(*lengths: int) -> list[Row]:
    """Rows whose first token is their place."""
    return [{"input_ids": [place] + [100 + i for i in range(1, n)]} for place, n in
            enumerate(lengths)]


class Device:
    """A fake model on a fake device: it fails above ``capacity`` padded tokens."""

    def __init__(self, capacity: int = 10**9, error: Exception | None = None) -> None:
        self.capacity = capacity
        self.error = error or RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        self.shapes: list[tuple[int, int]] = []
        self.failed = 0

    def __call__(self, batch: dict[str, Any]) -> list[tuple[int, int]]:
        ids = batch["input_ids"]
        if ids.numel() > self.capacity:
            self.failed += 1
            raise self.error
        self.shapes.append(tuple(ids.shape))
        lengths = batch["attention_mask"].sum(dim=1).tolist()
        return list(zip(ids[:, 0].tolist(), lengths, strict=True))


LENGTHS = (3, 1, 7, 2, 7, 40, 12, 5)
EXPECTED = list(enumerate(LENGTHS))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100, None])
def test_results_keep_the_rows_order(batch_size: int | None) -> None:
    device = Device()
    assert Batches(CPU, batch_size).run(rows_of(*LENGTHS), device) == EXPECTED
    widths = [width for _, width in device.shapes]
    assert widths == sorted(widths, reverse=True)
    if batch_size:
        assert max(size for size, _ in device.shapes) == min(batch_size, len(LENGTHS))


def test_padding_is_masked_and_filled() -> None:
    padded = pad(TOKENIZER, [
        {"input_ids": [1, 2, 3], "token_type_ids": [0, 0, 1], "attention_mask": [1, 1, 1]},
        {"input_ids": [4], "token_type_ids": [0], "attention_mask": [1]},
    ])
    assert padded["input_ids"].tolist() == [[1, 2, 3], [4, 7, 7]]
    assert padded["token_type_ids"].tolist() == [[0, 0, 1], [0, 3, 3]]
    assert padded["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_a_batch_fits_the_budget_of_tokens() -> None:
    device = Device()
    batches = Batches(CPU, None, cpu_tokens=24)
    assert batches.run(rows_of(*LENGTHS), device) == EXPECTED
    assert device.shapes == [(1, 40), (2, 12), (3, 7), (2, 2)]


def test_beams_and_what_they_generate_count() -> None:
    device = Device()
    Batches(CPU, None, copies=5, extra=10, cpu_tokens=200).run(rows_of(*[10] * 6), device)
    assert device.shapes == [(2, 10)] * 3


@pytest.mark.parametrize("batch_size", [8, None])
@pytest.mark.parametrize("error", [
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    torch.OutOfMemoryError("HIP out of memory"),
    RuntimeError("MPS backend out of memory (MPS allocated: 5 GB)"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError(),
], ids=lambda error: type(error).__name__)
def test_out_of_memory_halves_and_retries(batch_size: int | None, error: Exception) -> None:
    device = Device(capacity=40, error=error)
    batches = Batches(CPU, batch_size)
    assert batches.run(rows_of(*LENGTHS), device) == EXPECTED
    assert device.failed in (2, 3)
    failed = device.failed
    assert batches.run(rows_of(*LENGTHS), device) == EXPECTED
    assert device.failed == failed  # and it is remembered


def test_one_row_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ModelError, match="fake: a single row of 40 tokens"):
        Batches(CPU, None).run(rows_of(*LENGTHS), Device(capacity=39))


def test_other_errors_are_not_hidden() -> None:
    broken = Device(capacity=0, error=RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        Batches(CPU, 4).run(rows_of(1, 2), broken)
    assert broken.failed == 1
    assert not is_out_of_memory(ValueError("out of memory"))


def test_a_device_is_given_many_tokens_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(capacity=5000)
    monkeypatch.setattr(torch_batches, "device_tokens", lambda _: 8000)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, _: tensor)
    loaded = LoadedModel("fake", TOKENIZER, None, "meta")  # no CPU, and yet no CUDA is called
    found = Batches(loaded, None).run(rows_of(*[10] * 5000), device)
    assert [place for place, _ in found] == list(range(5000))
    assert device.failed == 1
    assert {rows * width for rows, width in device.shapes} == {4000, 2000}


@pytest.mark.parametrize(("device", "tokens"), [
    ("cpu", 1024), ("cuda:1", 65_536), ("mps", 16_384)])
def test_the_first_batch_of_a_device(device: str, tokens: int) -> None:
    loaded = LoadedModel("fake", TOKENIZER, None, torch.device(device))
    assert Batches(loaded, None).budget.tokens == tokens


def test_a_model_without_a_pad_token_reads_rows_of_any_length(tmp_path: Path) -> None:
    loaded = load_pretrained("AutoModelForCausalLM", str(gpt2(tmp_path)), "cpu")
    rows = [{"input_ids": [3, 4, 5], "attention_mask": [1, 1, 1]},
            {"input_ids": [6], "attention_mask": [1]}]
    padded = pad(loaded.tokenizer, rows)
    assert padded["input_ids"].tolist() == [[3, 4, 5], [6, 1, 1]]
    assert padded["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


# --- real models: batched is single, and a wrong batch would show ---------------------------

TEXTS = [
    "The red dog sleeps in the house.", "Paris is the capital of France. " * 5, "She has red hair.",
    "He was born by the sea in 1994, and the ship sails north. " * 3, "a", "It was built.",
    "The old man runs, and a big cat barks! Where is the river?", "The king and the queen.",
]
PAIRS = [(a, b) for i, a in enumerate(TEXTS) for b in (TEXTS[i - 1], TEXTS[i - 3])]


def stages(tmp_path: Path, dtype: str = "float32") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for kind in ENCODERS:
        qa = load_pretrained("AutoModelForQuestionAnswering", str(
            encoder(tmp_path / f"{kind}-qa", kind, "AutoModelForQuestionAnswering")), "cpu", dtype)
        nli = load_pretrained("AutoModelForSequenceClassification", str(
            encoder(tmp_path / f"{kind}-nli", kind, "AutoModelForSequenceClassification",
                    id2label={0: "entailment", 1: "neutral", 2: "contradiction"})), "cpu", dtype)
        found += [(f"{kind} reader", TorchReader(qa, threshold=-1e9)), (f"{kind}", TorchNli(nli))]
    seq2seq = load_pretrained("AutoModelForSeq2SeqLM", str(t5(tmp_path / "t5")), "cpu", dtype)
    return [*found, ("t5", YesNoEntailment(seq2seq))]


def numbers(stage: Any, pairs: list[tuple[str, str]]) -> list[float]:
    if isinstance(stage, TorchReader):
        return [answer.score for answer in stage.read(pairs) if answer]
    return [verdict.entailment for verdict in stage.judge(pairs)]


def test_batched_is_single_and_every_mistake_in_a_batch_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = stages(tmp_path)
    alone = {name: [numbers(stage, [pair])[0] for pair in PAIRS] for name, stage in models}
    order = random.Random(3).sample(range(len(PAIRS)), len(PAIRS))
    for size in (1, 2, 5, None):
        for name, stage in models:
            stage.batches = Batches(stage._loaded, size)
            together = numbers(stage, [PAIRS[i] for i in order])
            expected = [alone[name][i] for i in order]
            assert together == pytest.approx(expected, abs=1e-5), (name, size)

    right = torch_batches.pad

    def without_mask(tokenizer: Any, rows: Any) -> Any:
        padded = right(tokenizer, rows)
        padded["attention_mask"][:] = 1
        return padded

    def swapped(tokenizer: Any, rows: Any) -> Any:
        return right(tokenizer, rows[::-1])

    def shifted(tokenizer: Any, rows: Any) -> Any:
        padded = right(tokenizer, rows)
        padded["input_ids"] = np.roll(padded["input_ids"], 1, axis=1)
        return padded

    for mistake in (without_mask, swapped, shifted):
        monkeypatch.setattr(torch_batches, "pad", mistake)
        for name, stage in models:
            together = numbers(stage, PAIRS)
            wrong = max(abs(a - b) for a, b in zip(together, alone[name], strict=True))
            assert wrong > 1e-3, (name, mistake.__name__)


def test_batched_is_single_in_bfloat16(tmp_path: Path) -> None:
    """To as many digits as it has."""
    for name, stage in stages(tmp_path, "bfloat16"):
        alone = [numbers(stage, [pair])[0] for pair in PAIRS]
        stage.batches = Batches(stage._loaded, 5)
        assert stage._loaded.model.dtype is torch.bfloat16
        apart = np.abs(np.subtract(numbers(stage, PAIRS), alone))
        assert apart.mean() < 0.02, name
        assert apart.max() < 0.1, name
