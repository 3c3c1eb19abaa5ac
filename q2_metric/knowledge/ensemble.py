"""Combines several rankers by a vote (Bae et al., section 3.3)."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker, Snippet

Vote = Literal["hard", "soft"]


def hard_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """A vote on ranks: in each round, every ranking votes for its next snippet.

    Snippets are ordered by their votes after the first round, then the second, and so on; the order
    of the rankings breaks ties. A snippet's score is its share of the votes in the first round.
    """
    depth = max(map(len, rankings))
    votes: dict[Snippet, list[int]] = defaultdict(lambda: [0] * depth)  # the new ones of each round
    for ranking in rankings:
        for place, ranked in enumerate(ranking):
            votes[ranked.snippet][place] += 1
    # sorted() is stable, so equal snippets keep the order of the earlier ranking.
    order = sorted(votes.items(), key=lambda item: item[1], reverse=True)
    return [Ranked(snippet, counts[0] / len(rankings)) for snippet, counts in order]


def soft_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """A vote by the mean of probabilities: a softmax over the scores of each ranking.

    The first snippet gets the highest probability, also if reranking moved it to the front. The
    rankings need one scale: BM25's large scores would outvote the log-odds of others.
    """
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
