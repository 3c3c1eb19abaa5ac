"""What a metric takes from a preset, and what the caller puts in its place."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import (
    FakeBackbone,
    FakeClaimFinder,
    FakeEntailment,
    FakeQuestions,
    FakeReader,
    FakeResolver,
)

from q2_metric.english.parse.parser import (
    AuthorsPersonal,
    AuthorsSpans,
    SpacyPersonal,
    SpacySpans,
)
from q2_metric.errors import InputError
from q2_metric.metrics import load_metrics
from q2_metric.metrics.authors import AuthorsProgramQ2
from q2_metric.metrics.groundedness import Groundedness
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.signature import parse
from q2_metric.models import stages
from q2_metric.models.presets import PRESETS, Preset
from q2_metric.runtime_config import RuntimeConfig
from q2_metric.types import Example

BUNDLED = PRESETS["bundled"]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Any, ...]]:
    """What each stage was asked for; a stage is called by the model that it was made of."""
    found: dict[str, tuple[Any, ...]] = {}

    def loader(stage: str, kind: Any) -> Any:
        def load(preset: Preset | None = None, model: str | None = None,
                 config: RuntimeConfig | None = None, **keywords: Any) -> Any:
            assert preset is None or isinstance(preset, Preset)
            found[stage] = (preset and preset.name, model, config, keywords)
            made = kind()
            made.name = model or f"{preset.name if preset else 'own'}-{stage}"
            return made

        return load

    for stage, kind in {
        "questions": FakeQuestions, "reader": FakeReader, "nli": FakeEntailment,
        "backbone": FakeBackbone,
    }.items():
        monkeypatch.setattr(stages, f"load_{stage}", loader(stage, kind))

    def coreference(model: str | None) -> FakeResolver:
        found["coreference"] = (model,)
        return FakeResolver({})

    monkeypatch.setattr(stages, "check", lambda preset, replaced: None)
    monkeypatch.setattr(stages, "load_coreference", coreference)
    monkeypatch.setattr("q2_metric.metrics.bundled_scale.BundledScale.claims", FakeClaimFinder())
    return found


def test_q2_of_a_preset(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = Q2.from_preset("paper")
    plain = RuntimeConfig()
    assert asked["reader"] == ("paper", None, plain, {"authors": False})
    assert asked["nli"] == ("paper", None, plain, {"labels": None})
    assert (type(metric.spans), type(metric.personal)) == (SpacySpans, SpacyPersonal)
    decoding = {"decoding": "beam", "seed": 0, "reading": "response",
                "authors": False}
    assert asked["questions"] == ("paper", None, plain, decoding)
    assert "coreference" not in asked, "it is not even loaded"
    name, settings = parse(metric.signature)
    assert (name, settings["preset"], settings["coref"]) == ("q2", "paper", "off")
    assert [settings[stage] for stage in ("spans", "qg", "reader", "nli")] == [
        "spacy", "paper-questions", "paper-reader", "paper-nli"]
    assert metric.score([Example("Rome has hills.", "Rome has hills.")])[0].value == 1.0
    assert parse(Q2.from_preset().signature)[1]["preset"] == "bundled"


def test_a_setting_of_the_other_metric() -> None:
    with pytest.raises(InputError, match="'chunk_size' is a setting of SCALE alone"):
        Q2.from_preset(chunk_size=100)
    with pytest.raises(InputError, match="'decoding' is a setting of Q² alone"):
        Scale.from_preset(decoding="beam")


def test_q2_with_other_models(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = Q2.from_preset(
        "paper", question_model="a/asks", reader_model="a/reads", nli_model="a/judges",
        coreference_model="a/resolves", coreference=True, decoding="sample", seed=7,
        device="cpu", batch_size=3)
    on = RuntimeConfig(device="cpu", batch_size=3)
    assert asked["questions"] == (
        "paper", "a/asks", on,
        {"decoding": "sample", "seed": 7, "reading": "response", "authors": False})
    assert asked["reader"] == ("paper", "a/reads", on, {"authors": False})
    assert asked["nli"] == ("paper", "a/judges", on, {"labels": None})
    assert asked["coreference"] == ("a/resolves",)
    assert parse(metric.signature)[1]["coref"] == "fake-coreference"


def test_the_authors_recipe_is_that_of_every_stage(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = Q2.from_preset("paper-exact", nli_model="a/judges")
    assert (type(metric.spans), type(metric.personal)) == (AuthorsSpans, AuthorsPersonal)
    for stage in ("questions", "reader"):
        assert asked[stage][-1]["authors"] is True
    assert asked["questions"][-1]["reading"] == "response"
    assert "|recipe:authors|" in metric.signature
    assert type(metric) is AuthorsProgramQ2


def test_settings_of_a_preset_are_those_of_its_models() -> None:
    """Another NLI model has the paper's settings, and so has SCALE with another model."""
    of_paper = parse(Q2.from_preset("bundled", nli_model="a/judges").signature)[1]
    assert Q2.from_preset("bundled", nli_model="a/judges").settings == Q2.from_preset(
        "paper").settings
    ours = Q2.from_preset("bundled").settings
    assert BUNDLED.q2_settings
    assert {name: getattr(ours, name) for name in BUNDLED.q2_settings} == BUNDLED.q2_settings
    assert "recipe" not in of_paper
    given = Q2.from_preset("bundled", seed=25).settings
    assert given.seed == 25
    assert given.recipe == ours.recipe == "bundled"
    scale = Scale.from_preset("bundled").settings
    assert BUNDLED.scale_settings
    assert {name: getattr(scale, name)
            for name in BUNDLED.scale_settings} == BUNDLED.scale_settings
    assert Scale.from_preset("bundled", scale_model="a/judges").settings.chunk_size == 512
    assert Scale.from_preset("bundled", chunk_size=33).settings.chunk_size == 33


