"""Which of two texts a token belongs to reaches the model, whatever the tokenizer's class says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from hub_models import NLI, QA, load
from published_models import WIDTH, build, random_model
from published_tokenizers import byte_level, pieces, sentencepiece, word_pieces, write

from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.reader import TorchReader

SIZES: dict[str, Any] = {
    "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 512,
}
THREE = {"id2label": {0: "entailment", 1: "neutral", 2: "contradiction"},
         "label2id": {"entailment": 0, "neutral": 1, "contradiction": 2}}
PAIRS = [("Who is (it)?", "The king sailed north in 1994, e.g. by the sea."),
         ("Where does he live?", "He lives in Hallstatt."),
         ("How many?", "Ross hosted a show, which aired from 1983 to 1994 on PBS. " * 3)]


def albert(folder: Path) -> dict[str, Any]:
    write(folder, spiece__model=sentencepiece("albert"))
    return {"model_type": "albert", "vocab_size": pieces("albert"), "embedding_size": 16,
            "pad_token_id": 0, **SIZES}


def xlnet(folder: Path) -> dict[str, Any]:
    write(folder, spiece__model=sentencepiece("xlnet"))
    return {"model_type": "xlnet", "vocab_size": pieces("xlnet"), "d_model": WIDTH, "n_layer": 2,
            "n_head": 4, "d_inner": 64, "pad_token_id": 5}


def funnel(folder: Path) -> dict[str, Any]:
    first = ("<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>")
    write(folder, vocab__txt=word_pieces(first))
    return {"model_type": "funnel", "vocab_size": 4000, "block_sizes": [1, 1], "d_model": WIDTH,
            "n_head": 4, "d_head": 8, "d_inner": 64, "num_decoder_layers": 1, "pad_token_id": 0}


def word_piece(kind: str) -> Any:
    def write_one(folder: Path) -> dict[str, Any]:
        specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        write(folder, vocab__txt=word_pieces((*specials, "[QUESTION]")))
        return {"model_type": kind, "vocab_size": 4000, "pad_token_id": 0, "embedding_size": WIDTH,
                **SIZES, **({"question_token_id": 5} if kind == "splinter" else {})}

    return write_one


def rembert(folder: Path) -> dict[str, Any]:
    write(folder, sentencepiece__model=sentencepiece("rembert"))
    return {"model_type": "rembert", "vocab_size": pieces("rembert"), "pad_token_id": 0,
            "input_embedding_size": 16, "output_embedding_size": 16, **SIZES}


def herbert(folder: Path) -> dict[str, Any]:
    """A BERT whose tokenizer is HerBERT's, as allegro/herbert-base-cased says in its config."""
    vocabulary, merges = byte_level()
    write(folder, vocab__json=vocabulary, merges__txt=merges,
          tokenizer_config__json={"tokenizer_class": "HerbertTokenizer"})
    return {"model_type": "bert", "vocab_size": 4000, "tokenizer_class": "HerbertTokenizerFast",
            "pad_token_id": 1, **SIZES}


FAMILIES = {"albert": albert, "xlnet": xlnet, "funnel": funnel, "rembert": rembert,
            "herbert": herbert, "splinter": word_piece("splinter"), "bert": word_piece("bert"),
            "electra": word_piece("electra"), "roformer": word_piece("roformer")}


def saved(folder: Path, family: str, auto_class: str) -> str:
    """A model of that family: its own tokenizer files, config and weights."""
    config = FAMILIES[family](folder)
    if auto_class == NLI:
        config |= THREE
    model = random_model(auto_class, config)
    model.save_pretrained(folder)
    write(folder, config__json={**config, "architectures": [type(model).__name__]})
    return str(folder)


def answered(stage: TorchReader | TorchNli) -> list[float]:
    """Numbers of what a stage says of the pairs: of an answer its place and its score."""
    if isinstance(stage, TorchNli):
        return [number for one in stage.judge(PAIRS) for number in (one.entailment, one.neutral)]
    return [number for one in stage.read(PAIRS)
            for number in ((one.start, len(one.text), one.score) if one else (-1, 0, 0.0))]


@contextmanager
def given(model: Any, *, without: bool = False) -> Iterator[list[Mapping[str, Any]]]:
    """What a model is called with; ``without`` takes the segments away."""
    seen: list[Mapping[str, Any]] = []

    def look(_: Any, __: Any, inputs: dict[str, Any]) -> Any:
        seen.append(dict(inputs))
        if without:
            inputs.pop("token_type_ids", None)
        return (), inputs

    handle = model.register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield seen
    finally:
        handle.remove()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("auto_class", [QA, NLI])
def test_segments_reach_the_model_and_change_what_it_says(
    family: str, auto_class: str, tmp_path: Path
) -> None:
    if family == "roformer":
        pytest.importorskip("rjieba")
    if family == "splinter" and auto_class == NLI:
        pytest.skip("transformers has no Splinter that classifies")
    stage = TorchReader if auto_class == QA else TorchNli
    loaded = load(stage, saved(tmp_path, family, auto_class))
    with given(loaded.model) as seen:
        answers = answered(stage(loaded))
    wanted = {tuple(loaded.tokenizer.backend_tokenizer.encode(*pair).type_ids) for pair in PAIRS}
    got = {tuple(row[mask.bool()].tolist()) for inputs in seen
           for row, mask in zip(inputs["token_type_ids"], inputs["attention_mask"], strict=True)}
    assert got == wanted
    assert all(1 in types for types in got)
    with given(loaded.model, without=True):
        assert answered(stage(loaded)) != pytest.approx(answers, abs=1e-4)


@pytest.mark.parametrize("family", ["xlnet", "bert"])
@pytest.mark.parametrize("auto_class", [QA, NLI])
def test_padding_changes_nothing(family: str, auto_class: str, tmp_path: Path) -> None:
    """XLNet's classifier reads the last token, so its rows are padded on the left."""
    stage = TorchReader if auto_class == QA else TorchNli
    loaded = load(stage, saved(tmp_path, family, auto_class))
    alone = answered(stage(loaded, batch_size=1))
    assert answered(stage(loaded, batch_size=3)) == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("name", [
    "ktrapeznikov/albert-xlarge-v2-squad-v2", "twmkn9/albert-base-v2-squad2"])
def test_the_papers_readers_have_their_segments(name: str, stand_ins: Path) -> None:
    reader = TorchReader(_pickled(name, stand_ins))
    with given(reader._loaded.model) as seen:
        reader.read(PAIRS)
    assert all(int(inputs["token_type_ids"].max()) == 1 for inputs in seen)


def _pickled(name: str, stand_ins: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        folder = str(build(name, stand_ins))
        patch.setenv("Q2_ALLOW_PICKLES", folder)
        return load(TorchReader, folder)


def test_a_model_without_segments_gets_none(stand_ins: Path) -> None:
    name = "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
    loaded = load(TorchNli, str(build(name, stand_ins)))
    with given(loaded.model) as seen:
        TorchNli(loaded).judge(PAIRS)
    assert [set(inputs) for inputs in seen] == [{"input_ids", "attention_mask"}]
    assert torch.is_tensor(seen[0]["input_ids"])
