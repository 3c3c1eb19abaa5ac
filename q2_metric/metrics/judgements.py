"""From a verdict to a judgement: what is said of a claim, and what in the knowledge decides it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from q2_metric.text.nearest import Parts
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


def distinct(judged: Iterable[Judgement]) -> list[float]:
    """The support of each claim, once where a response repeats it: saying a true thing again does
    not make up for a false one."""
    return list({" ".join(one.claim.text.lower().split()): one.support for one in judged}.values())


def deciding(
    judged: Judgement, sentences: Sequence[str], known: Mapping[tuple[str, str], Verdict], best: int
) -> int:
    """Which sentence of the knowledge decides: of a supported claim the one that supports it
    best, of a contradicted one the one that contradicts it most, of any other the one that shares
    most words with it.

    Args:
        sentences: that were searched.
        known: verdicts by (sentence, claim); only sentences that were judged alone can decide.
        best: the place of the best support.
    """
    claim = judged.claim.text
    places = [i for i, sentence in enumerate(sentences) if (sentence, claim) in known]
    if judged.verdict == "contradicted" and places:
        return max(places, key=lambda place: known[sentences[place], claim].contradiction)
    if judged.verdict == "not found" and places:
        [nearest] = Parts([sentences[place] for place in places]).nearest(claim, 1)
        return places[nearest]
    return best


def as_written(score: Score, example: Example) -> Score:
    """The score of an example, its passages with the marks that were skipped."""
    because = tuple(
        one if one.passage is None or one.passage_start is None else replace(
            one, passage=example.knowledge[one.passage_start:][: len(one.passage)])
        for one in score.because if isinstance(one, Judgement)
    )
    return replace(score, example=example, because=because)