def test_scale_of_a_preset_and_with_another_model(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = Scale.from_preset("paper")
    assert asked["backbone"] == ("paper", None, RuntimeConfig(),
                                 {"prompt": None, "labels": None, "chunk_size": 512})
    assert parse(metric.signature)[1]["preset"] == "paper"
    assert metric.score([Example("Rome has hills.", "Rome has hills.")])[0].value == 1.0
    metric = Scale.from_preset("paper", scale_model="a/b", prompt="minicheck", device="cpu")
    assert asked["backbone"] == ("paper", "a/b", RuntimeConfig(device="cpu"),
                                 {"prompt": "minicheck", "labels": None, "chunk_size": 512})
    assert parse(metric.signature)[1]["backbone"] == "a/b"
    assert parse(Scale.from_preset().signature)[1]["preset"] == "bundled"


def test_nli_of_a_preset_and_with_another_model(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = EndToEndNli.from_preset("paper", device="cpu")
    assert asked["nli"] == ("paper", None, RuntimeConfig(device="cpu"), {"labels": None})
    assert parse(metric.signature)[1]["preset"] == "paper"
    assert parse(EndToEndNli.from_preset(nli_model="a/b").signature)[1] | {"version": ""} == {
        "preset": "bundled", "nli": "a/b", "version": ""}


def test_groundedness_of_a_preset(asked: dict[str, tuple[Any, ...]]) -> None:
    metric = Groundedness.from_preset("bundled", device="cpu", batch_size=3)
    assert asked["backbone"][:3] == ("bundled", None, RuntimeConfig(device="cpu", batch_size=3))
    settings = metric.scale.settings
    name, signed = parse(metric.signature)
    del signed["version"]
    assert (name, signed) == ("groundedness", {
        "preset": "bundled", "head": metric.head.name, "backbone": "bundled-backbone",
        "chunk": str(settings.chunk_size), "top_chunks": str(settings.top_chunks),
        "recipe": "bundled", "support": "consistent", "weights": "0.15,0.15",
        "claims": "whole"})
    assert parse(Groundedness.from_preset().signature)[1]["preset"] == "bundled"
    with pytest.raises(InputError) as caught:
        Groundedness.from_preset("paper")
    assert str(caught.value) == (
        "groundedness was not fitted for the preset 'paper', only for bundled, bundled-small")


@pytest.mark.parametrize(("name", "given", "message"), [
    ("q2", {"decode": "beam"}, "unknown setting 'decode'; did you mean 'decoding'? (known: "
     "decoding, questions_per_span, "),
    ("scale", {"chunk": 3}, "unknown setting 'chunk'; did you mean 'chunking'? (known: chunk_size"),
    ("nli", {"devise": "cpu"}, "unknown setting 'devise'; did you mean 'device'? (known: "),
    ("nli", {"zzz": 1}, "unknown setting 'zzz' (known: nli_labels, "),
])
def test_a_keyword_that_there_is_not(name: str, given: dict[str, Any], message: str) -> None:
    kinds: dict[str, Any] = {"q2": Q2, "scale": Scale, "nli": EndToEndNli}
    with pytest.raises(InputError) as caught:
        kinds[name].from_preset("bundled", **given)
    assert str(caught.value).startswith(message)


def test_each_metric_takes_the_keywords_that_it_has(asked: dict[str, tuple[Any, ...]]) -> None:
    loaded = load_metrics(
        ["q2", "scale", "knowledge_f1"], "paper", device="cpu", chunk_size=33, seed=5,
        reader_model="a/b",
        scale_model=None)
    assert [parse(metric.signature)[0] for metric in loaded] == ["q2", "scale", "knowledge_f1"]
    assert asked["reader"] == ("paper", "a/b", RuntimeConfig(device="cpu"), {"authors": False})
    assert asked["backbone"][:2] == ("paper", None)
    assert parse(loaded[1].signature)[1]["chunk"] == "33"
    assert parse(load_metrics(["scale"])[0].signature)[1]["preset"] == "bundled"
