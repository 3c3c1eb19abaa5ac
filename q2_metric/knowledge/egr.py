"""Entity Guided Reranking, Algorithm 1 of Bae et al. (DSTC9 track 1, 2021).

The entities that the dialogue mentions, the most recent first; for each in turn, the first
snippet of the ranking that is about it moves to the front, and that is all::

    mentioned: [Yale Hotel, El Farolito]
    ranking:   [Artmar/3, El Farolito/1, Yale Hotel/6, ...]
    reranked:  [Yale Hotel/6, Artmar/3, El Farolito/1, ...]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from q2_metric.knowledge.mentions import Matching, MentionFinder
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker

Entity = tuple[str, str]
"""(domain, entity id)."""


def rerank(
    ranking: Sequence[Ranked],
    mentioned: Sequence[Entity],
    top: int = TOP,
    margin: float | None = None,
) -> list[Ranked]:
    """Algorithm 1.

    Args:
        ranking: the best first.
        mentioned: entities of the dialogue, the most recently mentioned first.
        top: how many of the ranking are looked at; the rest stays as it is.
        margin: leave out snippets that score lower than the first by more than this; ``None``,
            as in the paper, looks at all of the top.

    Returns:
        The same items; the one that moved keeps its own score.
    """
    least = ranking[0].score - margin if ranking and margin is not None else -math.inf
    for entity in mentioned:
        for place, ranked in enumerate(ranking[:top]):
            if ranked.score < least:
                continue
            if (ranked.snippet.domain, ranked.snippet.entity_id) == entity:
                return [ranked, *ranking[:place], *ranking[place + 1 :]]
    return list(ranking)


class EntityGuided:
    """A ranker followed by EGR.

    Args:
        ranker: gives the rankings.
        matching: "exact" (the paper) or "fuzzy" (rapidfuzz, for spoken text).
        top: snippets that EGR reorders, 5 in the paper.
        margin: see :func:`rerank`; by default the ranker's own ``egr_margin`` where it has one
            (a ranker that weighs entities itself leaves only near ties to EGR), else none.
    """

    def __init__(
        self, ranker: Ranker, matching: Matching = "exact", top: int = TOP,
        margin: float | None = None,
    ) -> None:
        self.ranker = ranker
        self.matching = matching
        self.top = top
        self.margin = margin if margin is not None else margin_of(ranker)
        self.name = f"{ranker.name}+egr" + ("" if matching == "exact" else f"-{matching}")
        self._finder: Callable[[Pool], MentionFinder] = MentionFinder.cached(matching)

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ranker's top snippets, reranked, and of these ``k``."""
        finder = self._finder(pool)
        rankings = self.ranker.rank(dialogues, pool, max(k, self.top))
        return [
            rerank(ranking, finder.entities(dialogue), self.top, self.margin)[:k]
            for dialogue, ranking in zip(dialogues, rankings, strict=True)
        ]


def margin_of(ranker: Ranker) -> float | None:
    """The margin that suits a ranker: its ``egr_margin``, or ``None``."""
    found: float | None = getattr(ranker, "egr_margin", None)
    return found
