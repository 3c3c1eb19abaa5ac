"""Q²'s rules as in the authors' program q-squared (``recipe="authors"``).

These rules restate ``score.py``, ``run_pipeline.py`` and ``run_nli.py`` of github.com/orhonovich/
q-squared. The default rules of this package are in :mod:`q2_metric.metrics.answers`.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

NO_ANSWER = "[CLS]"
"""The text that the authors' reader returns if the passage has no answer. A longer answer that
contains this text is compared by its words only."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")


def normalise(text: str) -> str:
    """Lower-cases a text and removes ASCII punctuation, a/an/the/in/our and repeated blanks.

    >>> normalise("In the U.S., 1994")
    'us 1994'
    """
    plain = _DROPPED.sub(" ", text.lower().translate(_NO_PUNCTUATION))
    return re.sub(" +", " ", plain).strip()


def token_f1(span: str, answer: str) -> float:
    """F1 of the words that span and answer share after :func:`normalise`. Word order has no effect.
    """
    left, right = normalise(span).split(), normalise(answer).split()
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(right), common / len(left)
    return 2 * precision * recall / (precision + recall)


def agrees(answer: Answer, span: Span) -> bool:
    """Whether a question passes the round trip: the response's answer equals the span after
    :func:`normalise`. So an empty answer equals a span that consists only of articles."""
    return normalise(answer.text) == normalise(span.text)


def to_judge(question: Question, answer: Answer | None) -> tuple[str, str] | None:
    """The premise and the hypothesis with which NLI compares the two answers. ``None`` if the
    knowledge has no answer or both answers have the same words."""
    if answer is None or not answer.text or NO_ANSWER in answer.text:
        return None
    if token_f1(question.span.text, answer.text) == 1:
        return None
    return f"{question.text} {answer.text}.", f"{question.text} {question.span.text}."


def compare(question: Question, answer: Answer | None, verdict: Verdict | None) -> Comparison:
    """Scores one question. The same words score 1. For other words, entailment scores 1,
    contradiction 0, and neutral (or no verdict) the F1 of the words. No answer scores 0."""
    span = question.span.text
    if answer is None or not answer.text:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    f1 = token_f1(span, answer.text)
    if verdict is None or verdict.label == "neutral":
        how: How = "equal" if f1 == 1 else "token_f1"
        return Comparison(question, span, answer.text, f1, verdict, how, f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
