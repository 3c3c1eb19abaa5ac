"""Improves rankings: by Entity Guided Reranking (EGR), Algorithm 1 of Bae et al. (DSTC9 track 1,
2021), and by the votes of several rankers (section 3.3). EGR::

    mentioned: [Yale Hotel, El Farolito]
    ranking:   [Artmar/3, El Farolito/1, Yale Hotel/6, ...]
    reranked:  [Yale Hotel/6, Artmar/3, El Farolito/1, ...]
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from q2_metric.knowledge.mentions import Entity, Matching, MentionFinder
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker, Snippet

Vote = Literal["hard", "soft"]


def rerank(
    ranking: Sequence[Ranked], mentioned: Sequence[Entity], margin: float | None = None
) -> list[Ranked]:
    """Moves the best snippet of the entity mentioned last to the front (Algorithm 1); scores are
    kept. In ``mentioned``, that entity comes first; one without a snippet is passed over. A snippet
    can move only if its score is at most ``margin`` below the best; ``None`` as in the paper."""
    least = ranking[0].score - margin if ranking and margin is not None else -math.inf
    for entity in mentioned:
        for place, ranked in enumerate(ranking[:TOP]):
            if ranked.score >= least and ranked.snippet.key[:2] == entity:
                return [ranked, *ranking[:place], *ranking[place + 1 :]]
    return list(ranking)


class EntityGuided:
    """A ranker followed by Entity Guided Reranking. ``matching`` of names is "exact" as in the
    paper, or "fuzzy" (rapidfuzz, for spoken text)."""

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
    return getattr(ranker, "egr_margin", None)


def hard_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """A vote on ranks: in each round, every ranking votes for its next snippet. Snippets are
    ordered by their votes after the first round, then the second, and so on; the order of the
    rankings breaks ties. A snippet's score is its share of the votes in the first round."""
    depth = max(map(len, rankings))
    votes: dict[Snippet, list[int]] = defaultdict(lambda: [0] * depth)  # the new ones of each round
    for ranking in rankings:
        for place, ranked in enumerate(ranking):
            votes[ranked.snippet][place] += 1
    # sorted() is stable, so equal snippets keep the order of the earlier ranking.
    order = sorted(votes.items(), key=lambda item: item[1], reverse=True)
    return [Ranked(snippet, counts[0] / len(rankings)) for snippet, counts in order]


def soft_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """A vote by the mean of probabilities: a softmax over the scores of each ranking. The first
    snippet gets the highest probability, also if reranking moved it to the front. The rankings need
    one scale: BM25's large scores would outvote the log-odds of others."""
    total: dict[Snippet, float] = defaultdict(float)
    for ranking in rankings:
        scores = sorted((ranked.score for ranked in ranking), reverse=True)
        weights = [math.exp(score - scores[0]) for score in scores]
        for ranked, weight in zip(ranking, weights, strict=True):
            total[ranked.snippet] += weight / sum(weights) / len(rankings)
    order = sorted(total.items(), key=lambda item: -item[1])
    return [Ranked(snippet, score) for snippet, score in order]


class Ensemble:
    """A ranker that combines several rankers, at least one, by a vote."""

    def __init__(self, rankers: Sequence[Ranker], vote: Vote = "hard") -> None:
        self.rankers = tuple(rankers)
        self.count = hard_vote if vote == "hard" else soft_vote
        self.name = f"{vote}({','.join(ranker.name for ranker in rankers)})"

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        each = [ranker.rank(dialogues, pool, max(k, TOP)) for ranker in self.rankers]
        return [self.count(rankings)[:k] for rankings in zip(*each, strict=True)]
