"""``recipe="authors"`` against what the authors' program gave on the same models, and its rules."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

from authors_models import asks, judges, reads
from fakes import (
    FakeBackbone,
    FakeEntailment,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)

from q2_metric import Q2, Example
from q2_metric.data.readers import read_annotated
from q2_metric.english.parse.parser import AuthorsPersonal, AuthorsSpans
from q2_metric.metrics import authors
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import ScaleSettings
from q2_metric.models.hub.loading import load_pretrained
from q2_metric.models.hub.nli import TorchNli
from q2_metric.models.hub.questions import Seq2SeqQuestions
from q2_metric.models.hub.reader import AuthorsReader
from q2_metric.scoring.scores import score_rows
from q2_metric.types import Answer, Comparison, Question, Span, Verdict
from tools.reference.q2_authors import AuthorsQ2

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "q2_authors.json").read_text("utf-8"))
needs_data = pytest.mark.skipif(
    not os.environ.get("Q2_DATA_DIR"), reason="needs the data sets: set Q2_DATA_DIR")
EXAMPLES = [
    Example("The Eiffel Tower is in Paris.", "The tower stands in Paris, France."),
    Example("I love The Joy of Painting!", "the joy of painting aired until 1994."),
    Example("It was built in 1994 by Bob Ross.", "Bob Ross was born in 1942."),
    Example("i think so too !", "The show aired on PBS."),
]


def questions_about(span: str, response: str) -> list[str]:
    """Five questions, some of them about the speakers, some that the response answers wrongly."""
    words = response.split()
    turn = len(span) + len(response)
    half = " ".join(span.split()[: max(1, len(span.split()) // 2)])
    some = [f"Do you like {span}?", f"What about {span}?", f"{words[turn % len(words)]} {span}?",
            f"Which one is {span}?", f"Tell me of {half}?", f"Is it my {span}?", f"{span} ?",
            f"Who wrote {span}?"]
    return [some[(turn + i) % len(some)] for i in range(5)]


class Given:
    """Asks what :func:`questions_about` says."""

    name = "given"

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        return [questions_about(span.text, span.example.response) for span in spans]


def metric(folder: Path, texts: Sequence[str]) -> Q2:
    reader = load_pretrained("AutoModelForQuestionAnswering", str(reads(folder / "reads", texts)),
                             "cpu")
    judge = load_pretrained("AutoModelForSequenceClassification",
                            str(judges(folder / "judges", texts)), "cpu")
    return authors.AuthorsProgramQ2(
        AuthorsSpans(), Given(), AuthorsReader(reader), TorchNli(judge), AuthorsPersonal())


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def annotated() -> list[Example]:
    return [one.example for one in read_annotated()]


def texts_of(examples: Sequence[Example]) -> list[str]:
    return [text for one in examples for text in (one.response, one.knowledge)]


@needs_data
def test_questions_answers_and_scores_are_those_of_the_authors_program(
    annotated: list[Example], tmp_path: Path
) -> None:
    scores = metric(tmp_path, texts_of(annotated)).score(annotated[::21][:50])
    found = [[[c.question.span.text, c.question.text, c.knowledge_answer or ""]
              for c in score.evidence if isinstance(c, Comparison)] for score in scores]
    assert sum(map(len, found)) == GOLDEN["questions"] == 101
    assert [digest(one) for one in found] == [row["steps"] for row in GOLDEN["rows"]]
    for score, row in zip(scores, GOLDEN["rows"], strict=True):
        assert score.value == pytest.approx(row["q2"], abs=1e-6)
        assert score.no_nli == pytest.approx(row["no_nli"], abs=1e-6)
        assert score.fallback == row["fallback"]


@needs_data
def test_generated_questions_are_those_of_the_authors_program(
    annotated: list[Example], tmp_path: Path
) -> None:
    model = load_pretrained(
        "AutoModelForSeq2SeqLM", str(asks(tmp_path / "asks", texts_of(annotated))), "cpu")
    generator = Seq2SeqQuestions(
        model, template="answer-context", reading="response", authors=True)
    spans = [found[GOLDEN["asked"][i]] for i, found in enumerate(
        AuthorsSpans().find(annotated[::21][:50])) if GOLDEN["asked"][i] is not None]
    assert [digest(one) for one in generator.generate(spans)] == GOLDEN["generated"]


def test_the_batched_pipeline_equals_the_program_restated(tmp_path: Path) -> None:
    q2 = metric(tmp_path, texts_of(EXAMPLES))
    loaded = q2.reader._loaded  # type: ignore[attr-defined]
    restated = AuthorsQ2(
        loaded.tokenizer, loaded.model, lambda *pair: q2.entailment.judge([pair])[0].label,
        lambda question: q2.personal.personal([question])[0])
    asked = 0
    for example, score in zip(EXAMPLES, q2.score(EXAMPLES), strict=True):
        spans = q2.spans.find([example])[0]
        value, steps = restated.score(example.response, example.knowledge, [
            (span.text, questions_about(span.text, example.response)) for span in spans])
        assert score.value == pytest.approx(value)
        assert [(c.question.span.text, c.question.text, c.knowledge_answer, c.f1, c.score)
                for c in score.evidence if isinstance(c, Comparison)] == [
            (s.span, s.question, None if s.answer in ("", "[CLS]") else s.answer, s.f1, s.score)
            for s in steps]
        asked += len(steps)
    assert asked >= 3


SPAN = Span(Example("The red dog.", "A dog."), "The red dog", 0)
QUESTION = Question(SPAN, "What?")
RULES = authors.AuthorsProgramQ2(
    FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal())


@pytest.mark.parametrize(("answer", "pair"), [
    ("dog red", None),  # the same words
    ("[CLS] what? red", None),  # their sign of no answer is in it
    ("", None),
    ("dog.", ("What? dog..", "What? The red dog.")),
])
def test_which_answers_are_judged(answer: str, pair: tuple[str, str] | None) -> None:
    assert RULES.to_judge(QUESTION, Answer(answer, None, 1.0)) == pair


def test_what_answers_score() -> None:
    def score(answer: str | None, verdict: Verdict | None = None) -> tuple[float, str]:
        found = RULES.compare(
            QUESTION, None if answer is None else Answer(answer, None, 1.0), verdict)
        return round(found.score, 3), found.how

    assert score(None) == score("") == (0.0, "no_answer")
    assert score("red dog") == score("dog, red") == (1.0, "equal")
    assert score("dog", Verdict(0.1, 0.8, 0.1)) == (0.667, "token_f1")
    assert score("dog", Verdict(0.8, 0.1, 0.1)) == (1.0, "nli")
    assert score("dog", Verdict(0.1, 0.1, 0.8)) == (0.0, "nli")


def test_spans_are_entities_and_then_chunks_of_other_words() -> None:
    text = "Bob Ross painted. bob ross painted trees, and trees, and I saw Bob Ross."
    (spans,) = AuthorsSpans().find([Example(text, "")])
    found = [span.text for span in spans]
    assert found.count("trees") == 1
    assert "I" not in found
    assert found.count("Bob Ross") == 2  # an entity is one each time
    assert all(text[span.start :].startswith(span.text) for span in spans)


def test_a_response_that_claims_nothing_has_a_score(tmp_path: Path) -> None:
    chat = Example("hello !", "A dog is an animal.")
    q2 = metric(tmp_path, texts_of(EXAMPLES))
    assert q2.score([chat])[0].value is not None
    assert score_rows([q2], [chat])[0]["q2"].value is not None
    scale = Scale(FakeBackbone(), ScaleSettings(recipe="authors"))
    assert score_rows([scale], [chat])[0]["scale"].value is not None
