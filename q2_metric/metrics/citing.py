"""Checks whether the passage that a claim cites supports it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from q2_metric.metrics.judgements import SUPPORTED
from q2_metric.text.citations import cited, passages, texts
from q2_metric.types import Citation, Example, Judgement, Score

Support = Callable[[Sequence[tuple[str, str]]], list[float]]
"""How far each (passage, claim) is supported."""


def with_citations(scores: Sequence[Score], support: Support) -> list[Score]:
    """The scores, with a citation verdict for each claim of a response that cites something.

    No score changes. All pairs of a cited passage and its claim are judged together.

    Args:
        scores: scores as written, with judged claims in ``evidence``.
        support: judges pairs of passage and claim.
    """
    asked: dict[tuple[int, int], list[tuple[str, str]]] = {}
    cites: dict[int, list[list[str]]] = {}
    for i, score in enumerate(scores):
        judged = [item for item in score.evidence if isinstance(item, Judgement)]
        named = cited(score.example.response, [(one.claim.start, one.claim.end) for one in judged])
        if not any(named):
            continue
        cites[i] = named
        places = _places(score.example)
        for n, (one, names) in enumerate(zip(judged, named, strict=True)):
            asked[i, n] = [(text, one.claim.text)
                           for text in texts(score.example.knowledge, names, places)]
    pairs = list(dict.fromkeys(pair for some in asked.values() for pair in some))
    known = dict(zip(pairs, support(pairs), strict=True)) if pairs else {}
    cited_scores = list(scores)
    for i, named in cites.items():
        judged = [item for item in scores[i].evidence if isinstance(item, Judgement)]
        cited_scores[i] = replace(scores[i], evidence=tuple(
            replace(one, citation=_citation(one, names, [known[pair] for pair in asked[i, n]]),
                    cites=tuple(names))
            for n, (one, names) in enumerate(zip(judged, named, strict=True))))
    return cited_scores


def _places(example: Example) -> dict[str, tuple[int, int]]:
    """The characters of each passage by its number, and by its id if that is a number."""
    listed = example.passages
    if not listed:
        return passages(example.knowledge)
    numbered = {str(number): one for number, one in enumerate(listed, start=1)}
    ids = {one.id: one for one in listed if one.id and one.id.isdigit()}
    return {name: (one.start, one.end) for name, one in {**numbered, **ids}.items()}


def _citation(judged: Judgement, names: Sequence[str], supports: Sequence[float]) -> Citation:
    if not names:
        return "none"
    if any(support > SUPPORTED for support in supports):
        return "right"
    return "wrong passage" if judged.verdict == "supported" else "unsupported"
