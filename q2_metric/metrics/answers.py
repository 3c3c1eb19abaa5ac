"""Q²'s rules about answers (section 2.3).

A question is made for a span, a part of the response. Q²'s round trip lets a reader answer the
question from the response, and rejects the question if the answer is not this span. For the other
questions, the reader's answer from the knowledge is compared with the span.
"""

from __future__ import annotations

import re

from q2_metric.text.normalise import normalise, token_f1
from q2_metric.text.values import compare_answers, stated
from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

_BETWEEN_ITEMS = re.compile(r"[,;]\s*(?:and |or )?|\s(?:and|or|&)\s+")


def agrees(answer: Answer, span: Span, lists: bool) -> bool:
    """Whether a question passes Q²'s round trip, which checks that the question fits its span.

    The question was made for ``span``, a part of the response. ``answer`` is what Q²'s reader
    answered when it read the question and the response. The question passes if both are equal after
    normalisation. If ``lists`` is true, the answer may also be a list such as "red, green and blue"
    in which the span is an item.
    """
    wanted = normalise(span.text)
    items = [answer.text, *(_BETWEEN_ITEMS.split(answer.text) if lists else ())]
    return any(normalise(item) == wanted for item in items)


def answer_sentence(question: str, answer: str) -> str:
    """Joins a question and its answer into the text that the NLI model reads (section 2.3).

    >>> answer_sentence("Who owns it?", "Acme Corp.")
    'Who owns it? Acme Corp.'
    """
    return f"{question} {answer.rstrip(' .')}."


def decided(span: Span, answer: str, values: bool) -> bool | None:
    """Whether a span of the response and the knowledge's answer agree: true, false, or ``None`` if
    only NLI can tell.

    Texts that are equal after normalisation agree. If ``values`` is true, numbers, dates and other
    values are compared too. If the values differ but the knowledge states the response's value
    elsewhere, the result is ``None``, because the reader may have read the wrong sentence.
    """
    if normalise(answer) == normalise(span.text):
        return True
    same = compare_answers(span.text, answer) if values else None
    return None if same is False and stated(span.text, span.example.knowledge) else same


def to_judge(
    question: Question, answer: Answer | None, values: bool = False
) -> tuple[str, str] | None:
    """The (premise, hypothesis) pair with which NLI compares the two answers to a question.

    The premise contains the knowledge's ``answer``, the hypothesis the response's. The result is
    ``None`` if the knowledge has no answer, or if the answers can be compared without NLI.
    """
    if answer is None or decided(question.span, answer.text, values) is not None:
        return None
    return (answer_sentence(question.text, answer.text),
            answer_sentence(question.text, question.span.text))


def compare(
    question: Question,
    answer: Answer | None,
    verdict: Verdict | None,
    values: bool = False,
) -> Comparison:
    """Scores one question by comparing the response's answer with the knowledge's (section 2.3).

    If the knowledge has no answer, the score is 0. If the answers are equal after normalisation, it
    is 1. Otherwise NLI's verdict counts: entailment scores 1, contradiction 0, and neutral the
    token F1 of the answers. Without a verdict, token F1 is the score. If ``values`` is true,
    answers whose values (numbers, amounts, dates, times) are equal score 1, and answers with
    different values of one kind (such as two dates) score 0.
    """
    span = question.span.text
    if answer is None:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    same = decided(question.span, answer.text, values)
    f1 = token_f1(span, answer.text)
    if same is not None:
        how: How = "equal" if same else "contradicted"
        return Comparison(question, span, answer.text, f1, None, how, float(same), answer.start)
    if verdict is None or verdict.label == "neutral":
        return Comparison(question, span, answer.text, f1, verdict, "token_f1", f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
