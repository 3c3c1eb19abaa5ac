"""The presets' models, by stand-ins with their tokenizer classes, configs and files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from local_hub import LocalHub
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
LOADS = """
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer, model = (one.from_pretrained("google/flan-t5-xl")
                    for one in (AutoTokenizer, AutoModelForSeq2SeqLM))
print(len(tokenizer), model.dtype)
"""


def test_every_published_model_has_a_stand_in() -> None:
    used = {getattr(preset, stage).model for preset in PRESETS.values()
            for stage in ("questions", "reader", "nli", "scale")}
    assert used - {""} == set(STAND_INS) == set(names())


@pytest.mark.parametrize("name", CLASSES)
def test_the_stand_ins_are_read_by_the_real_classes(name: str, stand_ins: Path) -> None:
    from transformers import AutoTokenizer

    assert type(AutoTokenizer.from_pretrained(build(name, stand_ins))).__name__ == CLASSES[name]


def test_the_local_hub_serves_them_under_their_names(stand_ins: Path, tmp_path: Path) -> None:
    build("google/flan-t5-xl", stand_ins)
    with LocalHub(stand_ins).serving() as hub:
        done = subprocess.run([sys.executable, "-c", LOADS], env=hub.environment(tmp_path),
                              capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["800", "torch.float32"]
    assert "google/flan-t5-xl/model-00002-of-00002.safetensors" in hub.downloads()
