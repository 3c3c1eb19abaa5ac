"""When two answers agree: Q²'s round trip and comparison (section 2.3)."""

from __future__ import annotations

import re
from typing import Literal

from q2_metric.text.normalise import normalise, token_f1
from q2_metric.text.values import compare_answers, stated
from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

_BETWEEN_ITEMS = re.compile(r"\s*[,;]\s*(?:and |or )?|\s+(?:and|or|&)\s+")


def agrees(answer: Answer, span: Span, lists: bool) -> bool:
    """The round trip: whether the answer in the response is the span or, with ``lists``, a list
    that contains it."""
    wanted = normalise(span.text)
    items = [answer.text, *(_BETWEEN_ITEMS.split(answer.text) if lists else ())]
    return any(normalise(item) == wanted for item in items)


def answer_sentence(question: str, answer: str) -> str:
    """A question with its answer, in the form that the NLI model reads (section 2.3).

    >>> answer_sentence("Who owns it?", "Acme Corp.")
    'Who owns it? Acme Corp.'
    """
    return f"{question} {answer.rstrip(' .')}."


def decided(span: Span, answer: str, values: bool) -> bool | None:
    """Whether two answers are equal, as texts or, with ``values``, by their values.

    ``None`` leaves the decision to NLI. This is also the result if the values differ but the
    knowledge has the response's value elsewhere, where the reader may have missed it.
    """
    if normalise(answer) == normalise(span.text):
        return True
    same = compare_answers(span.text, answer) if values else None
    return None if same is False and stated(span.text, span.example.knowledge) else same


def to_judge(
    question: Question, answer: Answer | None, values: bool = False
) -> tuple[str, str] | None:
    """Premise and hypothesis for NLI (section 2.3); ``None`` if NLI is not asked."""
    if answer is None or decided(question.span, answer.text, values) is not None:
        return None
    return (answer_sentence(question.text, answer.text),
            answer_sentence(question.text, question.span.text))


def compare(
    question: Question,
    answer: Answer | None,
    verdict: Verdict | None,
    comparison: Literal["verdict", "expected"] = "verdict",
    values: bool = False,
) -> Comparison:
    """The score of one question (section 2.3).

    No answer scores 0. Answers that are equal after normalisation score 1. Otherwise entailment
    scores 1, contradiction 0, and neutral (or no verdict) token F1. ``comparison="expected"`` gives
    the mean of the three scores, weighted by the class probabilities. With ``values``, equal values
    are equal answers, and other values of the same kind score 0.
    """
    span = question.span.text
    if answer is None:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    same = decided(question.span, answer.text, values)
    f1 = token_f1(span, answer.text)
    if same is not None:
        how: How = "equal" if same else "contradicted"
        return Comparison(question, span, answer.text, f1, None, how, float(same), answer.start)
    if verdict is not None and comparison == "expected":
        score = verdict.entailment + verdict.neutral * f1
        return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
    if verdict is None or verdict.label == "neutral":
        return Comparison(question, span, answer.text, f1, verdict, "token_f1", f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
