"""Whether the knowledge agrees with a whole claim, beside the answers about its parts.

The reader finds "Bluetooth" in "it does not support Bluetooth", and the trail in "the trail is 42
km long" for a question that says 24 km. Such an answer is right but supports nothing. So an answer
counts for less if entailment finds its claim (a sentence of the response) contradicted. It counts
for nothing if the sentence that contains it denies the claim. A claim without an answered question
is judged by entailment and counts like one question. If values or arithmetic decide about a claim
(:mod:`q2_metric.metrics.ruled`), they also decide about its questions.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from q2_metric.metrics.ruled import by_values
from q2_metric.text.claims import has_claim
from q2_metric.text.excerpts import Excerpt
from q2_metric.text.normalise import token_f1
from q2_metric.text.sentences import split_sentences
from q2_metric.text.values import contradicted_values, in_notation_of
from q2_metric.types import (
    Comparison,
    Entailment,
    Example,
    PersonalFilter,
    Question,
    Span,
    Stances,
    Verdict,
)

ASKED_AS_A_WHOLE = "Is it so?"
"""The question shown for a claim that entailment judges as a whole."""
Near = Callable[[str, str], Excerpt]
"""Chooses the part of a text that is read for a question or a claim."""
_Claim = tuple[Example, int, int]
"""A sentence of a response, by its characters."""


def in_context(
    examples: Sequence[Example], comparisons: Sequence[Comparison], stances: Stances,
    entailment: Entailment, personal: PersonalFilter | None, near: Near,
) -> list[Comparison]:
    """The comparisons, weighted by their claims, and one for each claim without an answer.

    ``near`` chooses the parts of a long text that are read. A response without any question gets no
    comparison, because it is judged as a whole. A claim about the speakers (``personal``) gets no
    comparison either.
    """
    asked_about = {comparison.question.span.example for comparison in comparisons}
    claims = [claim for example in examples if example in asked_about
              for claim in _claims(example)]
    pairs = {claim: as_judged(claim[0].knowledge, _text(claim), near) for claim in claims}
    asked = list(dict.fromkeys(pairs.values()))
    judged = dict(zip(asked, entailment.judge(asked), strict=True)) if asked else {}
    verdicts = {claim: judged[pair] for claim, pair in pairs.items()}
    held = {claim: by_values(_text(claim), pairs[claim][0], pairs[claim][0]) for claim in claims}
    # What follows needs no answer of the reader's.
    comparisons = [item for item in comparisons
                   if item.knowledge_answer is not None or not held.get(_claim_of(item))]
    answered = {_claim_of(item) for item in comparisons if item.knowledge_answer is not None}
    weighted = [_as_held(item, held.get(_claim_of(item)))
                for item in _checked(comparisons, verdicts, stances)]
    open_claims = [claim for claim in claims if claim not in answered]
    if personal is not None:
        flags = personal.personal([_text(claim) for claim in open_claims])
        open_claims = [claim for claim, flag in zip(open_claims, flags, strict=True) if not flag]
    return weighted + [_as_held(_as_a_whole(claim, verdicts[claim]), held[claim])
                       for claim in open_claims]


def _as_held(comparison: Comparison, held: bool | None) -> Comparison:
    """The comparison, changed if values have decided whether its claim holds."""
    if held is None:
        return comparison
    return replace(comparison, how="equal" if held else "contradicted", score=float(held))


def as_judged(knowledge: str, claim: str, near: Near) -> tuple[str, str]:
    """Premise and hypothesis. The claim's values are written as in the knowledge, and the premise
    is the part of the knowledge ``near`` the claim."""
    premise = near(knowledge, claim).text
    return premise, in_notation_of(premise, claim)


def claim_of(question: Question) -> str:
    """The sentence of the response that a question is about."""
    response = question.span.example.response
    start, end = _sentence_at(response, question.span.start)
    return response[start:end]


def _checked(
    comparisons: Sequence[Comparison], verdicts: Mapping[_Claim, Verdict], stances: Stances
) -> list[Comparison]:
    """The comparisons, weighted; contradicted if the sentence of the answer denies the claim."""
    pairs = [_sentences(comparison) for comparison in comparisons]
    asked = [pair for pair in pairs if pair is not None]
    opposed = dict(zip(asked, stances.opposed(asked), strict=True))
    checked = []
    for item, pair in zip(comparisons, pairs, strict=True):
        verdict = verdicts.get(_claim_of(item))
        if pair is not None and (opposed[pair] or contradicted_values(
            *pair, item.question.span.example.knowledge)):
            item = replace(item, how="contradicted", score=0.0)
        elif verdict is not None:
            item = replace(item, score=item.score * _weight(verdict))
        checked.append(item)
    return checked


def _weight(verdict: Verdict) -> float:
    """The weight of an answer, by what entailment says of its claim."""
    return 1 - verdict.contradiction * (1 - verdict.entailment)


def _as_a_whole(claim: _Claim, verdict: Verdict) -> Comparison:
    """The verdict of entailment on a claim, as a comparison."""
    example, start, _ = claim
    text = _text(claim)
    question = Question(Span(example, text, start), ASKED_AS_A_WHOLE)
    return Comparison(question, text, None, token_f1(text, example.knowledge), verdict, "nli",
                      verdict.entailment + 0.5 * verdict.neutral)


def _claims(example: Example) -> list[_Claim]:
    """The sentences of a response that claim something."""
    return [(example, start, end) for start, end in _bounds(example.response)
            if has_claim(example.response[start:end], example.history)]


def _text(claim: _Claim) -> str:
    example, start, end = claim
    return example.response[start:end]


def _claim_of(comparison: Comparison) -> _Claim:
    span = comparison.question.span
    return span.example, *_sentence_at(span.example.response, span.start)


def _sentences(comparison: Comparison) -> tuple[str, str] | None:
    """The claim's sentence and the answer's sentence, if the answer counts for something."""
    if comparison.knowledge_start is None or comparison.score == 0:
        return None
    knowledge = comparison.question.span.example.knowledge
    start, end = _sentence_at(knowledge, comparison.knowledge_start)
    return _text(_claim_of(comparison)), knowledge[start:end]


def _sentence_at(text: str, place: int) -> tuple[int, int]:
    """The sentence of a text that contains a position."""
    bounds = _bounds(text)
    at = bisect_right(bounds, place, key=lambda bound: bound[0]) - 1
    return bounds[at] if at >= 0 else (0, len(text))


@functools.lru_cache(maxsize=256)
def _bounds(text: str) -> list[tuple[int, int]]:
    return split_sentences(text)
