"""Which sentence of the knowledge decides about each claim (SCALE, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from q2_metric.metrics import judgements
from q2_metric.text.nearest import WordIndex
from q2_metric.text.search import UnitRange, search_each, tree_search
from q2_metric.types import Judgement, Verdict

SEARCHED = 5
"""Number of sentences of a chunk among which the one that decides is searched."""

Pair = tuple[str, str]
Place = tuple[int, int]


def nearest(knowledge: str, places: Sequence[Place], claim: str) -> list[Place]:
    """The places of the :data:`SEARCHED` sentences that share most words with the claim."""
    parts = WordIndex([knowledge[start:end] for start, end in places])
    return [places[i] for i in parts.nearest(claim, SEARCHED)]


@dataclass(frozen=True, slots=True)
class TreeDivision:
    """How :func:`~q2_metric.text.search.tree_search` divides the sentences of each search."""

    sizes: Sequence[Sequence[int]]
    branches: int
    limit: int


@dataclass(frozen=True, slots=True)
class Search:
    """Searches for the sentences that decide.

    Attributes:
        knowledge: the text that each search reads.
        judged: the judgement that it is about.
        said: the claim, as the model reads it.
        units: the places of the sentences in the knowledge.
    """

    knowledge: Sequence[str]
    judged: Sequence[Judgement]
    said: Sequence[str]
    units: Sequence[Sequence[Place]]

    def deciding(
        self, ask: Callable[[Sequence[Pair]], Sequence[Verdict]], read: Callable[[Verdict], float],
        tree: TreeDivision | None,
    ) -> list[Place | None]:
        """The place of the sentence that decides; ``None`` if there are no sentences.

        Args:
            ask: gives the verdict of each (text, claim).
            read: gives the support of a verdict.
            tree: how the sentences are divided. Without it, each sentence is judged alone, and the
                judgement says what decides: what supports the claim, or what contradicts it.
        """
        seen: dict[Pair, Verdict] = {}

        def judge(parts: Sequence[UnitRange]) -> list[float]:
            pairs = [self._pair(part.search, self.units[part.search][part.first][0],
                                self.units[part.search][part.last - 1][1]) for part in parts]
            verdicts = ask(pairs)
            seen.update(zip(pairs, verdicts, strict=True))
            return list(map(read, verdicts))

        if tree:
            best = tree_search(tree.sizes, judge, tree.branches, tree.limit)
        else:
            best = search_each([len(places) for places in self.units], judge)
            best = [None if index is None else self._deciding(n, seen, index)
                    for n, index in enumerate(best)]
        return [None if index is None else self.units[n][index] for n, index in enumerate(best)]

    def pairs(self, places: Sequence[Place | None]) -> list[Pair | None]:
        """The sentence at each place and its claim."""
        return [place and self._pair(n, *place) for n, place in enumerate(places)]

    def _pair(self, search: int, start: int, end: int) -> Pair:
        return self.knowledge[search][start:end], self.said[search]

    def _deciding(self, search: int, seen: dict[Pair, Verdict], best: int) -> int:
        sentences = [self.knowledge[search][start:end] for start, end in self.units[search]]
        return judgements.deciding(
            self.judged[search], self.said[search], sentences, seen, best)
