"""Weights that are only to be had as pickles: what is trusted, what is refused, and when."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from hub_models import NLI, PREMISES, THREE, load
from local_hub import LocalHub
from local_models import encoder
from published_models import build, build_preset

from q2_metric import scoring
from q2_metric.errors import ModelError, PicklesRefused
from q2_metric.metrics.bertscore import BertScore
from q2_metric.models.hub import names as pickles
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.presets import PRESETS, published

SNLI = "boychaboy/SNLI_roberta-large"
ALBERT = "twmkn9/albert-base-v2-squad2"


@pytest.fixture
def hub(stand_ins: Path, tmp_path: Path) -> Iterator[LocalHub]:
    """A Hub with the models of ``paper-small``, and one that nobody has published."""
    root = tmp_path / "served"
    for name in (SNLI, ALBERT):
        shutil.copytree(build(name, stand_ins), root / name)
        shutil.copytree(build(name, stand_ins), root / "somebody" / name.split("/")[1])
    with LocalHub(root).serving() as served:
        yield served


def score(hub: LocalHub, tmp_path: Path, *options: str, **more: str) -> tuple[int, str]:
    """Exit code and stderr of ``q2 score`` of a fresh user."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "Rome has hills.", "knowledge": "Rome has seven hills."}\n')
    done = subprocess.run(
        [sys.executable, "-m", "q2_metric", "score", str(rows), *options],
        env={**hub.environment(tmp_path / "home"), **more},
        capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_all_that_are_refused_are_named_at_once_with_the_command_that_works(
    hub: LocalHub, tmp_path: Path
) -> None:
    options = ("-s", "reader_model=somebody/albert-base-v2-squad2",
               "-s", "nli_model=somebody/SNLI_roberta-large")
    code, told = score(hub, tmp_path, *options)
    assert code == 3
    assert told.count("\n") == 1
    both = "somebody/albert-base-v2-squad2,somebody/SNLI_roberta-large"
    assert told.startswith(f"q2: error: {both.replace(',', ', ')}: have no weights as safetensors")
    assert f"Q2_ALLOW_PICKLES={both} q2 score " in told
    assert told.rstrip().endswith(" ".join(options))
    assert [file for file in hub.downloads() if not file.endswith("config.json")] == []
    code, told = score(
        hub, tmp_path, *options, "-s", "nli_labels=entailment,neutral,contradiction",
        Q2_ALLOW_PICKLES=both)
    assert (code, told) == (0, "")


def test_only_a_name_is_trusted_not_a_folder_nor_any_revision(
    stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(pickles.trusted(name) for name in published())
    assert not pickles.trusted(f"{SNLI}@refs/pr/1")
    build(SNLI, stand_ins)
    monkeypatch.chdir(stand_ins)
    with pytest.raises(PicklesRefused, match=f"{SNLI}: has no weights as safetensors"):
        load(TorchNli, SNLI)


def test_a_pickle_with_code_runs_none(stand_ins: Path, tmp_path: Path) -> None:
    folder = tmp_path / SNLI
    shutil.copytree(build(SNLI, stand_ins), folder)
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(ran),)  # type: ignore[return-value]

    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save({**weights, "evil": Evil()}, folder / "pytorch_model.bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(pickles.PICKLES, str(folder))
        with pytest.raises(ModelError, match="cannot be loaded"):
            load(TorchNli, str(folder))
    assert not ran.exists()


def test_folders_are_refused_unless_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = encoder(tmp_path / "m", "bert", NLI, id2label=THREE)
    (folder / "pytorch_model.bin").write_bytes(b"not a checkpoint")
    (verdict,) = TorchNli(load(TorchNli, str(folder))).judge(PREMISES[:1])
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    monkeypatch.setenv(pickles.PICKLES, f"{folder}2, other/model")
    for refused in (lambda: load(TorchNli, str(folder)), lambda: BertScore(str(folder))):
        with pytest.raises(ModelError, match=f"set {pickles.PICKLES}={folder}2,other/model,"):
            refused()
    monkeypatch.setenv(pickles.PICKLES, f"other/model, {folder}")
    (again,) = TorchNli(load(TorchNli, str(folder))).judge(PREMISES[:1])
    # Where the weights lie in memory decides the last bit.
    assert again.entailment == pytest.approx(verdict.entailment, abs=1e-6)


def test_metrics_are_checked_together(
    stand_ins: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not one metric after the other, each after the download of the one before."""
    made = {stage: str(folder) for stage, folder in build_preset("paper-small", stand_ins).items()}
    with caplog.at_level(logging.WARNING), pytest.raises(PicklesRefused) as refused:
        scoring.load("q2,scale", {
            "question_model": made["questions"], "reader_model": made["reader"],
            "nli_model": made["nli"], "scale_model": made["scale"], "device": "cpu"})
    assert refused.value.allow == (
        f"Q2_ALLOW_PICKLES={made['questions']},{made['reader']},{made['nli']}")
    pickled = {stage.model for one in PRESETS.values() for stage in (
        one.questions, one.reader, one.nli, one.scale) if stage.pickled}
    without = {name for name in published()
               if not any((build(name, stand_ins) / file).is_file() for file in pickles.SAFE)}
    assert pickled == without
