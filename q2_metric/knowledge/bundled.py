"""The ranker that comes with the package: sentence vectors and the entities of the dialogue.

A score is a log-odds sum of what the paper's cross-encoder reads as one text: how near the
user's question is to the snippet's question (q–Q) and to its answer (q–A), and whether and
when the dialogue mentioned the snippet's entity. The weights were learned on dialogues made
from snippets (:mod:`q2_metric.training.selection`). It has no first stage: all snippets of a
pool are scored by one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.knowledge.bm25 import top
from q2_metric.knowledge.mentions import (
    READINGS,
    Entity,
    Mention,
    MentionFinder,
    entities_of,
    plain_words,
    spoken_words,
)
from q2_metric.knowledge.types import SYSTEM, TOP, Dialogue, Pool, Ranked

Floats = NDArray[np.float32]

MENTION_FEATURES = (
    "mentioned", "closeness", "share", "turns_ago", "latest", "second", "last_turn", "by_system",
    "place",
)
"""What is known of a mention: see :func:`mention_features`."""
DOMAIN_FEATURES = ("domain_named", "domain_of_latest")
"""Of a domain: whether the last turn names it, whether the latest entity is of it."""

EGR_MARGIN = 0.5
"""Log-odds within which EGR may reorder this ranker's snippets: the best of 0.5, 1, 2, 4 and no
margin on held-out dialogues of the recipe (it weighs recency itself)."""
PLACING = frozenset("in near around by from to of".split())
"""Words after which a name is a place."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the evidence: ``text`` (q–Q, q–A), ``mention`` and ``domain`` features."""

    text: Floats
    mention: Floats
    domain: Floats


class PoolIndex:
    """The vectors of a pool's questions and answers, and its entities and domains.

    ``questions`` and ``answers`` are (snippets, size); the rows of bare passages in
    ``questions`` are those of their answers. ``entity`` and ``domain`` are, for each
    snippet, places in ``entities`` and ``domains``.
    """

    def __init__(self, pool: Pool, vectors: Any) -> None:
        self.pool = pool
        self.finder = MentionFinder(pool, "fuzzy")
        asked = [without(s.question or s.answer, s.entity_name) for s in pool]
        answered = [without(s.answer, s.entity_name) for s in pool]
        self.questions: Floats = vectors(asked)
        self.answers: Floats = vectors(answered)
        self.entities = list(dict.fromkeys((s.domain, s.entity_id) for s in pool))
        places = {entity: i for i, entity in enumerate(self.entities)}
        self.entity = np.array([places[s.domain, s.entity_id] for s in pool])
        self.domains = list(pool.domains)
        self.domain = np.array([self.domains.index(s.domain) for s in pool])
        self.names = entities_of(pool)


