"""Q²'s rules as in the authors' program q-squared (``recipe="authors"``).

They restate ``score.py``, ``run_pipeline.py`` and ``run_nli.py`` of github.com/orhonovich/
q-squared. :mod:`q2_metric.metrics.answers` has the default rules of this package.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from q2_metric.types import Answer, Comparison, How, Question, Span, Verdict

NO_ANSWER = "[CLS]"
"""The text that their reader decodes if the passage has no answer. A longer answer that contains it
is compared by its words only."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")


def normalise(text: str) -> str:
    """The text in lower case, without ASCII punctuation, a/an/the/in/our and repeated blanks.

    >>> normalise("In the U.S., 1994")
    'us 1994'
    """
    plain = _DROPPED.sub(" ", text.lower().translate(_NO_PUNCTUATION))
    return re.sub(" +", " ", plain).strip()


def token_f1(span: str, answer: str) -> float:
    """F1 of the words; 1 if only their order differs."""
    left, right = normalise(span).split(), normalise(answer).split()
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(right), common / len(left)
    return 2 * precision * recall / (precision + recall)


def agrees(answer: Answer, span: Span) -> bool:
    """The round trip. A span that consists only of articles agrees with an empty answer."""
    return normalise(answer.text) == normalise(span.text)


def to_judge(question: Question, answer: Answer | None) -> tuple[str, str] | None:
    """Premise and hypothesis for NLI; ``None`` if NLI is not asked."""
    if answer is None or not answer.text or NO_ANSWER in answer.text:
        return None
    if token_f1(question.span.text, answer.text) == 1:
        return None
    return f"{question.text} {answer.text}.", f"{question.text} {question.span.text}."


def compare(question: Question, answer: Answer | None, verdict: Verdict | None) -> Comparison:
    """The score of one question: 1 for the same words, otherwise by the verdict, otherwise the
    words' F1."""
    span = question.span.text
    if answer is None or not answer.text:
        return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
    f1 = token_f1(span, answer.text)
    if verdict is None or verdict.label == "neutral":
        how: How = "equal" if f1 == 1 else "token_f1"
        return Comparison(question, span, answer.text, f1, verdict, how, f1, answer.start)
    score = 1.0 if verdict.label == "entailment" else 0.0
    return Comparison(question, span, answer.text, f1, verdict, "nli", score, answer.start)
