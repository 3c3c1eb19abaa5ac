"""Tokenizers cut texts as SentencePiece itself does, from the files that the Hub has."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import sentencepiece as spm
from hub_models import NLI, QA
from published_models import build, deberta
from published_tokenizers import corpus, sentencepiece

from q2_metric.models.hub.batches import raw_offsets, token_ids
from q2_metric.models.hub.loading import load_pretrained
from q2_metric.models.hub.reader import TorchReader

TEXTS = [
    "He said: “ﬁne” … ½ of it. e.g. a well-known (small) boat in the U.S. cost £1.50, or 2€",
    "  two  blanks\tand\nlines ", "Ⅷ ㎏ ﬃ x² ™ ⁇ ￥ ａｂｃ １２３", "naïve Ångström ñ café",
    "emoji 😀 漢字 ア", "a\u00a0b\u3000c", "Zoë’s – em—dash...", "``quoted'' \"so\"",
]
POOL = "abc DEF 12.-()\"–£€½ﬁ…²Ⅷ™é \t\n\u00a0😀漢"
ALBERT = "ktrapeznikov/albert-xlarge-v2-squad-v2"
NAMES = {
    ALBERT: "albert",
    "mrm8488/t5-base-finetuned-question-generation-ap": "t5",
    "google/flan-t5-xl": "t5",
    "deepset/deberta-v3-large-squad2": "deberta-v3",
    "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli": "deberta-v3",
}


def texts() -> list[str]:
    draw = random.Random(0)
    drawn = ["".join(draw.choice(POOL) for _ in range(draw.randint(1, 30))) for _ in range(300)]
    return [*TEXTS, *corpus()[80:200], *drawn]


def by_sentencepiece(kind: str, text: str) -> list[int]:
    """The ids of the original tokenizer; ALBERT's cleans the text first, as in its paper's code."""
    if kind == "albert":
        text = " ".join(text.split()).replace("``", '"').replace("''", '"')
        text = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in text if not unicodedata.combining(one)).lower()
    ids: list[int] = spm.SentencePieceProcessor(model_proto=sentencepiece(kind)).encode(text)
    return ids


def loaded(name: str, folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("Q2_ALLOW_PICKLES", str(folder))
        task: Any = "AutoModelForSeq2SeqLM" if "t5" in name else QA if "squad" in name else NLI
        return load_pretrained(task, str(folder), "cpu")


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_those_of_sentencepiece(name: str, stand_ins: Path) -> None:
    tokenizer = loaded(name, build(name, stand_ins)).tokenizer
    kind = NAMES[name]
    # A comma behind a number is another matter with ALBERT: see below.
    asked = [text for text in texts() if kind != "albert" or "," not in text]
    assert len(asked) > 300
    pieces = spm.SentencePieceProcessor(model_proto=sentencepiece(kind))

    def likelihood(ids: list[int]) -> float:
        return sum(pieces.get_score(one) for one in ids)

    for text in asked:
        ids, expected = token_ids(tokenizer, text), by_sentencepiece(kind, text)
        # Two cuts of a text can be equally likely; either is right then.
        assert ids == expected or (
            pieces.decode(ids) == pieces.decode(expected)
            and likelihood(ids) == pytest.approx(likelihood(expected), abs=1e-4)), text


def test_albert_parts_a_comma_from_its_number(stand_ins: Path) -> None:
    tokenizer = loaded(ALBERT, build(ALBERT, stand_ins)).tokenizer
    joined = [piece.strip("▁") for piece, _ in tokenizer._vocab_scores
              if piece[-1:] == "," and piece[-2:-1].isdigit()]
    assert joined
    for text in joined:
        assert [token for token in tokenizer.tokenize(f"in {text} it was")
                if token[-1] == "," and token != ","] == []
    assert "." not in tokenizer.all_special_tokens


def test_a_lone_tokenizer_json_keeps_its_normaliser(tmp_path: Path) -> None:
    deberta(tmp_path, QA, seed=0, fast=True, architectures=["DebertaV2ForQuestionAnswering"])
    (tmp_path / "spm.model").unlink()
    tokenizer = loaded("squad", tmp_path).tokenizer
    for text in TEXTS:
        assert token_ids(tokenizer, text) == by_sentencepiece("deberta-v3", text), text


def test_places_are_those_of_the_text_as_it_is_written(stand_ins: Path) -> None:
    name = "deepset/deberta-v3-large-squad2"
    model = loaded(name, build(name, stand_ins))
    text = "The “ﬁne” museum … sold ½ of its boats in ﬁve days."
    cut = [text[start:end] for start, end in raw_offsets(model.tokenizer, text)]
    assert "…" in {one.strip() for one in cut}
    assert not set(cut) - {text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)}
    (answer,) = TorchReader(model, threshold=-1e9).read([("Who?", text)])
    assert answer is not None
    assert text[answer.start :].startswith(answer.text)
