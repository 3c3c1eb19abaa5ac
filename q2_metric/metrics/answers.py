"""Q²'s rules about answers (section 2.3): how questions are validated and answers compared."""

from __future__ import annotations

from collections.abc import Callable

from q2_metric.text.normalise import normalise, token_f1
from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

Same = Callable[[Span, str], bool | None]
"""Whether a span and the knowledge's answer agree; ``None`` if only NLI can tell."""


def agrees(answer: Answer, span: Span) -> bool:
    """Whether a question passes the round trip: its answer from the response is its span."""
    return normalise(answer.text) == normalise(span.text)


def answer_sentence(question: str, answer: str) -> str:
    """The text of a question and its answer that the NLI model reads (section 2.3)."""
    return f"{question} {answer.rstrip(' .')}."


def same_words(span: Span, answer: str) -> bool | None:
    return True if normalise(answer) == normalise(span.text) else None


def to_judge(
    question: Question, answer: Answer | None, same: Same = same_words
) -> tuple[str, str] | None:
    """The (premise, hypothesis) by which NLI compares the answers; ``None`` if it is not needed."""
    if answer is None or same(question.span, answer.text) is not None:
        return None
    return (answer_sentence(question.text, answer.text),
            answer_sentence(question.text, question.span.text))


def compare(
    question: Question, answer: Answer | None, verdict: Verdict | None, same: Same = same_words,
) -> Comparison:
    """Scores one question (section 2.3). NLI's entailment scores 1, contradiction 0, and neutral or
    no verdict the token F1 of the two answers."""
    span = question.span.text
    if answer is None:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    equal = same(question.span, answer.text)
    f1 = token_f1(span, answer.text)
    if equal is not None:
        how: How = "equal" if equal else "contradicted"
        return Comparison(question, span, answer.text, f1, None, how, float(equal), answer.start)
    if verdict is None or verdict.label == "neutral":
        return Comparison(question, span, answer.text, f1, verdict, "token_f1", f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
