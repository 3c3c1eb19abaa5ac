"""The batched pipeline equals the one-at-a-time reference, question by question.

The models are tiny and random. Every group of up to three words is a span, so that for each
response some span is what the reader makes of a question: those questions are valid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from local_models import encoder, t5

from q2_metric import Q2, Example
from q2_metric.english.parse.parser import SpacyPersonal
from q2_metric.metrics.settings import Q2Settings
from q2_metric.models.hub import batches as torch_batches
from q2_metric.models.hub import questions as torch_questions
from q2_metric.models.hub.loading import load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import TEMPLATES, Seq2SeqQuestions
from q2_metric.models.hub.reader import TorchReader
from q2_metric.types import Span
from tools.reference.q2 import Model, ReferenceQ2

MAX_QUESTION = 12
LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}
SENTENCES = (
    "The red dog sleeps in the house. ", "Paris is the capital of France, by the river. ",
    "She has red hair and freckles. ", "The ship sails north, and the sea is blue! ",
)
EXAMPLES = [
    Example("A red dog runs.", "The red dog sleeps in the house, not in Paris."),
    Example("She has red hair!", "She has red hair and freckles. " * 2),
    Example("It was built in 1994.", "".join(SENTENCES) * 2),  # several windows
    Example("the ship sails north", "".join(SENTENCES)),
    Example("Rain fell.", "He was born by the sea."),
]


class Groups:
    """Every group of up to three words."""

    name = "groups"

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        return [list(self._groups(example)) for example in examples]

    def _groups(self, example: Example) -> Any:
        words = [match.span() for match in re.finditer(r"\w+", example.response)]
        for i, (start, _) in enumerate(words):
            for _, end in words[i : i + 3]:
                yield Span(example, example.response[start:end], start)


@pytest.mark.parametrize(("reader", "nli"), [
    ("albert", "roberta"), ("roberta", "deberta-v2"), ("roberta", "albert")])
def test_the_pipeline_equals_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, nli: str
) -> None:
    monkeypatch.setattr(torch_questions, "MAX_QUESTION", MAX_QUESTION)
    monkeypatch.setattr(torch_batches, "CPU_TOKENS", 300)  # several batches of several rows
    generator = load_pretrained("AutoModelForSeq2SeqLM", str(t5(tmp_path / "t5")), "cpu")
    qa = load_pretrained("AutoModelForQuestionAnswering", str(
        encoder(tmp_path / "qa", reader, "AutoModelForQuestionAnswering")), "cpu")
    classifier = load_pretrained("AutoModelForSequenceClassification", str(
        encoder(tmp_path / "nli", nli, "AutoModelForSequenceClassification", window=512,
                id2label=LABELS)), "cpu")
    personal = SpacyPersonal()
    reference = ReferenceQ2(
        Model(generator.tokenizer, generator.model), Model(qa.tokenizer, qa.model, 64),
        Model(classifier.tokenizer, classifier.model, 512), Groups(), personal,
        TEMPLATES["answer-context"], MAX_QUESTION)
    readers, judge = TorchReader(qa), TorchNli(classifier)
    q2 = Q2(Groups(), Seq2SeqQuestions(generator), readers, judge, personal, settings=Q2Settings())

    spans = [span for found in Groups().find(EXAMPLES) for span in found]
    candidates = q2.questions.generate(spans)
    for span, found in list(zip(spans, candidates, strict=True))[::3]:
        assert found == reference.generate(span)

    pairs = [(found[0], span.example.knowledge)
             for span, found in zip(spans, candidates, strict=True)]
    for pair, answer in zip(pairs, readers.read(pairs), strict=True):
        expected = reference.read(*pair)
        assert (answer is None) == (expected is None)
        if answer is not None and expected is not None:
            assert answer.text == expected[0]
            assert answer.score == pytest.approx(expected[1], abs=1e-4)

    for pair, verdict in zip(pairs, judge.judge(pairs), strict=True):
        label, chances = reference.judge(*pair)
        assert verdict.label == label
        assert verdict.entailment == pytest.approx(chances["entailment"], abs=1e-5)

    scores = q2.score(EXAMPLES)
    asked = 0
    for example, score in zip(EXAMPLES, scores, strict=True):
        expected_score = reference.score(example)
        assert score.value == pytest.approx(expected_score.value, abs=1e-5)
        assert score.fallback == expected_score.fallback
        assert [(item.question.span, item.question.text, item.knowledge_answer,
                 item.verdict.label if item.verdict else None) for item in score.evidence] == [
            (item.span, item.question, item.knowledge_answer, item.label)
            for item in expected_score.questions]
        asked += len(score.evidence)
    assert asked >= 3  # else nothing was compared
