"""Which class an output stands for: by the config, by a preset, by the user; and who has none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from published_models import build, flan, snli
from published_tokenizers import write

from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2Settings
from q2_metric.metrics.scale import Scale
from q2_metric.models import stages
from q2_metric.models.hub.nli import entailment_kind
from q2_metric.models.presets import LABELS, PRESETS
from q2_metric.runtime_config import RuntimeConfig

SNLI = "boychaboy/SNLI_roberta-large"
CPU = RuntimeConfig(device="cpu")
PAIR = ("The king sailed north.", "A king was at sea.")


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    # The stand-ins are folders here, and a folder is not trusted by its name.
    monkeypatch.setenv("Q2_ALLOW_PICKLES", ",".join([SNLI, str(tmp_path / "m")]))
    yield
    stages.clear_cache()


def by_hand(nli: Any) -> list[float]:
    """The chances of a classifier's outputs, in their order."""
    loaded = nli._loaded
    inputs = loaded.tokenizer(*PAIR, return_tensors="pt")
    with torch.no_grad():
        logits = loaded.model(**inputs).logits[0]
    chances: list[float] = logits.softmax(dim=-1).tolist()
    return chances


def test_the_preset_knows_its_models_classes(
    stand_ins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(SNLI, stand_ins)
    monkeypatch.chdir(stand_ins)
    nli = stages.load_nli("paper", config=CPU)
    (verdict,) = nli.judge([PAIR])
    assert [verdict.entailment, verdict.neutral, verdict.contradiction] == pytest.approx(
        by_hand(nli), abs=1e-6)
    # So does any other preset in which the model is used.
    again = stages.load_nli("bundled", SNLI, config=CPU)
    assert again.judge([PAIR]) == [verdict]


def test_the_table_is_summacs() -> None:
    for name, labels in LABELS.items():
        first = ("entailment", "neutral") if "SNLI" in name else ("entailment", "contradiction")
        assert labels[:2] == first
    assert PRESETS["paper"].nli.labels == LABELS[SNLI]


@pytest.mark.parametrize(("config", "order"), [
    ({"id2label": {"0": "SUPPORTS", "1": "REFUTES", "2": "NOT ENOUGH INFO"}}, (0, 2, 1)),
    ({"id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}, (1, 2, 0)),
])
def test_names_in_the_config(tmp_path: Path, config: dict[str, Any], order: Any) -> None:
    snli(tmp_path / "m", **config)
    nli = stages.load_nli("bundled", str(tmp_path / "m"), config=CPU)
    (verdict,) = nli.judge([PAIR])
    hand = by_hand(nli)
    assert [verdict.entailment, verdict.neutral, verdict.contradiction] == pytest.approx(
        [hand[i] for i in order], abs=1e-6)


@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1", "2")])
def test_a_model_without_names_needs_them_and_takes_them(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    folder = str(tmp_path / "m")
    snli(tmp_path / "m", id2label=dict(enumerate(names)))
    for metric in (EndToEndNli, Scale):
        model = {"nli_model" if metric is EndToEndNli else "scale_model": folder}
        with pytest.raises(ModelError, match="-s nli_labels=entailment,neutral,contradiction"):
            metric.from_preset("bundled", **model, device="cpu")
        signed = set()
        for labels in ("contradiction,neutral,entailment", "entailment, neutral, contradiction"):
            made = metric.from_preset("bundled", **model, device="cpu", nli_labels=labels)
            signed.add(made.signature)
            assert f"[{labels.replace(' ', '')}]" in made.signature
        assert len(signed) == 2


def test_labels_that_cannot_be(tmp_path: Path) -> None:
    snli(tmp_path / "m", id2label={"0": "contradiction", "1": "neutral", "2": "entailment"})
    with pytest.raises(InputError, match="its config says that its outputs are contradiction"):
        EndToEndNli.from_preset("bundled", nli_model=str(tmp_path / "m"), device="cpu",
                                nli_labels="entailment,neutral,contradiction")
    for wrong in ("", "yes,no", "neutral,contradiction", "entailment,entailment", "entailment"):
        with pytest.raises(InputError, match="nli_labels must name"):
            Q2Settings(nli_labels=wrong)
    with pytest.raises(InputError, match="the bundled models know their classes"):
        EndToEndNli.from_preset("bundled", nli_labels="entailment,neutral")


OWN_CODE: dict[str, Any] = {
    "architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2",
    "auto_map": {"AutoConfig": "configuration_hhem_v2.HHEMv2Config",
                 "AutoModelForSequenceClassification":
                     "modeling_hhem_v2.HHEMv2ForSequenceClassification"}}
INTERN: dict[str, Any] = {
    "architectures": ["InternLM2ForCausalLM"], "model_type": "internlm2", "auto_map": {
        "AutoConfig": "configuration_internlm2.InternLM2Config",
        "AutoModelForCausalLM": "modeling_internlm2.InternLM2ForCausalLM"}}


@pytest.mark.parametrize(("name", "config", "kind"), [
    ("vectara/hallucination_evaluation_model", OWN_CODE, "needs code of its own"),
    ("bespokelabs/Bespoke-MiniCheck-7B", INTERN, "needs code of its own"),
    ("owner/llama", {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
     "is of an architecture (LlamaForCausalLM) that is neither a sequence classifier nor an "
     "encoder-decoder model"),
    ("yaxili96/FactCG-DeBERTa-v3-Large",
     {"architectures": ["DebertaV2ForSequenceClassification"], "model_type": "deberta-v2"},
     "is a classifier that needs its own prompt"),
    ("KRLabsOrg/lettucedect-base-modernbert-en-v1",
     {"architectures": ["ModernBertForTokenClassification"], "model_type": "modernbert"},
     "is of an architecture (ModernBertForTokenClassification) that is neither"),
    ("owner/reader", {"architectures": ["BertForQuestionAnswering"], "model_type": "bert"},
     "is of an architecture (BertForQuestionAnswering) that is neither"),
])
def test_models_with_a_way_of_their_own_are_refused(
    name: str, config: dict[str, Any], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / name, config__json=config)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as refused:
        entailment_kind(name)
    assert str(refused.value).startswith(f"{name}: {kind}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["google/flan-t5-base", "owner/tied"])
def test_yes_and_no_against_a_hand_computation(name: str, tmp_path: Path) -> None:
    """The head of a Flan-T5 is its own, and only a tied one's input is scaled."""
    from safetensors.torch import load_file

    flan(tmp_path / "m", seed=3)
    tied = "flan" not in name
    if tied:
        path = tmp_path / "m" / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "tie_word_embeddings": True}))
    backbone = stages.load_backbone("bundled", str(tmp_path / "m"), config=CPU)
    (verdict,) = backbone.judge([PAIR])
    weights = load_file(tmp_path / "m" / "model.safetensors")
    loaded = backbone._loaded  # type: ignore[attr-defined]
    text = f'{PAIR[0]} Question: does this imply "{PAIR[1]}"? Yes or no?'
    ids = loaded.tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        read = loaded.model.get_encoder()(ids).last_hidden_state
        state = loaded.model.get_decoder()(
            torch.tensor([[0]]), encoder_hidden_states=read).last_hidden_state[0, 0]
    head = weights["shared.weight"] * len(state) ** -0.5 if tied else weights["lm_head.weight"]
    rows = [loaded.tokenizer(word).input_ids[0] for word in ("Yes", "No")]
    yes, no = (head[rows] @ state).softmax(dim=-1).tolist()
    assert (verdict.entailment, verdict.neutral) == pytest.approx((yes, no), abs=1e-5)
