"""Q²'s rules about answers (section 2.3).

A question is made for a span, a part of the response. Q²'s round trip lets a reader answer the
question from the response, and rejects the question if the answer is not this span. For the other
questions, the reader's answer from the knowledge is compared with the span.
"""

from __future__ import annotations

from collections.abc import Callable

from q2_metric.text.normalise import normalise, token_f1
from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

Same = Callable[[Span, str], bool | None]
"""Says whether a span of the response and the knowledge's answer agree; ``None`` if only NLI can
tell."""


def agrees(answer: Answer, span: Span) -> bool:
    """Whether a question passes Q²'s round trip: the reader's answer from the response is the span,
    after normalisation."""
    return normalise(answer.text) == normalise(span.text)


def answer_sentence(question: str, answer: str) -> str:
    """Joins a question and its answer into the text that the NLI model reads (section 2.3).

    >>> answer_sentence("Who owns it?", "Acme Corp.")
    'Who owns it? Acme Corp.'
    """
    return f"{question} {answer.rstrip(' .')}."


def same_words(span: Span, answer: str) -> bool | None:
    """True if span and answer are equal after normalisation; otherwise only NLI can tell."""
    return True if normalise(answer) == normalise(span.text) else None


def to_judge(
    question: Question, answer: Answer | None, same: Same = same_words
) -> tuple[str, str] | None:
    """The (premise, hypothesis) pair with which NLI compares the two answers to a question.

    The premise contains the knowledge's ``answer``, the hypothesis the response's. The result is
    ``None`` if the knowledge has no answer, or if the answers can be compared without NLI.
    """
    if answer is None or same(question.span, answer.text) is not None:
        return None
    return (answer_sentence(question.text, answer.text),
            answer_sentence(question.text, question.span.text))


def compare(
    question: Question, answer: Answer | None, verdict: Verdict | None, same: Same = same_words,
) -> Comparison:
    """Scores one question by comparing the response's answer with the knowledge's (section 2.3).

    If the knowledge has no answer, the score is 0. If ``same`` decides, it is 1 or 0. Otherwise
    NLI's verdict counts: entailment scores 1, contradiction 0, and neutral the token F1 of the
    answers. Without a verdict, token F1 is the score.
    """
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
