"""SCALE's scores are those of the authors' package scale-score, on the same weights."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from fakes import FakeBackbone
from hypothesis import given
from hypothesis import strategies as st

from q2_metric import Example, InputError, Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.hub.loading import LoadedModel
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.models.presets import preset
from q2_metric.text.windows import authors_windows
from tools.benchmarks import scale_parity

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "scale_score.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return scale_parity.tiny_t5(tmp_path_factory.mktemp("t5"))


def test_the_golden_texts_are_those_of_the_seed(model: LoadedModel) -> None:
    tokens = [len(model.tokenizer(text)["input_ids"]) - 1 for text, _ in scale_parity.texts()]
    assert (GOLDEN["seed"], GOLDEN["tokens"]) == (scale_parity.SEED, tokens)
    assert (min(tokens), max(tokens)) == (1, 20_000)


@pytest.mark.parametrize("row", GOLDEN["settings"],
                         ids=lambda row: f"{row['chunk_size']}-{row['overlap']}")
def test_scores_equal_the_authors_package(model: LoadedModel, row: dict[str, object]) -> None:
    found = scale_parity.ours(model, row["chunk_size"], row["overlap"])  # type: ignore[arg-type]
    assert found == pytest.approx(row["scores"], abs=1e-4)


@pytest.mark.skipif(importlib.util.find_spec("scale_score") is None,
                    reason="scale-score is not installed (pip install --no-deps scale-score)")
@pytest.mark.parametrize(("chunk_size", "overlap"), [(100, 0.25), (256, 0.5)])
def test_scores_equal_the_installed_package(
    model: LoadedModel, chunk_size: int, overlap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = scale_parity.texts()[:15]
    monkeypatch.setattr(scale_parity, "texts", lambda: short)
    expected = scale_parity.theirs(model, chunk_size, overlap)
    assert scale_parity.ours(model, chunk_size, overlap) == pytest.approx(expected, abs=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("scale_score") is None,
                    reason="scale-score is not installed (pip install --no-deps scale-score)")
def test_the_preset_paper_exact_equals_the_installed_package(model: LoadedModel) -> None:
    from scale_score.score import score

    settings = ScaleSettings(**preset("paper-exact").scale_settings)
    metric = Scale(YesNoEntailment(model, prompt="scale-score"), settings)
    texts = scale_parity.texts()[8:16]  # 480 to 1,500 words: some in one chunk, some in several
    rows = [Example(f" {one}. {two}!\nhello !", knowledge)
            for (knowledge, one), (_, two) in itertools.pairwise(texts)]
    expected = score([row.knowledge for row in rows], [[row.response] for row in rows],
                     device="cpu", model=model.model, tokenizer=model.tokenizer)
    assert [one.value for one in metric.score(rows)] == pytest.approx(expected, abs=1e-6)


def test_where_all_fits_one_chunk_both_ways_of_counting_agree(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = scale_parity.texts()[:8]
    monkeypatch.setattr(scale_parity, "texts", lambda: short)
    by_knowledge = scale_parity.ours(model, 512, 0.25, "knowledge")
    assert by_knowledge == pytest.approx(scale_parity.ours(model, 512, 0.25), abs=1e-5)


def test_a_sentence_as_long_as_the_chunk_is_cut_where_scale_score_fails(model: LoadedModel) -> None:
    document, sentence = scale_parity.texts()[11]
    settings = ScaleSettings(chunk_size=60, chunking="prompt", recipe="authors")
    metric = Scale(YesNoEntailment(model), settings)
    (score,) = metric.score([Example(sentence * 2, document)])
    assert score.value is not None
    assert 0 < score.value < 1
    metric = Scale(YesNoEntailment(model),
                   ScaleSettings(chunk_size=12, chunking="prompt", recipe="authors"))
    with pytest.raises(InputError, match="leaves no room"):
        metric.score([Example(sentence, document)])


def test_blank_knowledge_has_no_score(model: LoadedModel) -> None:
    metric = Scale(YesNoEntailment(model), ScaleSettings(chunking="prompt"))
    found = metric.score([Example("A dog.", " "), Example("A dog.", "A red dog.")])
    assert found[0].value is None
    assert found[1].value is not None


def test_the_signature_says_how_chunks_are_counted(model: LoadedModel) -> None:
    backbone = YesNoEntailment(model, prompt="scale-score")
    assert "|chunking:prompt|" in Scale(backbone, ScaleSettings(chunking="prompt")).signature
    assert "chunking" not in Scale(backbone).signature
    with pytest.raises(InputError, match="fake-backbone has no prompt"):
        Scale(FakeBackbone(), ScaleSettings(chunking="prompt"))
    with pytest.raises(InputError, match="chunking must be"):
        ScaleSettings(chunking="words")  # type: ignore[arg-type]


@given(st.integers(1, 3000), st.integers(2, 500), st.sampled_from([0.0, 0.25, 0.5]))
def test_the_authors_windows(count: int, size: int, overlap: float) -> None:
    found = authors_windows(count, size, overlap)
    step = int(size * (1 - overlap))
    assert found[0] == (0, min(size, count))
    assert all(first < last <= min(first + size, count) for first, last in found)
    assert all(b - a == step for (a, _), (b, _) in itertools.pairwise(found))
