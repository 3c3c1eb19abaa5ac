"""From a verdict to a judgement: what is said of a claim, and what in the knowledge decides it."""

from __future__ import annotations

from dataclasses import replace

from q2_metric.types import Decision, Example, Judgement, Score, Verdict

SUPPORTED = 0.5
"""A claim is called supported where its support is above."""


def decision(verdict: Verdict, support: float) -> Decision:
    """What is said of a claim whose best chunk has this verdict: whether it is supported; where
    it is not, whether a contradiction or nothing was found."""
    if support > SUPPORTED:
        return "supported"
    return "contradicted" if verdict.contradiction > verdict.neutral else "not found"


def decided(
    judged: Judgement, knowledge: str, place: tuple[int, int], support: float
) -> Judgement:
    """The judgement with the sentence of the knowledge at [start, end)."""
    start, end = place
    lines = knowledge[:start].split("\n")
    return replace(
        judged, passage=knowledge[start:end], passage_start=start, passage_support=support,
        passage_number=sum(bool(line.strip()) for line in lines[:-1]) + 1,
    )


def as_written(score: Score, example: Example) -> Score:
    """The score of an example, its passages with the marks that were skipped."""
    because = tuple(
        one if one.passage is None or one.passage_start is None else replace(
            one, passage=example.knowledge[one.passage_start:][: len(one.passage)])
        for one in score.because if isinstance(one, Judgement)
    )
    return replace(score, example=example, because=because)
