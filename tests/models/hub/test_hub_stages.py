"""Loading a preset's stages that are torch models, on tiny ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from q2_metric.errors import InputError, ModelError
from q2_metric.models import stages
from q2_metric.models.presets import PRESETS, Preset, Stage
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.types import Example

NLI = "AutoModelForSequenceClassification"
CPU = RuntimeConfig(device="cpu")
THREE = {0: "contradiction", 1: "entailment", 2: "neutral"}


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    stages.clear_cache()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tiny models: a preset's four stages."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from local_models import encoder, t5

    root: Path = tmp_path_factory.mktemp("saved")
    return {
        "questions": str(t5(root / "questions", marks=["<hl>"])),
        "reader": str(encoder(root / "reader", "albert", "AutoModelForQuestionAnswering")),
        "nli": str(encoder(root / "nli", "roberta", NLI, id2label=THREE)),
        "scale": str(t5(root / "MiniCheck-tiny", tied=False)),
    }


@pytest.fixture
def mine(saved: dict[str, str]) -> Preset:
    """A preset of local folders: what an offline user of torch models would write."""
    return Preset(
        name="mine",
        questions=Stage("seq2seq", saved["questions"], "highlight-spaced"),
        reader=Stage("reader", saved["reader"]),
        nli=Stage("nli", saved["nli"]),
        scale=Stage("yes-no", saved["scale"], "minicheck"),
        description="tiny",
        needs_network=False,
        extra="torch",
    )


def test_a_presets_stages_load(mine: Preset, saved: dict[str, str]) -> None:
    from q2_metric.models.hub.nli import TorchNli
    from q2_metric.models.hub.questions import Seq2SeqQuestions
    from q2_metric.models.hub.reader import TorchReader
    from q2_metric.models.hub.yes_no import PROMPTS, YesNoEntailment

    two = RuntimeConfig(device="cpu", batch_size=2)
    questions = stages.load_questions(mine, decoding="sample", seed=3, config=two)
    assert isinstance(questions, Seq2SeqQuestions)
    assert questions.batches.budget.rows == 1  # samples are drawn one by one
    assert (questions.template, questions.decoding, questions.seed) == (
        "highlight-spaced",
        "sample",
        3,
    )
    reader = stages.load_reader(mine, config=CPU)
    assert isinstance(reader, TorchReader)
    assert reader.batches.budget.rows is None
    nli, backbone = stages.load_nli(mine, config=CPU), stages.load_backbone(mine, config=CPU)
    assert isinstance(nli, TorchNli)
    assert isinstance(backbone, YesNoEntailment)
    assert backbone.prompt == PROMPTS["minicheck"].text
    assert [item.name for item in (questions, reader, nli, backbone)] == list(saved.values())


def test_a_replacement_decides_its_own_kind(saved: dict[str, str]) -> None:
    from q2_metric.models.hub.nli import TorchNli
    from q2_metric.models.hub.questions import Seq2SeqQuestions
    from q2_metric.models.hub.reader import TorchReader
    from q2_metric.models.hub.yes_no import PROMPTS, YesNoEntailment

    for load in (stages.load_nli, stages.load_backbone):
        assert isinstance(load("bundled", saved["nli"], config=CPU), TorchNli)
        asked = load("bundled", saved["questions"], config=CPU)
        assert isinstance(asked, YesNoEntailment)
        assert asked.prompt == PROMPTS["scale"].text
        checked = load("paper", saved["scale"], config=CPU)
        assert isinstance(checked, YesNoEntailment)
        assert checked.prompt == PROMPTS["minicheck"].text
        chosen = load("paper", saved["scale"], prompt="scale", config=CPU)
        assert isinstance(chosen, YesNoEntailment)
        assert chosen.prompt == PROMPTS["scale"].text
    assert isinstance(stages.load_reader("bundled", saved["reader"], config=CPU), TorchReader)
    for path, template in (("questions", "highlight"), ("scale", "answer-context")):
        questions = stages.load_questions("paper", saved[path], config=CPU)
        assert isinstance(questions, Seq2SeqQuestions)
        assert questions.template == template


def test_a_model_that_judges_nothing_is_refused(saved: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="cannot judge entailment"):
        stages.load_backbone("bundled", saved["reader"])


def test_labels_reach_the_classifier(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from local_models import encoder

    folder = str(encoder(tmp_path / "m", "bert", NLI))
    with pytest.raises(ModelError, match="LABEL_0"):
        stages.load_nli("bundled", folder, config=CPU)
    labelled = stages.load_nli(
        "bundled", folder, labels=("not_entailment", "entailment"), config=CPU
    )
    assert labelled.judge([("a dog", "a cat")])[0].contradiction == 0.0


def test_weights_load_once_for_each_device_and_dtype(
    mine: Preset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from q2_metric.models.hub import loading

    loads: list[tuple[str, ...]] = []
    real = loading.load_pretrained

    def counted(*arguments: Any) -> Any:
        loads.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(loading, "load_pretrained", counted)
    first = stages.load_nli(mine, config=CPU)
    second = stages.load_nli(mine, config=RuntimeConfig(device="cpu", batch_size=2))
    assert len(loads) == 1
    assert first._loaded is second._loaded  # type: ignore[attr-defined]
    sizes = [nli.batches.budget.rows for nli in (first, second)]  # type: ignore[attr-defined]
    assert sizes == [None, 2]
    assert stages.load_backbone("bundled", mine.nli.model, config=CPU).prompt == ""
    assert len(loads) == 1
    stages.load_nli(mine, config=RuntimeConfig(device="cpu", dtype="bfloat16"))
    assert len(loads) == 2
    stages.clear_cache()
    stages.load_nli(mine, config=CPU)
    assert len(loads) == 3


def test_one_models_weights_serve_questions_and_yes_no(saved: dict[str, str]) -> None:
    questions = stages.load_questions("bundled", saved["questions"], config=CPU)
    backbone = stages.load_backbone("bundled", saved["questions"], config=CPU)
    before = backbone.judge([("a dog", "a cat")])
    assert questions._loaded is backbone._loaded  # type: ignore[attr-defined]
    assert (
        stages.load_backbone("bundled", saved["questions"], config=CPU).judge(
            [("a dog", "a cat")]
        )
        == before
    )


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_size_below_one_is_refused(mine: Preset, batch_size: int) -> None:
    with pytest.raises(InputError, match="batch_size"):
        stages.load_nli(mine, config=RuntimeConfig(device="cpu", batch_size=batch_size))


def test_options_that_a_stage_cannot_take_are_refused(mine: Preset) -> None:
    with pytest.raises(InputError, match="the bundled model is an NLI classifier"):
        stages.load_backbone("bundled", prompt="scale")
    with pytest.raises(InputError, match="takes no prompt"):
        stages.load_nli(mine, prompt="scale", config=CPU)


def test_a_known_model_keeps_its_input_format(saved: dict[str, str], tmp_path: Path) -> None:
    from q2_metric.models.hub.questions import Seq2SeqQuestions

    folder = shutil.copytree(saved["questions"], tmp_path / "t5-small-qa-qg-hl")
    questions = stages.load_questions("paper", str(folder), config=CPU)
    assert isinstance(questions, Seq2SeqQuestions)
    assert questions.template == "highlight-spaced"


@pytest.mark.parametrize(("chunk_size", "rows"), [(0, 2), (3000, 1)])
def test_a_chunk_of_the_requested_size_is_read_in_one_piece(
    saved: dict[str, str], chunk_size: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from q2_metric.models.hub.yes_no import YesNoEntailment
    from q2_metric.types import Verdict

    backbone = stages.load_backbone(
        "bundled", saved["questions"], config=CPU, chunk_size=chunk_size)
    assert isinstance(backbone, YesNoEntailment)
    read: list[int] = []

    def run(given: list[Any], _run: Any) -> list[Verdict]:
        read.append(len(given))
        return [Verdict(0.5, 0.5)] * len(given)

    monkeypatch.setattr(backbone.batches, "run", run)
    chunk = "dog " * 4000
    end = backbone.offsets(chunk)[2999][1]
    backbone.judge([(chunk[:end], "a cat")])
    assert read == [rows]


def test_the_papers_presets_score_every_response(mine: Preset) -> None:
    from q2_metric.metrics.nli import EndToEndNli
    from q2_metric.metrics.q2 import Q2
    from q2_metric.metrics.scale import Scale

    thanks = [Example("thanks!", "A dog runs.")]
    for metric in (EndToEndNli, Q2, Scale):
        (ours,) = metric.from_preset(mine, device="cpu").score(thanks)  # type: ignore[arg-type]
        assert ours.reason == "no_claim"
        paper = replace(mine, scores_all=True)
        (theirs,) = metric.from_preset(paper, device="cpu").score(thanks)  # type: ignore[arg-type]
        assert theirs.value is not None
    assert {one.name for one in PRESETS.values() if one.scores_all} == {
        "paper", "paper-exact", "paper-small"}
