"""Q² as in the authors' program q-squared (``recipe="authors"``).

The rules restate ``score.py``, ``run_pipeline.py`` and ``run_nli.py`` of github.com/orhonovich/
q-squared. Those of the paper are in :mod:`q2_metric.metrics.answers`.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from q2_metric.metrics.q2 import Q2
from q2_metric.types import Answer, Comparison, Example, How, Question, Span, Verdict

NO_ANSWER = "[CLS]"
"""The answer of the authors' reader if the passage has no answer. If a longer answer contains this
text, the answer is compared by its words only, without NLI."""

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
    """Token F1 of span and answer after :func:`normalise`, in [0, 1]. Word order has no effect."""
    left, right = normalise(span).split(), normalise(answer).split()
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(right), common / len(left)
    return 2 * precision * recall / (precision + recall)


def agrees(answer: Answer, span: Span) -> bool:
    """Whether a question passes Q²'s round trip, which checks that the question fits its span.

    The question was made for ``span``, a part of the response. ``answer`` is what Q²'s reader
    answered when it read the question and the response. The question passes if both are equal
    after :func:`normalise`. So an empty answer equals a span that consists only of articles.
    """
    return normalise(answer.text) == normalise(span.text)


def to_judge(question: Question, answer: Answer | None) -> tuple[str, str] | None:
    """The (premise, hypothesis) pair with which NLI compares the knowledge's ``answer`` and the
    response's. ``None`` if the knowledge has no answer or both answers have the same words."""
    if answer is None or not answer.text or NO_ANSWER in answer.text:
        return None
    if token_f1(question.span.text, answer.text) == 1:
        return None
    return f"{question.text} {answer.text}.", f"{question.text} {question.span.text}."


def compare(question: Question, answer: Answer | None, verdict: Verdict | None) -> Comparison:
    """Scores one question by comparing the response's span with the knowledge's ``answer``.

    Without an answer, the score is 0. If both have the same words, it is 1. Otherwise NLI's
    ``verdict`` counts: entailment scores 1, contradiction 0, and neutral the token F1 of the two.
    Without a verdict, token F1 is the score.
    """
    span = question.span.text
    if answer is None or not answer.text:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    f1 = token_f1(span, answer.text)
    if verdict is None or verdict.label == "neutral":
        how: How = "equal" if f1 == 1 else "token_f1"
        return Comparison(question, span, answer.text, f1, verdict, how, f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)


class AuthorsQ2(Q2):
    """Q² with the rules of its authors' program. It also scores responses that claim nothing."""

    recipe = "authors"
    scores_all = True

    def can_be_asked(self, span: Span) -> bool:
        return True

    def agrees(self, answer: Answer, span: Span) -> bool:
        return agrees(answer, span)

    def to_judge(self, question: Question, answer: Answer | None) -> tuple[str, str] | None:
        return to_judge(question, answer)

    def compare(
        self, question: Question, answer: Answer | None, verdict: Verdict | None,
    ) -> Comparison:
        return compare(question, answer, verdict)

    def whole(self, example: Example) -> tuple[str, str]:
        return example.knowledge.lower(), example.response.lower()
