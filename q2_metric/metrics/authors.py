"""Q² as in its authors' program (``recipe="authors"``): the rules of ``score.py``,
``run_pipeline.py`` and ``run_nli.py`` of github.com/orhonovich/q-squared."""

import re
import string

from q2_metric.metrics.q2 import Q2, judged_answer
from q2_metric.text.normalise import f1_of
from q2_metric.types import Answer, Comparison, Example, Question, Span, Verdict

NO_ANSWER = "[CLS]"
"""What the authors' reader answers if the passage has no answer. It can be part of an answer."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")


def normalise(text: str) -> str:
    """Lower-cases a text and removes ASCII punctuation, a/an/the/in/our and repeated blanks."""
    plain = _DROPPED.sub(" ", text.lower().translate(_NO_PUNCTUATION))
    return re.sub(" +", " ", plain).strip()


class AuthorsProgramQ2(Q2):
    """It also scores responses that claim nothing."""

    recipe = "authors"
    scores_all = True

    def agrees(self, answer: Answer, span: Span) -> bool:
        """An empty answer equals a span of articles only."""
        return normalise(answer.text) == normalise(span.text)

    def to_judge(self, question: Question, answer: Answer | None) -> tuple[str, str] | None:
        if (answer is None or not answer.text or NO_ANSWER in answer.text
                or _token_f1(question.span.text, answer.text) == 1):
            return None
        return f"{question.text} {answer.text}.", f"{question.text} {question.span.text}."

    def compare(
        self, question: Question, answer: Answer | None, verdict: Verdict | None,
    ) -> Comparison:
        span = question.span.text
        if answer is None or not answer.text:
            return Comparison(question, span, None, 0.0, None, "no_answer", 0.0)
        f1 = _token_f1(span, answer.text)
        return judged_answer(question, answer, verdict, f1, "equal" if f1 == 1 else "token_f1")

    def whole(self, example: Example) -> tuple[str, str]:
        return example.knowledge.lower(), example.response.lower()


def _token_f1(span: str, answer: str) -> float:
    return f1_of(normalise(span).split(), normalise(answer).split())
