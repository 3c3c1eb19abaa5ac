"""Times Q² in batches against one model call at a time (tools/reference/q2.py), full-size models.

    python -m tools.benchmarks q2 [--responses N] [--turns T] [--dtype bfloat16]

The models have the published sizes (T5-small for questions, ALBERT-base as the reader, RoBERTa-base
for NLI) but random weights. Random weights would make two things unrealistic, so both programs fix
them. Each question has 20 tokens, because a random model seldom ends a question. Whether a question
is valid is decided by a hash of its text, because a random reader never finds the right answer.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from q2_metric import Q2, Example
from q2_metric.english.parse.parser import SpacyPersonal, SpacySpans
from q2_metric.metrics import q2 as recipe
from q2_metric.models.hub import questions as torch_questions
from q2_metric.models.hub.loading import LoadedModel, load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import TEMPLATES, Seq2SeqQuestions
from q2_metric.models.hub.reader import TorchReader
from q2_metric.processors import processors
from q2_metric.types import Answer, Span
from tools.benchmarks import harness
from tools.reference import sized_models
from tools.reference.q2 import Model, ReferenceQ2

QUESTION_TOKENS = 20
ROUND_TRIP = 0.6
"""Share of the questions that count as valid (the reader finds their answer in the response)."""


def valid(question: str) -> bool:
    """Whether a question counts as valid. A hash of its text decides."""
    return hashlib.sha256(question.encode()).digest()[0] < 256 * ROUND_TRIP


class Coin(TorchReader):
    """A reader whose answers have the score 1 if the question counts as valid, otherwise -1.

    The model still computes its answers, at full cost.
    """

    def read(self, pairs: Any) -> list[Answer | None]:
        found = super().read(pairs)
        return [Answer(a.text, a.start, 1.0 if valid(q) else -1.0) if a else None
                for (q, _), a in zip(pairs, found, strict=True)]


class Reference(ReferenceQ2):
    """The reference implementation of Q², with the same decision which questions are valid."""

    def first_valid(self, span: Span) -> str | None:
        for question in self.generate(span):
            if self.personal.personal([question])[0]:
                continue
            if self.read(question, span.example.response) and valid(question):
                return question
        return None


def load(folder: Path, dtype: str) -> dict[str, LoadedModel]:
    texts = [text for e in harness.responses() for text in (e.response, e.knowledge)]
    sized_models.t5(folder / "t5", "small", texts)
    sized_models.encoder(folder / "reader", "albert-base", texts, "qa")
    sized_models.encoder(folder / "nli", "roberta-base", texts, "nli")
    kinds: dict[str, Any] = {"t5": "Seq2SeqLM", "reader": "QuestionAnswering",
                             "nli": "SequenceClassification"}
    return {name: replace(
                load_pretrained(f"AutoModelFor{kind}", str(folder / name), "cpu", dtype),
                name=f"random-{name}")
            for name, kind in kinds.items()}


def both(models: dict[str, LoadedModel]) -> tuple[Q2, Reference]:
    """Makes Q² with batches, and the reference implementation, with the same models."""
    spans, personal = SpacySpans(), SpacyPersonal()
    # The same number of spans in a batch as by default, where questions may have 128 tokens.
    questions = Seq2SeqQuestions(models["t5"], batch_size=32)
    q2 = Q2(spans, questions, Coin(models["reader"]),
            TorchNli(models["nli"]), personal, preset="speed")
    q2.used = {name: harness.Usage(getattr(q2, name).batches)  # type: ignore[attr-defined]
               for name in ("questions", "reader", "entailment")}
    reader = Model(models["reader"].tokenizer, models["reader"].model)
    plain = Reference(
        Model(models["t5"].tokenizer, models["t5"].model), reader,
        Model(models["nli"].tokenizer, models["nli"].model, 512), spans, personal,
        TEMPLATES[questions.template], QUESTION_TOKENS)
    return q2, plain


def usage(q2: Q2) -> dict[str, dict[str, float]]:
    """By stage of Q², the number of model calls, rows and tokens so far, and the share of padding.
    """
    return {name: {"calls": used.calls, "rows": used.rows, "tokens": used.tokens,
                   "padding": round(used.padding, 3)}
            for name, used in q2.used.items()}  # type: ignore[attr-defined]


def costs(
    models: dict[str, LoadedModel], examples: list[Example]
) -> dict[str, list[dict[str, Any]]]:
    """Times Q² on several numbers of responses, and on knowledge of several lengths.

    Each time, Q² is created anew, so that nothing is cached.
    """
    def one(chosen: list[Example]) -> dict[str, Any]:
        q2 = both(models)[0]
        seconds = harness.timed(lambda: q2.score(chosen))
        return {"responses": len(chosen), "spans": q2.used["questions"].rows,  # type: ignore[attr-defined]
                "seconds": round(seconds, 2), "per_response": round(seconds / len(chosen), 3)}

    joined = " ".join(e.knowledge for e in examples)
    size = min(4, len(examples))
    by_knowledge = []
    for words in (20, 100, 400):
        knowledge = " ".join(joined.split()[:words])
        chosen = [Example(e.response, f"{knowledge} {i}") for i, e in enumerate(examples[:size])]
        by_knowledge.append({"words": words, **one(chosen)})
    counts = sorted({1, 4, 16, len(examples)})
    return {
        "responses": [one(examples[:count]) for count in counts if count <= len(examples)],
        "knowledge": by_knowledge,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=48)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    torch.set_num_threads(processors())
    torch_questions.MAX_QUESTION = QUESTION_TOKENS
    recipe._agrees = lambda answer, span: answer.score > 0
    examples = harness.responses(given.responses)
    with tempfile.TemporaryDirectory() as folder:
        models = load(Path(folder), given.dtype)
        q2, reference = both(models)
        q2.score(examples[:2])
        reference.score(examples[0])

        # Each slice for the loop is a part of the batch. All slices together are a third of the
        # batch.
        third = examples[: max(given.turns + 1, len(examples) // 3)]
        parts = harness.slices(third, given.turns + 1)
        ratio = harness.alternate(
            harness.each(lambda part: [reference.score(e) for e in part], parts),
            [(len(examples), lambda: q2.score(examples))] * given.turns)

        q2, _ = both(models)
        forward, in_models = harness.Clock(), harness.Clock()
        for clock in (forward, in_models):
            clock(*(loaded.model for loaded in models.values()))
        t5 = models["t5"].model
        t5.generate = in_models.wrap(t5.generate)  # the beam search is included
        total = harness.timed(lambda: q2.score(examples))
        outside = {"forward_passes": round(1 - forward.seconds / total, 3),
                   "models_and_beam_search": round(1 - in_models.seconds / total, 3)}
        stages = usage(q2)
        with harness.counting_flops() as flops:
            q2.score(examples)
            needed = flops()
        rate = harness.torch_rate(given.dtype)
        figures = {
            "models": {"questions": "T5-small size", "reader": "ALBERT-base size",
                       "nli": "RoBERTa-base size", "dtype": given.dtype},
            "signature": q2.signature,
            "question_tokens": QUESTION_TOKENS,
            "round_trip": ROUND_TRIP,
            "responses": len(examples),
            "against_the_loop": ratio,
            "share_outside": outside,
            "stages": stages,
            "tokens": round(sum(stage["tokens"] for stage in stages.values()) / len(examples), 1),
            **harness.share_of_rate(needed, total, rate, given.dtype),
            "cost": costs(models, examples),
            "peak_memory_mb": harness.peak_memory_mb(),
        }
    harness.save("q2" if given.dtype == "float32" else f"q2-{given.dtype}", figures)
