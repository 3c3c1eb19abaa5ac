"""Majority votes over rankers (Bae et al., section 3.3): hard and soft.

EGR comes before the vote: give the ensemble rankers wrapped in ``egr.EntityGuided``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from q2_metric.errors import InputError
from q2_metric.knowledge.types import TOP, Dialogue, Key, Pool, Ranked, Ranker

Vote = Literal["hard", "soft"]


def hard_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """Orders snippets by the rankings' votes: a ranking votes for its first snippet, then for its
    second one, and so on.

    Snippets are ordered by their votes for the first place, ties by those for the first two places,
    and so on, and remaining ties by the earlier ranking. The score is the share of first votes.
    """
    depth = max(len(ranking) for ranking in rankings)
    places: dict[Key, list[int]] = {}
    items: dict[Key, Ranked] = {}
    for ranking in rankings:
        for place, ranked in enumerate(ranking):
            places.setdefault(ranked.snippet.key, [0] * depth)[place] += 1
            items.setdefault(ranked.snippet.key, ranked)

    def votes(key: Key) -> list[int]:
        return [-sum(places[key][: place + 1]) for place in range(depth)]

    # sorted() is stable: what the earlier ranking has first stays first among equals.
    order = sorted(items, key=votes)
    return [Ranked(items[key].snippet, places[key][0] / len(rankings)) for key in order]


def soft_vote(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """Orders snippets by the mean of the rankings' probabilities.

    The probabilities are a softmax over the scores of a ranking, assigned in the order of its
    places. So a snippet that EGR moved to the front has the front's probability. Scores should be
    log-odds, or on the same scale for all rankers: BM25's are large and would outvote RSS's.
    """
    total: dict[Key, float] = {}
    items: dict[Key, Ranked] = {}
    for ranking in rankings:
        scores = sorted((ranked.score for ranked in ranking), reverse=True)
        weights = [math.exp(score - scores[0]) for score in scores]
        for ranked, weight in zip(ranking, weights, strict=True):
            key = ranked.snippet.key
            total[key] = total.get(key, 0.0) + weight / sum(weights) / len(rankings)
            items.setdefault(key, ranked)
    order = sorted(items, key=lambda key: -total[key])
    return [Ranked(items[key].snippet, total[key]) for key in order]


class Ensemble:
    """Rankers that vote.

    Args:
        rankers: at least one ranker.
        vote: "hard" or "soft".

    Raises:
        InputError: there is no ranker, or the vote is unknown.
    """

    def __init__(self, rankers: Sequence[Ranker], vote: Vote = "hard") -> None:
        if not rankers:
            raise InputError("an ensemble needs at least one ranker")
        if vote not in ("hard", "soft"):
            raise InputError(f"the vote must be 'hard' or 'soft', not {vote!r}")
        self.rankers = tuple(rankers)
        self.vote = vote
        self.name = f"{vote}({','.join(ranker.name for ranker in rankers)})"

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The vote over each dialogue's rankings, at most ``k`` snippets."""
        each = [ranker.rank(dialogues, pool, max(k, TOP)) for ranker in self.rankers]
        count = hard_vote if self.vote == "hard" else soft_vote
        return [count(rankings)[:k] for rankings in zip(*each, strict=True)]
