"""Turns an entailment model's verdicts into judgements of claims, and judgements into a score."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from q2_metric.text.excerpts import Excerpt
from q2_metric.types import Decision, Example, Judgement, Score, Verdict

SUPPORTED = 0.5
CONTRADICTED = 0.6
"""The least P(contradiction) of a contradicted claim (docs/results/training.md)."""


def decision(verdict: Verdict) -> Decision:
    """``verdict`` is that of the chunk of the knowledge that supports the claim best."""
    if verdict.entailment > SUPPORTED:
        return "supported"
    return "contradicted" if contradicts(verdict) else "not found"


def contradicts(verdict: Verdict) -> bool:
    """Whether the text contradicts the claim. A text that only says nothing about it does not."""
    return verdict.contradiction > CONTRADICTED


def decided(judged: Judgement, knowledge: str, place: tuple[int, int], support: float) -> Judgement:
    """Adds the sentence at ``place``, which decided the claim and alone gives it this support."""
    start, end = place
    lines = knowledge[:start].split("\n")
    return replace(
        judged, passage=knowledge[start:end], passage_start=start, passage_support=support,
        passage_number=sum(bool(line.strip()) for line in lines[:-1]) + 1)


def distinct(judged: Iterable[Judgement]) -> list[Judgement]:
    """A repeated claim counts once, so that repeating a true claim does not raise the score."""
    return list({" ".join(one.claim.text.lower().split()): one for one in judged}.values())


def mean(supports: Sequence[float]) -> float | None:
    return sum(supports) / len(supports) if supports else None


def as_written(score: Score, example: Example, known: Excerpt | None = None) -> Score:
    """Gives a score its original ``example``, from which passages are then quoted. ``known`` is the
    text that the metric read instead, if it did."""
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
