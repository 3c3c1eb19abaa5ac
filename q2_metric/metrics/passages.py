"""Finds the sentence of the knowledge that decided the verdict on each claim (SCALE, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from q2_metric.metrics import judgements
from q2_metric.text.nearest import WordIndex
from q2_metric.text.search import UnitRange, search_each, tree_search
from q2_metric.types import Judgement, Verdict

SEARCHED = 5
"""Maximum number of sentences that are judged for each claim. The sentences that share most words
with the claim are chosen."""

Pair = tuple[str, str]
Place = tuple[int, int]


def nearest(knowledge: str, places: Sequence[Place], claim: str) -> list[Place]:
    """The character ranges of those :data:`SEARCHED` sentences that share most words with a claim.

    ``places`` contains the character range of each sentence in ``knowledge``.
    """
    parts = WordIndex([knowledge[start:end] for start, end in places])
    return [places[i] for i in parts.nearest(claim, SEARCHED)]


@dataclass(frozen=True, slots=True)
class TreeDivision:
    """How a tree search (:func:`~q2_metric.text.search.tree_search`) divides sentences into parts.

    Attributes:
        sizes: for each search, the number of tokens of each sentence.
        branches: number of parts at each level.
        limit: maximum number of tokens of a part.
    """

    sizes: Sequence[Sequence[int]]
    branches: int
    limit: int


@dataclass(frozen=True, slots=True)
class Search:
    """Searches for the sentence of the knowledge that decided the verdict on each claim.

    There is one search for each claim. So all attributes have one item for each claim.

    Attributes:
        knowledge: the text that is searched.
        judged: the judgement of the claim.
        said: the text of the claim, as the model reads it.
        units: the character ranges of the sentences that are searched.
    """

    knowledge: Sequence[str]
    judged: Sequence[Judgement]
    said: Sequence[str]
    units: Sequence[Sequence[Place]]

    def deciding(
        self, ask: Callable[[Sequence[Pair]], Sequence[Verdict]], read: Callable[[Verdict], float],
        tree: TreeDivision | None,
    ) -> list[Place | None]:
        """The character range of the sentence that decided each claim.

        It is ``None`` for a claim without sentences to search.

        Args:
            ask: the entailment model. It judges (text, claim) pairs.
            read: computes the support of a claim from a verdict.
            tree: how to divide the sentences for a tree search. With ``None``, each sentence is
                judged alone, and :func:`q2_metric.metrics.judgements.deciding` chooses one. A claim
                with one sentence, or with the verdict "not found", needs no judgements.
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
            # Without a choice among several sentences by their verdicts, no model is asked.
            sizes = [0 if len(places) == 1 or one.verdict == "not found" else len(places)
                     for one, places in zip(self.judged, self.units, strict=True)]
            best = search_each(sizes, judge)
            best = [self._deciding(n, seen, index or 0) if self.units[n] else None
                    for n, index in enumerate(best)]
        return [None if index is None else self.units[n][index] for n, index in enumerate(best)]

    def pairs(self, places: Sequence[Place | None]) -> list[Pair | None]:
        """The (sentence, claim) pair of each search, as the model reads it.

        ``places`` contains the character range of each search's sentence. A search without a
        sentence (``None``) has the pair ``None``.
        """
        return [place and self._pair(n, *place) for n, place in enumerate(places)]

    def _pair(self, search: int, start: int, end: int) -> Pair:
        return self.knowledge[search][start:end], self.said[search]

    def _deciding(self, search: int, seen: dict[Pair, Verdict], best: int) -> int:
        sentences = [self.knowledge[search][start:end] for start, end in self.units[search]]
        return judgements.deciding(
            self.judged[search], self.said[search], sentences, seen, best)
