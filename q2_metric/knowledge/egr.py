"""Entity Guided Reranking (EGR), Algorithm 1 of Bae et al. (DSTC9 track 1, 2021)::

    mentioned: [Yale Hotel, El Farolito]
    ranking:   [Artmar/3, El Farolito/1, Yale Hotel/6, ...]
    reranked:  [Yale Hotel/6, Artmar/3, El Farolito/1, ...]
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from q2_metric.knowledge.mentions import Entity, Matching, MentionFinder
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker


def rerank(
    ranking: Sequence[Ranked], mentioned: Sequence[Entity], margin: float | None = None
) -> list[Ranked]:
    """Moves the best snippet of the entity mentioned last to the front (Algorithm 1).

    Args:
        ranking: the ranker's snippets, best first. Their scores are kept.
        mentioned: the entity mentioned last comes first. One without a snippet is passed over.
        margin: a snippet can move only if its score is at most this much below the best score;
            ``None`` as in the paper.
    """
    least = ranking[0].score - margin if ranking and margin is not None else -math.inf
    for entity in mentioned:
        for place, ranked in enumerate(ranking[:TOP]):
            if ranked.score < least:
                continue
            if ranked.snippet.key[:2] == entity:
                return [ranked, *ranking[:place], *ranking[place + 1 :]]
    return list(ranking)


class EntityGuided:
    """A ranker followed by Entity Guided Reranking.

    ``matching`` of names is "exact" as in the paper, or "fuzzy" (rapidfuzz, for spoken text).
    """

    def __init__(self, ranker: Ranker, matching: Matching = "exact") -> None:
        self.ranker = ranker
        self.margin = margin_of(ranker)
        self.name = f"{ranker.name}+egr" + ("" if matching == "exact" else f"-{matching}")
        self._finder = lru_cache(maxsize=4)(lambda pool: MentionFinder(pool, matching))

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        finder = self._finder(pool)
        rankings = self.ranker.rank(dialogues, pool, max(k, TOP))
        return [rerank(ranking, finder.entities(dialogue), self.margin)[:k]
                for dialogue, ranking in zip(dialogues, rankings, strict=True)]


def margin_of(ranker: Ranker) -> float | None:
    """A ranker that itself considers the mentioned entities has a small ``egr_margin``, so that
    reranking decides only between snippets with almost equal scores."""
    margin: float | None = getattr(ranker, "egr_margin", None)
    return margin
