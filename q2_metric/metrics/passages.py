"""Finds the sentence of the knowledge that decided each claim (SCALE, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from q2_metric.text.nearest import WordIndex
from q2_metric.text.search import UnitRange, tree_search
from q2_metric.types import Judgement, Verdict

SEARCHED = 5
"""Maximum number of sentences judged for a claim: those that share most words with it."""

Pair = tuple[str, str]
"""A premise and a claim."""
Place = tuple[int, int]
"""A character range of the knowledge."""
Ask = Callable[[Sequence[Pair]], Sequence[Verdict]]
"""Judges (text, claim) pairs."""


def nearest(knowledge: str, places: Sequence[Place], claim: str) -> list[Place]:
    """The places of the :data:`SEARCHED` sentences that share most words with a claim."""
    parts = WordIndex([knowledge[start:end] for start, end in places])
    return [places[i] for i in parts.nearest(claim, SEARCHED)]


@dataclass(frozen=True, slots=True)
class Search:
    """One search for each claim, so each attribute has one item for each claim. ``said`` is the
    claim as the model reads it, and ``units`` are the places of the sentences that are searched."""

    knowledge: Sequence[str]
    judged: Sequence[Judgement]
    said: Sequence[str]
    units: Sequence[Sequence[Place]]

    def best(
        self, ask: Ask, sizes: Sequence[Sequence[int]], branches: int, limit: int,
    ) -> list[int | None]:
        """The index of the sentence that supports each claim best, as by
        :func:`~q2_metric.text.search.tree_search`."""

        def judge(parts: Sequence[UnitRange]) -> list[float]:
            return [verdict.entailment for verdict in ask([
                self._pair(part.search, self.units[part.search][part.first][0],
                           self.units[part.search][part.last - 1][1]) for part in parts])]

        return tree_search(sizes, judge, branches, limit)

    def deciding(self, ask: Ask) -> list[Place | None]:
        """The place of the sentence that decided each claim; ``None`` without sentences. ``ask``
        judges each sentence alone. A claim with one sentence, or with the verdict "not found",
        needs no judgements."""
        seen: dict[Pair, Verdict] = {}

        def asked(pairs: Sequence[Pair]) -> Sequence[Verdict]:
            verdicts = ask(pairs)
            seen.update(zip(pairs, verdicts, strict=True))
            return verdicts

        sizes = [[] if len(places) == 1 or one.verdict == "not found" else [1] * len(places)
                 for one, places in zip(self.judged, self.units, strict=True)]
        best = self.best(asked, sizes, SEARCHED, 1)
        return [places[self._deciding(n, seen, best[n] or 0)] if places else None
                for n, places in enumerate(self.units)]

    def pairs(self, places: Sequence[Place | None]) -> list[Pair | None]:
        """The (sentence, claim) pair of each search; ``None`` without a sentence."""
        return [place and self._pair(n, *place) for n, place in enumerate(places)]

    def _pair(self, search: int, start: int, end: int) -> Pair:
        return self.knowledge[search][start:end], self.said[search]

    def _deciding(self, search: int, seen: dict[Pair, Verdict], best: int) -> int:
        """The index of the sentence that best explains the verdict on a claim. It contradicts a
        contradicted claim most, shares most words with a claim that is not found, and is otherwise
        ``best``, the one that supports most."""
        pairs = [self._pair(search, *place) for place in self.units[search]]
        verdict = self.judged[search].verdict
        if verdict == "contradicted" and len(pairs) > 1:
            return max(range(len(pairs)), key=lambda n: seen[pairs[n]].contradiction)
        if verdict == "not found":
            return WordIndex([text for text, _ in pairs]).nearest(self.said[search], 1)[0]
        return best
