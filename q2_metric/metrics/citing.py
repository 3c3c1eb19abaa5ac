"""Checks citations in responses: does the passage that a claim cites support the claim?"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from q2_metric.memory import remembered
from q2_metric.metrics.judgements import SUPPORTED
from q2_metric.text.citations import cited, passages, texts
from q2_metric.types import Citation, Example, Judgement, Score

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
