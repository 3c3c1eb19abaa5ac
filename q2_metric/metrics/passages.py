"""Finds the sentence of the knowledge that decided each claim (SCALE, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from q2_metric.text.overlap import WordIndex
from q2_metric.types import Judgement, Verdict

SEARCHED = 5
"""Maximum number of sentences judged for a claim: those that share most words with it."""

Pair = tuple[str, str]
"""A premise and a claim."""
Place = tuple[int, int]
"""A character range of the knowledge."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the sentence that decided a claim. ``said`` is the claim as the model reads
    it, and ``units`` are the places of the sentences that are searched."""

    knowledge: str
    judged: Judgement
    said: str
    units: Sequence[Place]

    def pair(self, start: int, end: int) -> Pair:
        return self.knowledge[start:end], self.said

    @property
    def is_open(self) -> bool:
        """Whether verdicts on the single sentences are needed to choose one of them."""
        return len(self.units) > 1 and self.judged.verdict != "not found"

    def deciding(self, verdicts: Mapping[Pair, Verdict]) -> Place | None:
        """The place of the sentence that best explains the judgement: the one that contradicts a
        contradicted claim most, shares most words with a claim that is not found, and otherwise
        supports the claim most. ``None`` without sentences."""
        if len(self.units) < 2:
            return next(iter(self.units), None)
        if not self.is_open:
            texts = [self.knowledge[start:end] for start, end in self.units]
            return self.units[WordIndex(texts).nearest(self.said, 1)[0]]
        refuted = self.judged.verdict == "contradicted"

        def strength(place: Place) -> float:
            verdict = verdicts[self.pair(*place)]
            return verdict.contradiction if refuted else verdict.entailment

        return max(self.units, key=strength)
