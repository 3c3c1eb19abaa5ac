"""Settings: every allowed value, and what is said of every other."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeBackbone

from q2_metric.errors import InputError
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import (
    Q2Settings,
    ScaleSettings,
    refuse_unknown,
    settings_and_runtime,
)
from q2_metric.runtime_config import RuntimeConfig

Q2_VALUES: dict[str, tuple[Any, ...]] = {
    "decoding": ("beam", "greedy", "sample"),
    "questions_per_span": ("first_valid", "all"),
    "personal": ("remove", "keep"),
    "recipe": ("paper", "authors", "bundled"),
}


@pytest.mark.parametrize("name", Q2_VALUES)
def test_values_of_q2(name: str) -> None:
    for value in Q2_VALUES[name]:
        assert getattr(Q2Settings(**{name: value}), name) == value
    with pytest.raises(InputError) as caught:
        Q2Settings(**{name: "other"})
    assert str(caught.value) == (
        f"{name} must be one of {', '.join(Q2_VALUES[name])}, not 'other'")


@pytest.mark.parametrize("settings", [
    {"chunk_size": 1}, {"overlap": 0.0}, {"overlap": 0.99}, {"chunking": "knowledge"},
    {"chunking": "prompt"}, {"unit": "sentence"}, {"unit": "response"},
    {"recipe": "authors"}, {"recipe": "bundled"}, {"support": "attributable"},
    {"support": "consistent"},
    {"top_chunks": 0}, {"top_chunks": 1}, {"branches": 2},
])
def test_values_of_scale(settings: dict[str, Any]) -> None:
    ((name, value),) = settings.items()
    assert getattr(ScaleSettings(**settings), name) == value


@pytest.mark.parametrize(("settings", "message"), [
    ({"chunk_size": 0}, "chunk_size must be at least 1 token, not 0"),
    ({"overlap": 1.0}, "overlap must be at least 0 and below 1, not 1.0"),
    ({"overlap": -0.1}, "overlap must be at least 0 and below 1, not -0.1"),
    ({"chunking": "lines"}, "chunking must be one of knowledge, prompt, sentences, not 'lines'"),
    ({"unit": "word"}, "unit must be one of sentence, response, not 'word'"),
    ({"support": "maybe"}, "support must be one of attributable, consistent, not 'maybe'"),
    ({"recipe": "mine"}, "recipe must be one of paper, authors, bundled, not 'mine'"),
    ({"top_chunks": -1}, "top_chunks must be at least 0 (all), not -1"),
    ({"top_chunks": 1, "chunking": "prompt"}, "top_chunks cannot be used with chunking='prompt'"),
    ({"chunking": "sentences"}, "chunking='sentences' needs overlap=0"),
    ({"branches": 1}, "branches must be at least 2, not 1: the search would never end"),
    ({"chunk_size": "10"}, "chunk_size must be a whole number, not '10'"),
    ({"chunk_size": 10.0}, "chunk_size must be a whole number, not 10.0"),
    ({"overlap": None}, "overlap must be a number, not None"),
    ({"prompt": 3}, "prompt must be a string, not 3"),
])
def test_values_that_scale_cannot_have(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ScaleSettings(**settings)
    assert str(caught.value) == message


def test_chunks_of_prompts_need_a_prompt() -> None:
    with pytest.raises(InputError) as caught:
        Scale(FakeBackbone(), ScaleSettings(chunking="prompt"))
    assert str(caught.value) == "fake-backbone has no prompt: use chunking='knowledge'"


def test_what_is_given_counts_before_the_presets_and_that_before_the_papers() -> None:
    settings, config = settings_and_runtime(
        ScaleSettings, {"overlap": 0.5, "chunk_size": None, "device": "cpu"},
        {"chunk_size": 7, "overlap": 0.1})
    assert settings == ScaleSettings(chunk_size=7, overlap=0.5)
    assert config == RuntimeConfig(device="cpu")
    assert settings_and_runtime(ScaleSettings, {}) == (ScaleSettings(), RuntimeConfig())


@pytest.mark.parametrize(("given", "message"), [
    (["hive"], "unknown thing 'hive'; did you mean 'five'? (known: five, ten)"),
    (["five", "zzz"], "unknown thing 'zzz' (known: five, ten)"),
])
def test_unknown_names(given: list[str], message: str) -> None:
    refuse_unknown(["ten", "five"], ["five", "ten"], "thing")
    with pytest.raises(InputError) as caught:
        refuse_unknown(given, ["five", "ten"], "thing")
    assert str(caught.value) == message


@pytest.mark.parametrize(("settings", "message"), [
    ({"nli": "no"}, "nli must be True or False, not 'no'"),
    ({"fallback": 0}, "fallback must be True or False, not 0"),
    ({"seed": "x"}, "seed must be a whole number, not 'x'"),
    ({"seed": True}, "seed must be a whole number, not True"),
    ({"decoding": ["beam"]}, "decoding must be one of beam, greedy, sample, not ['beam']"),
])
def test_types_that_q2_cannot_have(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Q2Settings(**settings)
    assert str(caught.value) == message


def test_whole_numbers_are_numbers() -> None:
    assert ScaleSettings(overlap=0, prompt=None).overlap == 0


@pytest.mark.parametrize(("keywords", "message"), [
    ({"batch_size": "8"}, "batch_size must be a whole number, not '8'"),
    ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
    ({"device": 0}, "device must be a string, not 0"),
])
def test_values_that_a_runtime_config_cannot_have(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        RuntimeConfig(**keywords)
    assert str(caught.value) == message
