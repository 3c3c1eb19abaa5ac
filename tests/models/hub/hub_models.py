"""What the tests of the torch models share: texts, loading, scripted models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from local_models import wordpiece

from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import Seq2SeqQuestions
from q2_metric.models.hub.reader import TorchReader
from q2_metric.types import Example, Span

LONG = "The red dog sleeps in the house, and  the café was born. " * 12
QA = "AutoModelForQuestionAnswering"
NLI = "AutoModelForSequenceClassification"
THREE = {0: "neutral", 1: "CONTRADICTION", 2: "Entailment"}
AUTO: dict[type, Any] = {
    TorchReader: QA, TorchNli: NLI, Seq2SeqQuestions: "AutoModelForSeq2SeqLM",
}


def load(kind: type, name: str, dtype: str = "float32") -> LoadedModel:
    """What a stage of this kind runs, from the Hub or a folder."""
    return load_pretrained(AUTO[kind], name, "cpu", dtype)


Load = Callable[[str], LoadedModel]
Folders = Callable[[str], Path]


class Scripted:
    """A model whose logits are a function of the token ids; it remembers what it was given."""

    def __init__(self, logits: Callable[[torch.Tensor], Any], **config: Any) -> None:
        self.logits = logits
        self.seen: list[list[int]] = []
        self.batches: list[int] = []
        self.config = SimpleNamespace(
            **{"pad_token_id": 0, "model_type": "bert", "max_position_embeddings": 64, **config}
        )

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: Any) -> Any:
        self.batches.append(len(input_ids))
        for ids, mask in zip(input_ids, attention_mask, strict=True):
            self.seen.append(ids[mask.bool()].tolist())
        return self.logits(input_ids)


def scripted(
    tmp_path: Path, logits: Callable[[Any, torch.Tensor], Any], **config: Any
) -> LoadedModel:
    """A BERT tokenizer around a scripted model; ``logits`` gets the vocabulary too."""
    tokenizer = wordpiece(tmp_path)
    vocabulary = tokenizer.get_vocab()
    model = Scripted(lambda ids: logits(vocabulary, ids), **config)
    return LoadedModel("scripted", tokenizer, model, "cpu")


PREMISES = [
    ("The red dog sleeps.", "A dog sleeps."),
    (LONG, "The cat runs."),
    ("", "She has red hair."),
    ("Paris is the capital of France.", ""),
    ("He was born in 1994 by the sea.", "The old man is not in Paris, and the ship sails."),
]
RESPONSE = "The dog sleeps and the dog runs in Paris."


def span(text: str, nth: int = 0, response: str = RESPONSE) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = response.index(text, start + 1)
    return Span(Example(response, ""), text, start)


SPANS = [span("dog"), span("dog", 1), span("Paris"), span("The dog")]
