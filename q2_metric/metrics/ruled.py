"""Judges claims by rules on their values. A network of this size takes "23:10" and "11:10 pm" for
different times, so the verdict of a rule replaces the network's. ``python -m tools.benchmarks
rules`` counts how often each rule is right."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from q2_metric.english.values import follows, has_wrong_value, without_values
from q2_metric.text.nearest import WordIndex
from q2_metric.text.overlap import stems
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Example, Judgement

HELD = 0.9
"""Minimum support of a claim that the knowledge's values confirm."""
REFUTED = 0.1
"""Maximum support of a claim that the knowledge's values contradict."""
ABOUT = 0.4
"""Minimum share of a claim's content words in a sentence that can contradict one of its values."""
NEAREST = 3
"""Sentences examined for each claim: those that share most words with it."""


def ruled(
    examples: Sequence[Example], judged: Sequence[Sequence[Judgement]],
    places: Sequence[tuple[int, int]],
) -> list[list[Judgement]]:
    """Applies the rules to the judgements of each example. ``places`` has, for each judgement in
    order, the character range of its chunk of the knowledge."""
    chunk = iter(places)
    return [[_decided(one, example.knowledge[slice(*next(chunk))], example.knowledge)
             for one in found] for example, found in zip(examples, judged, strict=True)]


def _decided(judged: Judgement, chunk: str, knowledge: str) -> Judgement:
    held = by_values(judged.claim.text, chunk, knowledge)
    if held is None:
        return judged
    return replace(judged, support=_bounded(judged.support, held), rule="values",
                   verdict="supported" if held else "contradicted")


def supports(pairs: Sequence[tuple[str, str]], found: Sequence[float]) -> list[float]:
    """Corrects the support that the network ``found`` for each (passage, claim) pair."""
    held = [by_values(claim, text, text) for text, claim in pairs]
    return [support if one is None else _bounded(support, one)
            for one, support in zip(held, found, strict=True)]


def _bounded(support: float, held: bool) -> float:
    return max(support, HELD) if held else min(support, REFUTED)


def by_values(claim: str, chunk: str, knowledge: str) -> bool | None:
    """True if values support a claim, false if they contradict it, else ``None``. ``chunk`` is the
    part of the ``knowledge`` (with tables as sentences) that supports the claim best.

    >>> by_values("It opened in 1962.", "It opened in 1926.", "It opened in 1926.")
    False
    """
    verdicts = (rule(claim, chunk, knowledge) for rule in RULES.values())
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _follows(claim: str, chunk: str, knowledge: str) -> bool | None:
    return any(follows(claim, sentence) for sentence in _nearest(claim, chunk)) or None


def _has_wrong_value(claim: str, chunk: str, knowledge: str) -> bool | None:
    sentence = _nearest(claim, chunk)[0]
    wrong = _is_about(sentence, claim) and has_wrong_value(claim, sentence, knowledge)
    return False if wrong else None


RULES: Mapping[str, Callable[[str, str, str], bool | None]] = {
    "follows": _follows, "wrong value": _has_wrong_value}
"""In the order in which they decide, with the arguments of :func:`by_values`."""


def _is_about(sentence: str, claim: str) -> bool:
    said = stems(without_values(claim))
    return len(said & stems(sentence)) >= max(1, ABOUT * len(said))


@functools.lru_cache(maxsize=1024)
def _nearest(claim: str, chunk: str) -> tuple[str, ...]:
    sentences, parts = _parts(chunk)
    return tuple(sentences[at] for at in parts.ranked(claim)[:NEAREST])


@functools.lru_cache(maxsize=256)
def _parts(text: str) -> tuple[list[str], WordIndex]:
    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    return sentences, WordIndex(sentences)
