"""Lowers the scores of Q²'s questions about claims that the knowledge contradicts as a whole. Q²'s
reader finds "Bluetooth" in "it does not support Bluetooth". Asked "What is 24 km long?", it answers
"the trail" from "the trail is 42 km long". In this module, a claim is a sentence."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from q2_metric.english.claims.checkable import has_claim
from q2_metric.english.values import has_wrong_value, in_notation_of
from q2_metric.metrics.ruled import by_values
from q2_metric.text.excerpts import Excerpt
from q2_metric.text.normalise import token_f1
from q2_metric.text.sentences import split_sentences
from q2_metric.types import (
    Comparison,
    Entailment,
    Example,
    PersonalFilter,
    Question,
    Span,
    Verdict,
)

ASKED_AS_A_WHOLE = "Is it so?"
"""Shown instead of a question if NLI judges a claim as a whole."""
Near = Callable[[str, str], Excerpt]
"""Chooses which part of a long text (first argument) is read for a question or claim (second)."""
_Claim = tuple[Example, int, int]
"""The example, and the start and end of the claim's sentence in the response."""


def in_context(
    examples: Sequence[Example], comparisons: Sequence[Comparison], entailment: Entailment,
    personal: PersonalFilter | None, near: Near,
) -> list[Comparison]:
    """Adjusts the score of each question to NLI's verdict on its claim or to rules on values
    (:mod:`q2_metric.metrics.ruled`), and adds a comparison for each claim without an answered
    question. Nothing is added for a response without any question, because Q² judges it as a whole,
    nor for claims about the speakers, if ``personal`` finds them."""
    asked_about = {comparison.question.span.example for comparison in comparisons}
    claims = [claim for example in examples if example in asked_about
              for claim in _claims(example)]
    pairs = {claim: as_judged(claim[0].knowledge, _text(claim), near) for claim in claims}
    asked = list(dict.fromkeys(pairs.values()))
    judged = dict(zip(asked, entailment.judge(asked), strict=True)) if asked else {}
    verdicts = {claim: judged[pair] for claim, pair in pairs.items()}
    held = {claim: by_values(_text(claim), pairs[claim][0], pairs[claim][0]) for claim in claims}
    # Claims that values already confirm do not need an answer from the reader.
    comparisons = [item for item in comparisons
                   if item.knowledge_answer is not None or not held.get(_claim_of(item))]
    answered = {_claim_of(item) for item in comparisons if item.knowledge_answer is not None}
    weighted = [_as_held(item, held.get(_claim_of(item)))
                for item in _checked(comparisons, verdicts)]
    open_claims = [claim for claim in claims if claim not in answered]
    if personal is not None:
        flags = personal.personal([_text(claim) for claim in open_claims])
        open_claims = [claim for claim, flag in zip(open_claims, flags, strict=True) if not flag]
    return weighted + [_as_held(_as_a_whole(claim, verdicts[claim]), held[claim])
                       for claim in open_claims]


def _as_held(comparison: Comparison, held: bool | None) -> Comparison:
    if held is None:
        return comparison
    return replace(comparison, how="equal" if held else "contradicted", score=float(held))


def as_judged(knowledge: str, claim: str, near: Near) -> tuple[str, str]:
    """The (premise, hypothesis) pair with which NLI judges a claim. In the hypothesis, the claim's
    values are written as in the premise."""
    premise = near(knowledge, claim).text
    return premise, in_notation_of(premise, claim)


def claim_of(question: Question) -> str:
    """The sentence of the response that a question is about."""
    response = question.span.example.response
    start, end = _sentence_at(response, question.span.start)
    return response[start:end]


def _checked(
    comparisons: Sequence[Comparison], verdicts: Mapping[_Claim, Verdict]
) -> list[Comparison]:
    """The score is 0 if the knowledge's sentence with the answer has other values."""
    checked = []
    for item in comparisons:
        pair, verdict = _sentences(item), verdicts.get(_claim_of(item))
        if pair is not None and has_wrong_value(*pair, item.question.span.example.knowledge):
            item = replace(item, how="contradicted", score=0.0)
        elif verdict is not None:
            item = replace(item, score=item.score * _weight(verdict))
        checked.append(item)
    return checked


def _weight(verdict: Verdict) -> float:
    return 1 - verdict.contradiction * (1 - verdict.entailment)


def _as_a_whole(claim: _Claim, verdict: Verdict) -> Comparison:
    """The score is e + 0.5 n, from the probabilities of entailment and neutral."""
    example, start, _ = claim
    text = _text(claim)
    question = Question(Span(example, text, start), ASKED_AS_A_WHOLE)
    return Comparison(question, text, None, token_f1(text, example.knowledge), verdict, "nli",
                      verdict.entailment + 0.5 * verdict.neutral)


def _claims(example: Example) -> list[_Claim]:
    return [(example, start, end) for start, end in _bounds(example.response)
            if has_claim(example.response[start:end], example.history)]


def _text(claim: _Claim) -> str:
    example, start, end = claim
    return example.response[start:end]


def _claim_of(comparison: Comparison) -> _Claim:
    span = comparison.question.span
    return span.example, *_sentence_at(span.example.response, span.start)


def _sentences(comparison: Comparison) -> tuple[str, str] | None:
    """The sentence with the question's span, and the sentence of the knowledge with the answer."""
    if comparison.knowledge_start is None or comparison.score == 0:
        return None
    knowledge = comparison.question.span.example.knowledge
    start, end = _sentence_at(knowledge, comparison.knowledge_start)
    return _text(_claim_of(comparison)), knowledge[start:end]


def _sentence_at(text: str, place: int) -> tuple[int, int]:
    bounds = _bounds(text)
    at = bisect_right(bounds, place, key=lambda bound: bound[0]) - 1
    return bounds[at] if at >= 0 else (0, len(text))


@functools.lru_cache(maxsize=256)
def _bounds(text: str) -> list[tuple[int, int]]:
    return split_sentences(text)
