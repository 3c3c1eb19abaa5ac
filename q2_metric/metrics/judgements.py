"""Turns an entailment model's verdicts into judgements of claims, and judgements into a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from q2_metric.text.excerpts import Excerpt
from q2_metric.text.nearest import WordIndex
from q2_metric.types import Claim, Decision, Example, Judgement, Score, Verdict

SUPPORTED = 0.5
"""A claim counts as supported if its support is above this number."""


def decision(verdict: Verdict, support: float) -> Decision:
    """Decides whether a claim is "supported", "contradicted" or "not found".

    Args:
        verdict: the entailment verdict of the chunk of the knowledge that supports the claim best.
        support: the claim's support, computed from this verdict.
    """
    if support > SUPPORTED:
        return "supported"
    return "contradicted" if verdict.contradiction > verdict.neutral else "not found"


def nothing_claimed(example: Example) -> Score:
    """The score 0, for a response that claims nothing. The whole response is its only claim."""
    whole = Claim(example.response.strip(), 0, len(example.response))
    return Score(example, 0.0, (Judgement(whole, 0.0, "not found"),))


def decided(
    judged: Judgement, knowledge: str, place: tuple[int, int], support: float
) -> Judgement:
    """Adds to a judgement the sentence of the knowledge that decided it.

    Args:
        judged: the judgement of a claim.
        knowledge: the text in which the sentence stands.
        place: the sentence's character range.
        support: how far this sentence alone supports the claim.
    """
    start, end = place
    lines = knowledge[:start].split("\n")
    return replace(
        judged, passage=knowledge[start:end], passage_start=start, passage_support=support,
        passage_number=sum(bool(line.strip()) for line in lines[:-1]) + 1,
    )


def distinct(judged: Iterable[Judgement]) -> list[float]:
    """The support of each distinct claim. A repeated claim counts once. So a response cannot raise
    its score by repeating a true claim."""
    return list({" ".join(one.claim.text.lower().split()): one.support for one in judged}.values())


def mean(supports: Sequence[float]) -> float | None:
    """``None`` without supports."""
    return sum(supports) / len(supports) if supports else None


def deciding(
    judged: Judgement, claim: str, sentences: Sequence[str],
    known: Mapping[tuple[str, str], Verdict], best: int,
) -> int:
    """The index of the sentence that best explains the verdict on a claim.

    For a supported claim, this is the sentence that supports it best. For a contradicted claim, it
    is the sentence that contradicts it most. Otherwise, it is the sentence that shares most words
    with the claim.

    Args:
        judged: the judgement of the claim.
        claim: the text of the claim as the model read it.
        sentences: the sentences that were searched.
        known: verdicts by (sentence, claim). They are needed only for a contradicted claim with
            several sentences.
        best: the index of the sentence that supports the claim best.
    """
    if judged.verdict == "contradicted" and len(sentences) > 1:
        return max(range(len(sentences)),
                   key=lambda place: known[sentences[place], claim].contradiction)
    if judged.verdict == "not found":
        return WordIndex(sentences).nearest(claim, 1)[0]
    return best


def as_written(score: Score, example: Example, known: Excerpt | None = None) -> Score:
    """Replaces the rewritten example of a score by the original ``example``.

    Passages in the judgements are then quoted from the original knowledge. ``known`` is the text
    that the metric read instead: without markup, and with tables as sentences. ``None`` means that
    the metric read the original.
    """
    evidence = tuple(_written(item, example.knowledge, known) if known else item
                     for item in score.evidence if isinstance(item, Judgement))
    return replace(score, example=example, evidence=evidence)


def _written(judged: Judgement, knowledge: str, known: Excerpt) -> Judgement:
    if judged.passage is None or judged.passage_start is None:
        return judged
    read = judged.passage.rstrip()
    start = known.place(judged.passage_start)
    end = known.place(judged.passage_start + max(len(read) - 1, 0)) + 1
    place = (start, min(end, len(knowledge)) if end > start else start + len(read))
    return decided(judged, knowledge, place, judged.passage_support or 0.0)
