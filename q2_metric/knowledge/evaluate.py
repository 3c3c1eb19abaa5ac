"""Evaluates rankings of snippets, overall and by domain.

R@k is success at k, as in DSTC9's evaluation: a right snippet is among the first k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from q2_metric.knowledge.types import TOP, Key, Ranked

ErrorKind = Literal["domain", "entity", "document"]
OVERALL = "all"


@dataclass(frozen=True, slots=True)
class Selection:
    """The results of a ranker on ``n`` dialogue turns. All other values are in [0, 1].

    The errors are shares of turns whose first snippet has the wrong domain, the right domain but
    the wrong entity, or the right entity but the wrong document. They and ``r1`` add up to 1.
    """

    n: int
    r1: float
    r5: float
    mrr5: float
    domain_errors: float
    entity_errors: float
    document_errors: float


def evaluate(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]]
) -> dict[str, Selection]:
    """The results of a ranker on all turns (key :data:`OVERALL`), and on the turns of each domain.

    Each turn has at least one gold key, of which the first determines the domain. Only the first
    five snippets count.
    """
    places = _places(rankings, gold)
    errors = [error_kind(ranking, keys) for ranking, keys in zip(rankings, gold, strict=True)]
    domains = dict.fromkeys(keys[0][0] for keys in gold)
    groups = {OVERALL: list(range(len(gold)))}
    for domain in domains if any(domains) else ():
        groups[domain] = [i for i, keys in enumerate(gold) if keys[0][0] == domain]
    return {name: _mean(turns, places, errors) for name, turns in groups.items()}


def error_kind(ranking: Sequence[Ranked], gold: Sequence[Key]) -> ErrorKind | None:
    """What is wrong with the first snippet (Bae et al., section 4.4); ``None`` if it is right."""
    if not ranking:
        return "domain"
    key = ranking[0].snippet.key
    if key in gold:
        return None
    if any(key[:2] == right[:2] for right in gold):
        return "document"
    return "entity" if any(key[0] == right[0] for right in gold) else "domain"


def _places(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]]
) -> list[float]:
    """The place, from 0, of the first right snippet for each turn; infinite without one."""
    return [
        next((place for place, ranked in enumerate(ranking) if ranked.snippet.key in keys),
             math.inf)
        for ranking, keys in zip(rankings, gold, strict=True)
    ]


def _mean(
    turns: Sequence[int], places: Sequence[float], errors: Sequence[ErrorKind | None]
) -> Selection:
    n = len(turns)
    found = [places[i] for i in turns]
    r1, r5 = (sum(place < k for place in found) / n for k in (1, TOP))
    mrr5 = sum(1 / (place + 1) for place in found if place < TOP) / n
    wrong = Counter(errors[i] for i in turns)
    return Selection(n, r1, r5, mrr5, *(wrong[kind] / n for kind in get_args(ErrorKind)))


def first_stage_recall(
    rankings: Sequence[Sequence[Ranked]], gold: Sequence[Sequence[Key]], sizes: Sequence[int]
) -> dict[int, float]:
    """For each k in ``sizes``, the share of turns with a right snippet among the first k."""
    places = _places(rankings, gold)
    return {size: sum(place < size for place in places) / len(places) for size in sizes}
