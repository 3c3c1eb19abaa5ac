"""From a verdict to a judgement: the decision about a claim, and the sentence that decides it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from q2_metric.text.excerpts import Excerpt
from q2_metric.text.nearest import WordIndex
from q2_metric.types import Claim, Decision, Example, Judgement, Score, Verdict

SUPPORTED = 0.5
"""A claim with a higher support is called supported."""


def decision(verdict: Verdict, support: float) -> Decision:
    """The decision about a claim from the verdict of its best chunk: supported, contradicted or not
    found."""
    if support > SUPPORTED:
        return "supported"
    return "contradicted" if verdict.contradiction > verdict.neutral else "not found"


def nothing_claimed(example: Example) -> Score:
    """The score of a response that claims nothing which could be supported."""
    whole = Claim(example.response.strip(), 0, len(example.response))
    return Score(example, 0.0, (Judgement(whole, 0.0, "not found"),))


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
    """The support of each distinct claim: a repeated claim counts once, so repeating a true claim
    does not make up for a false one."""
    return list({" ".join(one.claim.text.lower().split()): one.support for one in judged}.values())


def aggregate(supports: Sequence[float], how: str) -> float | None:
    """A response's score: the "mean", the least ("min") or the harmonic mean ("hmean")."""
    if not supports:
        return None
    if how == "min":
        return min(supports)
    if how == "hmean":
        return len(supports) / sum(1 / max(support, 1e-9) for support in supports)
    return sum(supports) / len(supports)


def deciding(
    judged: Judgement, claim: str, sentences: Sequence[str],
    known: Mapping[tuple[str, str], Verdict], best: int,
) -> int:
    """The sentence of the knowledge that decides: for a supported claim the one that supports it
    best, for a contradicted claim the one that contradicts it most, otherwise the one that shares
    most words with it.

    Args:
        claim: the claim, as it was judged.
        sentences: the sentences that were searched.
        known: verdicts by (sentence, claim); only sentences that were judged alone can decide.
        best: the place of the best support.
    """
    places = [i for i, sentence in enumerate(sentences) if (sentence, claim) in known]
    if judged.verdict == "contradicted" and places:
        return max(places, key=lambda place: known[sentences[place], claim].contradiction)
    if judged.verdict == "not found" and places:
        [nearest] = WordIndex([sentences[place] for place in places]).nearest(claim, 1)
        return places[nearest]
    return best


def as_written(score: Score, example: Example, known: Excerpt | None = None) -> Score:
    """The score of an example, with passages as its knowledge has them.

    ``known`` is the knowledge that was read instead: without marks, and with tables as sentences.
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
