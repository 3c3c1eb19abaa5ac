"""Entity Guided Reranking, Algorithm 1 of Bae et al. (DSTC9 track 1, 2021).

The algorithm goes through the dialogue's entities, starting with the one mentioned last. It stops
at the first entity that has a snippet in the ranking. The best snippet of this entity moves to the
front::

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
    margin: float | None = None,
) -> list[Ranked]:
    """Reranks one dialogue's snippets by Algorithm 1.

    Args:
        ranking: the snippets, best first.
        mentioned: entities of the dialogue; the one mentioned last comes first.
        margin: a snippet can move only if its score is at most this much below the best score; with
            ``None``, every snippet can move, as in the paper.

    Returns:
        The same snippets. A snippet that moved keeps its score.
    """
    least = ranking[0].score - margin if ranking and margin is not None else -math.inf
    for entity in mentioned:
        for place, ranked in enumerate(ranking[:TOP]):
            if ranked.score < least:
                continue
            if (ranked.snippet.domain, ranked.snippet.entity_id) == entity:
                return [ranked, *ranking[:place], *ranking[place + 1 :]]
    return list(ranking)


class EntityGuided:
    """A ranker followed by EGR. The margin of EGR depends on the ranker (:func:`margin_of`).

    Args:
        ranker: the ranker whose rankings are reordered.
        matching: "exact" (the paper) or "fuzzy" (rapidfuzz, for spoken text).
    """

    def __init__(self, ranker: Ranker, matching: Matching = "exact") -> None:
        self.ranker = ranker
        self.matching = matching
        self.margin = margin_of(ranker)
        self.name = f"{ranker.name}+egr" + ("" if matching == "exact" else f"-{matching}")
        self._finder: Callable[[Pool], MentionFinder] = MentionFinder.cached(matching)

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ranker's top snippets after reranking, at most ``k``."""
        finder = self._finder(pool)
        rankings = self.ranker.rank(dialogues, pool, max(k, TOP))
        return [
            rerank(ranking, finder.entities(dialogue), self.margin)[:k]
            for dialogue, ranking in zip(dialogues, rankings, strict=True)
        ]


def margin_of(ranker: Ranker) -> float | None:
    """The EGR margin of a ranker: its attribute ``egr_margin``, or ``None`` without one. A ranker
    that weighs entities itself lets EGR decide only near ties."""
    margin: float | None = getattr(ranker, "egr_margin", None)
    return margin
