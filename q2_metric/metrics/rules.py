"""What rules on values decide about claims. A network of this size takes "23:10" and "11:10 pm" for
different times, so a ruling limits the scores of every metric. ``python -m tools.benchmarks rules``
counts how often each rule is right."""

import functools
from collections.abc import Callable, Mapping

from q2_metric.english.values.compare import follows, has_wrong_value
from q2_metric.text.overlap import WordIndex
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Ruling

BOUNDS: Mapping[Ruling | None, tuple[float, float]] = {
    "supported": (0.9, 1.0), "contradicted": (0.0, 0.1), None: (0.0, 1.0)}
"""Between these, the scores of a claim, of a question about it, and of a response must lie."""
NEAREST = 3
"""Sentences examined for each claim: those that share most words with it."""


def bounded(score: float, ruling: Ruling | None) -> float:
    low, high = BOUNDS[ruling]
    return min(max(score, low), high)


@functools.lru_cache(maxsize=4096)
def ruling(claim: str, knowledge: str) -> Ruling | None:
    """What the first rule that applies decides; ``None`` if none does. The tables of the
    ``knowledge`` must have become sentences.

    >>> ruling("It opened in 1962.", "It opened in 1926.")
    'contradicted'
    """
    return next((decided for decided, applies in RULES.values() if applies(claim, knowledge)), None)


@functools.lru_cache(maxsize=1024)
def _nearest(claim: str, knowledge: str) -> tuple[str, ...]:
    sentences, parts = _parts(knowledge)
    return tuple(sentences[at] for at in parts.ranked(claim)[:NEAREST])


@functools.lru_cache(maxsize=256)
def _parts(text: str) -> tuple[list[str], WordIndex]:
    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    return sentences, WordIndex(sentences)


RULES: Mapping[str, tuple[Ruling, Callable[[str, str], bool]]] = {
    "follows": ("supported", lambda claim, knowledge: any(
        follows(claim, sentence) for sentence in _nearest(claim, knowledge))),
    "wrong value": ("contradicted", lambda claim, knowledge: has_wrong_value(
        claim, _nearest(claim, knowledge)[0], knowledge))}
"""In order: what each rule decides, and whether it applies to a claim and the knowledge."""
