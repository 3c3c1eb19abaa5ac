"""NLI cross-encoders: labels, windows, batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")


import torch
from hub_models import PREMISES, Folders, Load, load, scripted
from local_models import ENCODERS

from q2_metric.errors import InputError, ModelError
from q2_metric.models.hub.nli import TorchNli, label_order
from q2_metric.models.hub.yes_no import YesNoEntailment
from q2_metric.types import Backbone


@pytest.mark.parametrize("kind", ENCODERS)
def test_nli_does_not_depend_on_batches(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/nli")
    alone = [TorchNli(model).judge([pair])[0] for pair in PREMISES]
    for batch_size in (1, 3, 16):
        for order in (PREMISES, PREMISES[::-1]):
            for pair, verdict in zip(
                order, TorchNli(model, batch_size=batch_size).judge(order), strict=True
            ):
                expected = alone[PREMISES.index(pair)]
                assert verdict.entailment == pytest.approx(expected.entailment, abs=1e-5)
                assert verdict.contradiction == pytest.approx(expected.contradiction, abs=1e-5)
                total = verdict.entailment + verdict.neutral + verdict.contradiction
                assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kind", ENCODERS)
def test_nli_agrees_with_a_plain_forward_pass(loaded: Load, kind: str) -> None:
    model = loaded(f"{kind}/nli")
    with torch.inference_mode():
        encoded = model.tokenizer(*PREMISES[0], return_tensors="pt",
                                  return_token_type_ids=kind in ("albert", "bert"))
        chances = model.model(**encoded).logits.softmax(-1)[0].tolist()
    verdict = TorchNli(model).judge([PREMISES[0]])[0]
    assert [verdict.neutral, verdict.contradiction, verdict.entailment] == pytest.approx(
        chances, abs=1e-5
    )


def test_label_order_is_the_configs(folders: Folders) -> None:
    folder = folders("bert/nli")
    path = folder / "config.json"
    original = path.read_text()
    # One window each: of several, the label itself decides which one counts.
    pairs = [PREMISES[0], *PREMISES[2:]]
    before = TorchNli(load(TorchNli, str(folder))).judge(pairs)
    swapped = {0: "entailment", 1: "neutral", 2: "contradiction"}
    path.write_text(
        json.dumps(
            {
                **json.loads(original),
                "id2label": swapped,
                "label2id": {name: i for i, name in swapped.items()},
            }
        )
    )
    try:
        after = TorchNli(load(TorchNli, str(folder))).judge(pairs)
    finally:
        path.write_text(original)
    for old, new in zip(before, after, strict=True):
        assert (new.entailment, new.neutral, new.contradiction) == pytest.approx(
            (old.neutral, old.contradiction, old.entailment), abs=1e-6
        )


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["ENTAILMENT", "Neutral", "contradiction"], ["entailment", "neutral", "contradiction"]),
        (["contradiction", "entailment", "neutral"], ["contradiction", "entailment", "neutral"]),
        (["entailment", "not_entailment"], ["entailment", "neutral"]),
        (["not-entailment", "entailment"], ["neutral", "entailment"]),
    ],
)
def test_label_names(names: list[str], order: list[str]) -> None:
    config = SimpleNamespace(id2label=dict(enumerate(names)), num_labels=len(names))
    assert label_order("m", config) == order


@pytest.mark.parametrize(
    "names",
    [
        ["LABEL_0", "LABEL_1", "LABEL_2"],
        ["positive", "negative"],
        ["entailment"],
        ["neutral", "contradiction"],
        ["entailment", "entailment", "neutral"],
    ],
)
def test_unclear_labels_are_refused(names: list[str]) -> None:
    config = SimpleNamespace(id2label=dict(enumerate(names)), num_labels=len(names))
    with pytest.raises(ModelError):
        label_order("m", config)


def test_labels_can_be_given() -> None:
    config = SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1"}, num_labels=2)
    assert label_order("m", config, ("not_entailment", "entailment")) == ["neutral", "entailment"]
    with pytest.raises(InputError, match="3 labels given"):
        label_order("m", config, ("entailment", "neutral", "contradiction"))


def entails_if(word: str) -> Callable[..., Any]:
    def logits(vocabulary: Any, ids: torch.Tensor) -> Any:
        hit = (ids == vocabulary[word]).any(dim=1)
        return SimpleNamespace(logits=torch.stack([hit * 4.0, ~hit * 4.0, hit * 0.0], dim=1))

    return logits


NAMES = {0: "entailment", 1: "neutral", 2: "contradiction"}


def test_long_premise_has_the_verdict_of_its_best_window(tmp_path: Path) -> None:
    model = scripted(tmp_path, entails_if("1994"), id2label=NAMES, num_labels=3)
    premise = "the red dog sleeps in the house . " * 20 + "it was built in 1994 ."
    nli = TorchNli(model)
    found, missing = nli.judge([(premise, "a ship sails"), (premise[:-7], "a ship sails")])
    assert found.entailment > 0.9
    assert missing.entailment < 0.1
    hypothesis = model.tokenizer("a ship sails", add_special_tokens=False)["input_ids"]
    assert all(ids[-4:-1] == hypothesis for ids in model.model.seen)
    assert all(len(ids) <= 64 for ids in model.model.seen)


def test_only_an_oversized_hypothesis_is_cut(tmp_path: Path) -> None:
    model = scripted(tmp_path, entails_if("1994"), id2label=NAMES, num_labels=3)
    TorchNli(model).judge([("a dog", "the red cat " * 60)])
    (ids,) = model.model.seen
    assert len(ids) == 2 + 32 + 3


@pytest.mark.parametrize("kind", ["albert/nli", "roberta/nli", "bert/nli", "t5/tied"])
def test_offsets_are_exact(loaded: Load, kind: str) -> None:
    model = loaded(kind)
    text = " The  red dog,\nin Paris — café. "
    backbone: Backbone = TorchNli(model) if kind.endswith("nli") else YesNoEntailment(model)
    offsets = backbone.offsets(text)
    covered = {i for start, end in offsets for i in range(start, end)}
    assert {i for i, letter in enumerate(text) if not letter.isspace()} <= covered
    for start, end in offsets:
        assert text[start:end]
        assert text[start:end] == text[start:end].strip()
    assert backbone.offsets("") == []
