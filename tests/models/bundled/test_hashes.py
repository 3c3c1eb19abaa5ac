"""The released weights load under their signature, and no others do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from q2_metric import Example
from q2_metric.errors import ModelError
from q2_metric.knowledge.bundled import BundledRanker
from q2_metric.metrics import load_metrics
from q2_metric.models.bundled import models, on_onnx, selection, stored
from q2_metric.models.bundled.stored import HASHES, SHARED, WEIGHTS

ONE = [Example("Rome is in Italy.", "Rome is the capital of Italy.")]
CACHES: list[Callable[[], None]] = [
    on_onnx.forward_of.cache_clear, stored.words.cache_clear, models.tokenizer.cache_clear,
    selection.learned.cache_clear, selection.text_vectors.cache_clear]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The weights in a folder of the test's own, as links that a file may replace."""
    for file in WEIGHTS.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.setattr(stored, "WEIGHTS", tmp_path)
    for clear in CACHES:
        clear()
    yield tmp_path
    for clear in CACHES:
        clear()


def changed(path: Path) -> None:
    """The file in the place of its link, with one more byte at its end."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data + b"\n")


def score(name: str, preset: str = "bundled-small", **settings: str) -> None:
    (metric,) = load_metrics([name], preset, **settings)
    metric.score(ONE)


def test_a_network_with_another_bias_does_not_load(folder: Path) -> None:
    """It would score otherwise under the same signature."""
    score("scale")
    on_onnx.forward_of.cache_clear()
    weights = load_file(folder / SHARED)
    weights["entailment.classify.bias"] = weights["entailment.classify.bias"] + 1
    (folder / SHARED).unlink()
    save_file(weights, folder / SHARED, metadata={"format": "pt"})
    stored._check.cache_clear()  # once in a process
    with pytest.raises(ModelError) as refused:
        score("scale")
    assert str(refused.value) == (
        f"the bundled entailment network cannot be opened: {folder / SHARED} is not the released "
        f"file (its sha256 is not the one in {HASHES}): reinstall q2-metric")


@pytest.mark.parametrize(("file", "use"), [
    ("entailment.onnx", lambda: score("scale", dtype="float32")),
    ("entailment.int8.onnx", lambda: score("scale")),
    ("wide.safetensors", lambda: score("scale", "bundled")),
    ("reader.onnx", lambda: score("q2")),
    ("tokenizer.json", lambda: score("scale")),
    ("groundedness.json", lambda: score("groundedness", "bundled")),
    ("selection.safetensors", BundledRanker),
])
def test_a_changed_file_is_refused(folder: Path, file: str, use: Callable[[], None]) -> None:
    changed(folder / file)
    with pytest.raises(ModelError, match=f"{file} is not the released file"):
        use()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sha256": 1}', '{"sha256": {}}'])
def test_hashes_that_are_missing_or_damaged(folder: Path, text: str) -> None:
    (folder / HASHES).unlink()
    with pytest.raises(ModelError, match=r"missing \(.*sha256.json\): reinstall"):
        score("scale")
    (folder / HASHES).write_text(text)
    on_onnx.forward_of.cache_clear()
    with pytest.raises(ModelError, match=r"damaged|is not the released file"):
        score("scale")


def test_every_file_of_the_models_has_a_hash() -> None:
    models = {path.name for path in WEIGHTS.iterdir() if path.suffix != ".md"} - {HASHES}
    assert models == set(stored.files()) == set(json.loads(
        (WEIGHTS / HASHES).read_text())["sha256"])
    stored._check.cache_clear()
    started = time.process_time()
    for name in stored.files():
        stored.intact(name)
    took = time.process_time() - started
    assert took < 2, "hashing costs a small part of loading"
    for name in stored.files():
        stored.intact(name)
    assert time.process_time() - started - took < took / 2, "once in a process"


def test_the_recipe_writes_the_hashes(tmp_path: Path) -> None:
    from tools.training import hashes

    for file in WEIGHTS.iterdir():
        if file.name != HASHES:
            (tmp_path / file.name).symlink_to(file)
    hashes.renew(tmp_path)
    assert not (tmp_path / HASHES).exists()
    hashes.write(tmp_path)
    assert (tmp_path / HASHES).read_bytes() == (WEIGHTS / HASHES).read_bytes()
