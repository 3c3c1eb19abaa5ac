"""Entity Guided Reranking, Algorithm 1 of Bae et al. (DSTC9 track 1, 2021).

The dialogue's entities are taken in turn, the last mentioned one first. For each, the first snippet
of the ranking about it moves to the front. The algorithm stops after the first move::

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
    """Reranks by Algorithm 1.

    Args:
        ranking: the snippets, best first.
        mentioned: entities of the dialogue, the last mentioned one first.
        margin: ignore snippets whose score is lower than the first one's by more than this;
            ``None`` ignores none, as in the paper.

    Returns:
        The same snippets. The one that moved keeps its own score.
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
    """A ranker followed by EGR, with the ranker's own margin (:func:`margin_of`).

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
        """The ``k`` best of the ranker's top snippets after reranking."""
        finder = self._finder(pool)
        rankings = self.ranker.rank(dialogues, pool, max(k, TOP))
        return [
            rerank(ranking, finder.entities(dialogue), self.margin)[:k]
            for dialogue, ranking in zip(dialogues, rankings, strict=True)
        ]


def margin_of(ranker: Ranker) -> float | None:
    """The margin that suits a ranker: its ``egr_margin``, or ``None``. A ranker that weighs
    entities itself leaves only near ties to EGR."""
    margin: float | None = getattr(ranker, "egr_margin", None)
    return margin