class BundledRanker:
    """Scores every snippet of a pool; needs no download and no torch.

    Args:
        vectors: texts -> unit vectors; the bundled ones if ``None``.
        weights: of the evidence; the bundled ones if ``None``.

    Raises:
        MissingExtra: rapidfuzz (extra ``knowledge``) is not installed.
        ModelError: the bundled weights are missing.
    """

    egr_margin = EGR_MARGIN

    def __init__(self, vectors: Any = None, weights: Weights | None = None) -> None:
        from q2_metric.models import selection

        self.name = f"bundled-selection-v{selection.VERSION}"
        self._vectors = vectors if vectors is not None else selection.text_vectors()
        self._weights = weights if weights is not None else bundled_weights()
        self.index = lru_cache(maxsize=4)(lambda pool: PoolIndex(pool, self._vectors))

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ``k`` best snippets of the whole pool for each dialogue."""
        index = self.index(pool)
        return [top(pool, self.scores(dialogue, index), k) for dialogue in dialogues]

    def scores(self, dialogue: Dialogue, index: PoolIndex) -> Floats:
        """The score of each snippet of the pool, any real number."""
        mentions = index.finder.mentions(dialogue)
        similar = similarities(dialogue, mentions, index, self._vectors)
        entity = np.zeros(len(index.entities), np.float32)
        for place, features in by_entity(mention_features(dialogue, mentions), index).items():
            entity[place] = max(float(row @ self._weights.mention) for row in features)
        domain = domain_features(dialogue, mentions, index) @ self._weights.domain
        found: Floats = similar @ self._weights.text + entity[index.entity] + domain[index.domain]
        return found


@lru_cache(maxsize=1)
def bundled_weights() -> Weights:
    """The weights that the recipe learned."""
    from q2_metric.models.selection import learned

    found = learned()
    return Weights(found["text"], found["mention"], found["domain"])


def without(text: str, name: str | None) -> str:
    """The words of a text, without those of a name where it stands in it.

    >>> without("Is there parking at A and B Guest House?", "A AND B GUEST HOUSE")
    'is there parking at'
    """
    words, part = spoken_words(text), spoken_words(name or "")
    for start in range(len(words) - len(part) + 1 if part else 0):
        if words[start : start + len(part)] == part:
            return " ".join(words[:start] + words[start + len(part) :])
    return " ".join(words)


def similarities(
    dialogue: Dialogue, mentions: Iterable[Mention], index: PoolIndex, vectors: Any
) -> Floats:
    """(snippets, 2): of the last turn with question and answer, in [-1, 1].

    The readings of a spoken turn are averaged; names that it mentions are left out.
    """
    place = max(i for i, turn in enumerate(dialogue.turns) if turn is dialogue.last)
    named = {(m.start, m.end) for m in mentions if m.turn == place}
    texts = []
    for reading in dialogue.last.readings[:READINGS]:
        words = spoken_words(reading)
        inside = {i for start, end in named for i in range(start, end)}
        kept = [word for i, word in enumerate(words) if i not in inside]
        texts.append(" ".join(kept or words))
    query = vectors(texts).mean(0)
    query = query / max(float(np.linalg.norm(query)), 1e-6)
    found: Floats = np.stack([index.questions @ query, index.answers @ query], axis=1)
    return found


def mention_features(
    dialogue: Dialogue, mentions: Sequence[Mention]
) -> list[tuple[Entity, Floats]]:
    """The features of each mention, as :data:`MENTION_FEATURES` names them.

    ``turns_ago`` is the logarithm of the turns since, plus one; ``latest`` and ``second``
    say that no name, or one place with names, came later; ``place`` that the name follows
    "in" or "near": it then says where something else is.
    """
    last = len(dialogue.turns) - 1
    words = {i: spoken_words(dialogue.turns[i].text) for i in {m.turn for m in mentions}}
    spots = sorted({(m.turn, m.start, m.end) for m in mentions}, reverse=True)
    found = []
    for m in mentions:
        rank = spots.index((m.turn, m.start, m.end))
        features = (
            1.0,
            10 * (m.closeness - 1),
            m.share - 1,
            np.log1p(last - m.turn),
            float(rank == 0),
            float(rank == 1),
            float(m.turn == last),
            float(dialogue.turns[m.turn].speaker == SYSTEM),
            float(_follows(words[m.turn][: m.start], PLACING)),
        )
        found.append((m.entity, np.array(features, np.float32)))
    return found


def _follows(before: Sequence[str], words: frozenset[str]) -> bool:
    """Whether the text ends in one of the words, an article aside."""
    said = [word for word in before[-2:] if word not in ("the", "a", "an")]
    return bool(said) and said[-1] in words


def by_entity(
    features: Iterable[tuple[Entity, Floats]], index: PoolIndex
) -> dict[int, list[Floats]]:
    """The features of the mentions of each entity, by its place in the index."""
    places = {entity: i for i, entity in enumerate(index.entities)}
    grouped: dict[int, list[Floats]] = {}
    for entity, row in features:
        grouped.setdefault(places[entity], []).append(row)
    return grouped


def domain_features(dialogue: Dialogue, mentions: Sequence[Mention], index: PoolIndex) -> Floats:
    """(domains, 2): :data:`DOMAIN_FEATURES` of each domain of the pool."""
    words = set(plain_words(dialogue.last.text))
    latest = max(mentions, key=lambda m: (m.turn, m.end), default=None)
    return np.array(
        [
            (
                float(bool(words & {domain, f"{domain}s"})),
                float(latest is not None and latest.entity[0] == domain),
            )
            for domain in index.domains
        ],
        np.float32,
    )
