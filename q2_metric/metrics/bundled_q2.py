"""Q² for the package's own models (``recipe="bundled"``). The description of the setting ``recipe``
says what differs from the paper."""

import re
from collections.abc import Sequence
from dataclasses import replace

from q2_metric.english.claims.find import EnglishClaims
from q2_metric.english.values.compare import compare_answers, in_notation_of, stated
from q2_metric.metrics.claims import without_marks
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.rules import bounded, ruling
from q2_metric.text.excerpts import Excerpt, excerpt, in_passages, with_tables
from q2_metric.text.normalise import normalise, token_f1
from q2_metric.types import Answer, Claim, Comparison, Example, Question, Ruling, Span, Verdict

ASKED_AS_A_WHOLE = "Is it so?"
"""Shown instead of a question if NLI judges a claim as a whole."""
PASSAGES = 3
"""Number of passages of about 200 tokens in which an answer is sought, and by which NLI judges a
claim."""
_BETWEEN_ITEMS = re.compile(r"[,;]\s*(?:and |or )?|\s(?:and|or|&)\s+")


class BundledQ2(Q2):
    """Its questions belong to the claims of the response."""

    recipe = "bundled"
    reading = "neighbours"
    reads_question = True
    claims = EnglishClaims()

    def signed(self) -> dict[str, object]:
        return {**super().signed(), "claims": self.claims.name, "nli": self.entailment.name}

    def prepare(self, examples: Sequence[Example]) -> list[Example]:
        plain = list(map(without_marks, examples))
        return super().prepare([
            replace(example, response=claims[0].text)
            if [claim.kind for claim in claims] == ["answer"] else example
            for example, claims in zip(plain, self.claims.find(plain), strict=True)])

    def is_silent(self, example: Example) -> bool:
        """Whether the response is a bare "yes" or "no" that no rule could turn into a statement."""
        return not self.claims.find([example])[0]

    def read_for(self, spans: Sequence[Span]) -> list[str]:
        return [span.example.response for span in in_passages(spans)]

    def agrees(self, answer: Answer, span: Span) -> bool:
        """The answer may also be a list with the span, such as "red, green and blue"."""
        items = [answer.text, *_BETWEEN_ITEMS.split(answer.text)]
        return normalise(span.text) in map(normalise, items)

    def knowledge_for(self, question: Question) -> Excerpt:
        claim = self.claim_of(question.span)
        return excerpt(question.span.example.knowledge,
                       f"{question.text} {claim.text if claim else ''}", PASSAGES)

    def same(self, span: Span, answer: str) -> bool | None:
        """By words or values. ``None`` if the values differ but the knowledge states the span's
        value elsewhere: the reader may have read the wrong sentence."""
        if super().same(span, answer):
            return True
        same = compare_answers(span.text, answer)
        return None if same is False and stated(span.text, span.example.knowledge) else same

    def claim_of(self, span: Span) -> Claim | None:
        """The innermost claim that holds the span."""
        return min((claim for claim in self.claims.find([span.example])[0]
                    if claim.start <= span.start < claim.end),
                   key=lambda claim: claim.end - claim.start, default=None)

    def review(self, examples: Sequence[Example], found: list[Comparison]) -> list[Comparison]:
        """Adjusts each comparison to the verdict on its claim, and adds one for each claim without
        an answered question. NLI finds that "it does not support Bluetooth" contradicts a claim
        although the reader finds the right answer "Bluetooth". A question that the knowledge does
        not answer scores P(entailment) of its claim: the reader may not know the claim's words.
        Nothing is added for a response without questions, because NLI judges it as a whole."""
        asked = {item.question.span.example for item in found}
        claims = [(example, claim)
                  for example, some in zip(examples, self.claims.find(examples), strict=True)
                  if example in asked for claim in some]
        verdicts = self.judged(as_judged(example.knowledge, claim.text)
                               for example, claim in claims)
        known: dict[tuple[Example, Claim | None], tuple[Verdict, Ruling | None]] = {
            one: (verdict, ruling(one[1].text, with_tables(one[0].knowledge).text))
            for one, verdict in zip(claims, verdicts, strict=True)}
        about = [(item.question.span.example, self.claim_of(item.question.span)) for item in found]
        answered = {one for one, item in zip(about, found, strict=True)
                    if item.knowledge_answer is not None}
        return [
            *(_reviewed(item, *known[one]) if one in known else item
              for one, item in zip(about, found, strict=True)),
            *(_as_a_whole(*one, *known[one]) for one in claims if one not in answered)]

    def whole(self, example: Example) -> tuple[str, str]:
        return as_judged(example.knowledge, example.response)

    def fallback_value(self, verdict: Verdict) -> float:
        """The expected score over all classes, instead of that of the most probable class."""
        return verdict.entailment + 0.5 * verdict.neutral


def as_judged(knowledge: str, claim: str) -> tuple[str, str]:
    """The (premise, hypothesis) pair with which NLI judges a claim. In the hypothesis, the claim's
    values are written as in the premise."""
    premise = excerpt(knowledge, claim, PASSAGES).text
    return premise, in_notation_of(premise, claim)


def _reviewed(comparison: Comparison, verdict: Verdict, found: Ruling | None) -> Comparison:
    if comparison.knowledge_answer is None:
        return _ruled(replace(comparison, verdict=verdict, score=verdict.entailment), found)
    weight = 1 - verdict.contradiction * (1 - verdict.entailment)
    return _ruled(replace(comparison, score=comparison.score * weight), found)


def _as_a_whole(
    example: Example, claim: Claim, verdict: Verdict, found: Ruling | None,
) -> Comparison:
    said = example.response[claim.start : claim.end]
    question = Question(Span(example, said, claim.start), ASKED_AS_A_WHOLE)
    return _ruled(Comparison(
        question, said, None, token_f1(claim.text, example.knowledge), verdict, "nli",
        verdict.entailment), found)


def _ruled(comparison: Comparison, found: Ruling | None) -> Comparison:
    if found is None:
        return comparison
    return replace(comparison, how="equal" if found == "supported" else "contradicted",
                   score=bounded(comparison.score, found))
