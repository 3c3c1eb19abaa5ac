"""Finds the sentence of the knowledge that decides about each claim (SCALE, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from q2_metric.metrics import judgements
from q2_metric.text.nearest import WordIndex
from q2_metric.text.search import UnitRange, search_each, tree_search
from q2_metric.types import Judgement, Verdict

SEARCHED = 5
"""Maximum number of a chunk's sentences that are judged to find the one that decides."""

Pair = tuple[str, str]
Place = tuple[int, int]


def nearest(knowledge: str, places: Sequence[Place], claim: str) -> list[Place]:
    """The character ranges of the :data:`SEARCHED` sentences that share most words with the claim.
    """
    parts = WordIndex([knowledge[start:end] for start, end in places])
    return [places[i] for i in parts.nearest(claim, SEARCHED)]


@dataclass(frozen=True, slots=True)
class TreeDivision:
    """The arguments of :func:`~q2_metric.text.search.tree_search`: how to divide the sentences."""

    sizes: Sequence[Sequence[int]]
    branches: int
    limit: int


@dataclass(frozen=True, slots=True)
class Search:
    """One search for each claim: which sentence of the knowledge decides about it.

    Attributes:
        knowledge: the text in which each search looks.
        judged: the judgement of each search's claim.
        said: the claim of each search, as the model reads it.
        units: the character ranges of the sentences of each search.
    """

    knowledge: Sequence[str]
    judged: Sequence[Judgement]
    said: Sequence[str]
    units: Sequence[Sequence[Place]]

    def deciding(
        self, ask: Callable[[Sequence[Pair]], Sequence[Verdict]], read: Callable[[Verdict], float],
        tree: TreeDivision | None,
    ) -> list[Place | None]:
        """The character range of the deciding sentence of each search; ``None`` without sentences.

        Args:
            ask: judges (text, claim) pairs.
            read: computes the support from a verdict.
            tree: how to divide the sentences for a tree search. With ``None``, each sentence is
                judged alone, and :func:`q2_metric.metrics.judgements.deciding` chooses.
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
        """The (sentence, claim) pair of each search, from the sentence's character range; ``None``
        without one."""
        return [place and self._pair(n, *place) for n, place in enumerate(places)]

    def _pair(self, search: int, start: int, end: int) -> Pair:
        return self.knowledge[search][start:end], self.said[search]

    def _deciding(self, search: int, seen: dict[Pair, Verdict], best: int) -> int:
        sentences = [self.knowledge[search][start:end] for start, end in self.units[search]]
        return judgements.deciding(
            self.judged[search], self.said[search], sentences, seen, best)
