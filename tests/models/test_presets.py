"""The presets' table, and the stages that need no torch."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from q2_metric.errors import InputError, MissingExtra
from q2_metric.models import stages
from q2_metric.models.presets import PRESETS, Stage, preset
from q2_metric.runtime_config import RuntimeConfig

# --- the table --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "questions", "reader", "nli", "scale"),
    [
        ("bundled", "", "", "", ""),
        ("bundled-small", "", "", "", ""),
        (
            "paper",
            "mrm8488/t5-base-finetuned-question-generation-ap",
            "ktrapeznikov/albert-xlarge-v2-squad-v2",
            "boychaboy/SNLI_roberta-large",
            "google/flan-t5-xl",
        ),
        (
            "paper-exact",
            "mrm8488/t5-base-finetuned-question-generation-ap",
            "ktrapeznikov/albert-xlarge-v2-squad-v2",
            "boychaboy/SNLI_roberta-large",
            "google/flan-t5-xl",
        ),
        (
            "paper-small",
            "valhalla/t5-small-qa-qg-hl",
            "twmkn9/albert-base-v2-squad2",
            "boychaboy/SNLI_roberta-large",
            "google/flan-t5-base",
        ),
        (
            "modern",
            "lmqg/flan-t5-large-squad-qg",
            "deepset/deberta-v3-large-squad2",
            "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
            "lytang/MiniCheck-Flan-T5-Large",
        ),
    ],
)
def test_the_models(name: str, questions: str, reader: str, nli: str, scale: str) -> None:
    found = preset(name)
    stages = (found.questions, found.reader, found.nli, found.scale)
    assert tuple(stage.model for stage in stages) == (questions, reader, nli, scale)
    ours = name.startswith("bundled")
    assert found.needs_network is not ours
    assert found.extra == ("" if ours else "torch")
    assert found.name == name
    assert found.description


def test_the_formats_are_the_models_own() -> None:
    assert {name: item.questions.template for name, item in PRESETS.items()} == {
        "bundled": "",
        "bundled-small": "",
        "paper": "answer-context",
        "paper-exact": "answer-context",
        "paper-small": "highlight-spaced",
        "modern": "highlight",
    }
    assert {name: item.scale.template for name, item in PRESETS.items()} == {
        "bundled": "",
        "bundled-small": "",
        "paper": "scale",
        "paper-exact": "scale-score",
        "paper-small": "scale",
        "modern": "minicheck",
    }


def test_only_the_settings_of_a_recipe_stay_with_other_models() -> None:
    exact = preset("paper-exact")
    assert exact.settings("q2", "./mine") == exact.settings("q2", None) == {
        "recipe": "authors"}
    assert exact.settings("scale", "./mine")["chunk_size"] == 1000
    for name in ("bundled", "modern"):
        assert preset(name).settings("scale", None)
        assert preset(name).settings("scale", "./mine") == {}


def test_every_format_is_known() -> None:
    from q2_metric.models.hub.questions import TEMPLATES
    from q2_metric.models.hub.yes_no import PROMPTS

    for item in PRESETS.values():
        assert item.questions.template in ("", *TEMPLATES)
        assert item.scale.template in ("", *PROMPTS)


def test_a_preset_is_frozen_and_given_back_as_it_is() -> None:
    mine = dataclasses.replace(preset("paper"), name="mine", reader=Stage("reader", "a/b"))
    assert preset(mine) is mine
    with pytest.raises(dataclasses.FrozenInstanceError):
        mine.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "hint"), [("papr", "'paper'"), ("Bundled", "'bundled'"), ("moderne", "'modern'")]
)
def test_an_unknown_preset_names_the_known_ones(name: str, hint: str) -> None:
    known = "bundled, bundled-small, paper, paper-exact, paper-small, modern"
    with pytest.raises(InputError, match=known) as caught:
        preset(name)
    assert f"did you mean {hint}" in str(caught.value)


def test_a_far_off_name_gets_no_guess() -> None:
    with pytest.raises(InputError) as caught:
        preset("xyz")
    assert "did you mean" not in str(caught.value)


def test_importing_the_presets_imports_nothing_heavy() -> None:
    code = (
        "import sys, q2_metric.models.stages\n"
        "print([name for name in ('torch', 'transformers', 'spacy', 'onnxruntime', 'numpy')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["paper", "paper-small", "modern"])
@pytest.mark.parametrize(
    "load",
    [stages.load_questions, stages.load_reader, stages.load_nli, stages.load_backbone],
)
def test_without_torch_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, load: Any
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"q2-metric\[torch\]"):
        load(name)


# --- stages that come with the package --------------------------------------------------


def test_the_bundled_stages_need_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loaders pass on where and how to run; torch is not even importable here."""
    made: list[tuple[Any, ...]] = []

    class Stub:
        def __init__(self, *options: Any) -> None:
            made.append(options)

    for package in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    bundled = type(sys)("q2_metric.models.bundled.models")
    bundled.BundledReader = bundled.BundledEntailment = Stub  # type: ignore[attr-defined]
    bundled.BundledCascade = lambda *models: models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "q2_metric.models.bundled.models", bundled)
    stages.load_reader("bundled")
    stages.load_nli(config=RuntimeConfig(device="cpu", batch_size=4))
    on_gpu = RuntimeConfig(device="cuda", dtype="bfloat16")
    stages.load_backbone("bundled", config=on_gpu)
    stages.load_backbone("bundled-small")
    assert made == [
        ("auto", "auto", None),
        ("cpu", "auto", 4, "entailment"),
        ("cpu", "auto", 4, "wide"),
        ("cuda", "bfloat16", None, "entailment"),
        ("cuda", "bfloat16", None, "wide"),
        ("auto", "auto", None, "entailment"),
    ]
