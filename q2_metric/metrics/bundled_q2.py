"""Q² for the package's own models (``recipe="bundled"``). The description of the setting ``recipe``
says what differs from the paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from q2_metric.english.values import compare_answers, stated
from q2_metric.metrics.answers import same_words
from q2_metric.metrics.claims import is_verdict, without_marks
from q2_metric.metrics.context import as_judged, claim_of, in_context
from q2_metric.metrics.q2 import Q2
from q2_metric.text.excerpts import Excerpt, excerpt
from q2_metric.text.normalise import normalise
from q2_metric.text.passages import in_passages
from q2_metric.types import Answer, Comparison, Example, Question, Span, Verdict

PASSAGES = 6
"""Number of passages of about 200 tokens in which an answer is sought."""
_BETWEEN_ITEMS = re.compile(r"[,;]\s*(?:and |or )?|\s(?:and|or|&)\s+")


class BundledQ2(Q2):
    """The arguments are those of :class:`~q2_metric.metrics.q2.Q2`."""

    recipe = "bundled"
    reading = "neighbours"
    reads_question = True

    def __init__(self, *stages: Any, **keywords: Any) -> None:
        from q2_metric.english.claims.statements import EnglishAnswers

        super().__init__(*stages, **keywords)
        self._short_answers = EnglishAnswers()

    def prepare(self, examples: Sequence[Example]) -> list[Example]:
        plain = list(map(without_marks, examples))
        stated_as = self._short_answers.stated(plain)
        return super().prepare([
            replace(example, response=said) if said else example
            for example, said in zip(plain, stated_as, strict=True)])

    def is_silent(self, example: Example) -> bool:
        """Whether the response is a bare "yes" or "no" that no rule could turn into a statement."""
        return is_verdict(example)

    def read_for(self, spans: Sequence[Span]) -> list[str]:
        return [span.example.response for span in in_passages(spans)]

    def agrees(self, answer: Answer, span: Span) -> bool:
        """The answer may also be a list with the span, such as "red, green and blue"."""
        items = [answer.text, *_BETWEEN_ITEMS.split(answer.text)]
        return normalise(span.text) in map(normalise, items)

    def knowledge_for(self, question: Question) -> Excerpt:
        return near(question.span.example.knowledge, f"{question.text} {claim_of(question)}")

    def same(self, span: Span, answer: str) -> bool | None:
        return same_value(span, answer)

    def review(
        self, examples: Sequence[Example], comparisons: list[Comparison],
    ) -> list[Comparison]:
        personal = self.personal if self.settings.personal == "remove" else None
        return in_context(examples, comparisons, self.entailment, personal, near)

    def whole(self, example: Example) -> tuple[str, str]:
        return as_judged(example.knowledge, example.response, near)

    def fallback_value(self, verdict: Verdict) -> float:
        """The expected score over all classes, instead of that of the most probable class."""
        return verdict.entailment + 0.5 * verdict.neutral


def near(knowledge: str, about: str) -> Excerpt:
    """The part of the knowledge that models read for a question or a claim."""
    return excerpt(knowledge, about, PASSAGES, tables=True)


def same_value(span: Span, answer: str) -> bool | None:
    """Whether span and answer agree by words or values. ``None`` if the values differ but the
    knowledge states the span's value elsewhere: the reader may have read the wrong sentence."""
    if same_words(span, answer):
        return True
    same = compare_answers(span.text, answer)
    return None if same is False and stated(span.text, span.example.knowledge) else same
