"""Q² as in its authors' program (``recipe="authors"``): the rules of ``score.py``,
``run_pipeline.py`` and ``run_nli.py`` of github.com/orhonovich/q-squared."""

from __future__ import annotations

import re
import string
from collections import Counter

from q2_metric.metrics.q2 import Q2
from q2_metric.types import Answer, Comparison, Example, How, Question, Span, Verdict

NO_ANSWER = "[CLS]"
"""What the authors' reader answers if the passage has no answer. It can be part of an answer."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")


def normalise(text: str) -> str:
    """Lower-cases a text and removes ASCII punctuation, a/an/the/in/our and repeated blanks."""
    plain = _DROPPED.sub(" ", text.lower().translate(_NO_PUNCTUATION))
    return re.sub(" +", " ", plain).strip()


def token_f1(span: str, answer: str) -> float:
    """Token F1 of span and answer after :func:`normalise`, in [0, 1]."""
    left, right = normalise(span).split(), normalise(answer).split()
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(right), common / len(left)
    return 2 * precision * recall / (precision + recall)


def agrees(answer: Answer, span: Span) -> bool:
    """The round trip with this normalisation: an empty answer equals a span of articles only."""
    return normalise(answer.text) == normalise(span.text)


def to_judge(question: Question, answer: Answer | None) -> tuple[str, str] | None:
    """The (premise, hypothesis) by which NLI compares the answers; ``None`` if it is not needed."""
    if answer is None or not answer.text or NO_ANSWER in answer.text:
        return None
    if token_f1(question.span.text, answer.text) == 1:
        return None
    return f"{question.text} {answer.text}.", f"{question.text} {question.span.text}."


def compare(question: Question, answer: Answer | None, verdict: Verdict | None) -> Comparison:
    """Scores one question by NLI's verdict, or by token F1 if it is neutral or missing."""
    span = question.span.text
    if answer is None or not answer.text:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    f1 = token_f1(span, answer.text)
    if verdict is None or verdict.label == "neutral":
        how: How = "equal" if f1 == 1 else "token_f1"
        return Comparison(question, span, answer.text, f1, verdict, how, f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)


class AuthorsProgramQ2(Q2):
    """It also scores responses that claim nothing."""

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
