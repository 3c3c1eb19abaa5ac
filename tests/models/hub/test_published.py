"""The presets' models, by stand-ins with their tokenizer classes, configs and files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from published_models import STAND_INS, build, names

from q2_metric.models.presets import PRESETS

CLASSES = {
    "mrm8488/t5-base-finetuned-question-generation-ap": "T5Tokenizer",
    "ktrapeznikov/albert-xlarge-v2-squad-v2": "AlbertTokenizer",
    "boychaboy/SNLI_roberta-large": "RobertaTokenizer",
    "deepset/deberta-v3-large-squad2": "DebertaV2Tokenizer",
    "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli": "DebertaV2Tokenizer",
    "google/flan-t5-xl": "T5Tokenizer",
}


def test_every_published_model_has_a_stand_in() -> None:
    used = {getattr(preset, stage).model for preset in PRESETS.values()
            for stage in ("questions", "reader", "nli", "scale")}
    assert used - {""} == set(STAND_INS) == set(names())


@pytest.mark.parametrize("name", CLASSES)
def test_the_stand_ins_are_read_by_the_real_classes(name: str, stand_ins: Path) -> None:
    from transformers import AutoTokenizer

    assert type(AutoTokenizer.from_pretrained(build(name, stand_ins))).__name__ == CLASSES[name]
