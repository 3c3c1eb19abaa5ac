"""One question's comparison, whole: what was compared, how, and what it scores."""

from __future__ import annotations

import pytest
from fakes import (
    VERDICTS,
    FakeEntailment,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)

from q2_metric.metrics.bundled_q2 import BundledQ2
from q2_metric.metrics.q2 import Q2, answer_sentence
from q2_metric.types import Answer, Comparison, Example, How, Question, Span, Verdict

SPAN = Span(Example("It is very acidic.", "It is slightly acidic."), "very acidic", 6)
QUESTION = Question(SPAN, "What is it?")
ANSWER = Answer("slightly acidic", 6, 5.0)  # half of the words are those of the span
OPEN = Verdict(0.3, 0.5, 0.2)
PAPER, BUNDLED = (
    kind(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal())
    for kind in (Q2, BundledQ2))


@pytest.mark.parametrize("verdict", [None, OPEN])
def test_no_answer_and_the_same_answer_need_no_verdict(verdict: Verdict | None) -> None:
    assert PAPER.compare(QUESTION, None, verdict) == Comparison(
        QUESTION, "very acidic", None, 0.0, None, "no_answer", 0.0, None)
    same = Answer("Very acidic!", 3, 1.0)
    assert PAPER.compare(QUESTION, same, verdict) == Comparison(
        QUESTION, "very acidic", "Very acidic!", 1.0, None, "equal", 1.0, 3)


@pytest.mark.parametrize(("verdict", "how", "score"), [
    (None, "token_f1", 0.5),
    (VERDICTS["entailment"], "nli", 1.0),
    (VERDICTS["neutral"], "token_f1", 0.5),
    (VERDICTS["contradiction"], "nli", 0.0),
])
def test_another_answer_is_judged(verdict: Verdict | None, how: How, score: float) -> None:
    assert PAPER.compare(QUESTION, ANSWER, verdict) == Comparison(
        QUESTION, "very acidic", "slightly acidic", 0.5, verdict, how, pytest.approx(score), 6)


@pytest.mark.parametrize("answer", ["Acme", "Acme.", "Acme . ", "Acme..."])
def test_a_sentence_for_nli_ends_once(answer: str) -> None:
    assert answer_sentence("Who?", answer) == "Who? Acme."
    assert answer_sentence("Who?", f" {answer}") == "Who?  Acme."


@pytest.mark.parametrize(("span", "known", "how", "score"), [
    ("twenty-five", "25", "equal", 1.0),
    ("25", "52", "contradicted", 0.0),
    ("€120", "120 euros", "equal", 1.0),
    ("3,000 metres", "3 km", "equal", 1.0),
    ("4 May 2021", "2021-03-04", "contradicted", 0.0),
])
def test_values_are_compared_as_values(span: str, known: str, how: How, score: float) -> None:
    """The texts share no word; NLI is not asked, and would not know."""
    example = Example(f"It was {span}.", f"It was {known}.")
    question = Question(Span(example, span, 7), "What was it?")
    found = BUNDLED.compare(question, Answer(known, 7, 1.0), None)
    assert (found.how, found.score, found.knowledge_answer) == (how, score, known)
    as_text = PAPER.compare(question, Answer(known, 7, 1.0), VERDICTS["neutral"])
    assert as_text.how == "token_f1"
