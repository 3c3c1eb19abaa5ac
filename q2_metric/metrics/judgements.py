"""Turns an entailment model's verdicts into judgements of claims, checks what claims cite, and
turns judgements into a score."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from q2_metric.memory import remembered
from q2_metric.text.citations import cited, passages, texts
from q2_metric.text.excerpts import Excerpt
from q2_metric.types import Citation, Decision, Example, Judgement, Score, Verdict

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


# --- does the passage that a claim cites support the claim? -----------------------------------

Support = Callable[[Sequence[tuple[str, str]]], list[float]]
"""How far each passage supports its claim, in [0, 1], for (passage, claim) pairs."""
_Cited = tuple[Judgement, list[str], list[tuple[str, str]]]
"""A claim, the names of the passages that it cites, and its (passage, claim) pairs."""


def with_citations(scores: Sequence[Score], support: Support) -> list[Score]:
    """Sets ``citation`` and ``cites`` of each judged claim in the responses that cite passages. The
    scores must be of the original examples. All claims and passages are judged in one call."""
    cites: dict[int, list[_Cited]] = {}
    for i, score in enumerate(scores):
        judged = [item for item in score.evidence if isinstance(item, Judgement)]
        places = [(item.claim.start, item.claim.end) for item in judged]
        named = cited(score.example.response, places)
        if any(named):
            passage_places = _places(score.example)
            cites[i] = [
                (item, names, [(text, item.claim.text) for text in texts(
                    score.example.knowledge, names, passage_places)])
                for item, names in zip(judged, named, strict=True)]
    known: dict[tuple[str, str], float] = {}
    remembered(support, (pair for some in cites.values() for one in some for pair in one[2]), known)
    return [
        score if i not in cites else replace(score, evidence=tuple(
            replace(item, citation=_citation(item, names, [known[pair] for pair in pairs]),
                    cites=tuple(names))
            for item, names, pairs in cites[i]))
        for i, score in enumerate(scores)]


def _places(example: Example) -> dict[str, tuple[int, int]]:
    """A passage is cited by its position, from "1", or by its id if that is a number."""
    listed = example.passages
    if not listed:
        return passages(example.knowledge)
    numbered = {str(number): passage for number, passage in enumerate(listed, start=1)}
    ids = {passage.id: passage for passage in listed if passage.id and passage.id.isdigit()}
    return {name: (passage.start, passage.end) for name, passage in {**numbered, **ids}.items()}


def _citation(judged: Judgement, names: Sequence[str], supports: Sequence[float]) -> Citation:
    if not names:
        return "none"
    if any(support > SUPPORTED for support in supports):
        return "right"
    return "wrong passage" if judged.verdict == "supported" else "unsupported"
