"""The ranker that comes with the package: a weighted sum of features for each snippet."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.knowledge.bm25 import top
from q2_metric.knowledge.mentions import (
    READINGS,
    MentionFinder,
    NameMention,
    plain_words,
    spoken_words,
)
from q2_metric.knowledge.types import SYSTEM, TOP, Dialogue, Pool, Ranked

Floats = NDArray[np.float32]

MENTION_FEATURES = (
    "mentioned", "closeness", "share", "turns_ago", "latest", "second", "last_turn", "by_system",
    "place",
)
DOMAIN_FEATURES = ("domain_named", "domain_of_latest")
"""Whether the last turn names the domain, and whether the entity mentioned last belongs to it."""

EGR_MARGIN = 0.5
"""Reranking may move a snippet whose score is at most this much below the best. On held-out
dialogues of the training recipe, 0.5 was better than 1, 2, 4 and no margin."""
PLACING = frozenset("in near around by from to of".split())
"""A name after one of these often says where something else is ("near the Yale Hotel")."""


class PoolIndex:
    """A knowledge pool prepared for comparison with dialogues. ``entity`` and ``domain`` hold each
    snippet's place in ``entities`` and ``domains``. ``vectors`` turns texts into unit vectors."""

    def __init__(self, pool: Pool, vectors: Any) -> None:
        self.pool = pool
        self.finder = MentionFinder(pool, "fuzzy")
        # A bare passage has no question, so its text is used as question and as answer.
        self.questions: Floats = vectors(
            [without(s.question or s.answer, s.entity_name) for s in pool])
        self.answers: Floats = vectors([without(s.answer, s.entity_name) for s in pool])
        self._vectors = vectors
        entities = dict.fromkeys((s.domain, s.entity_id) for s in pool)
        self.entities = {entity: i for i, entity in enumerate(entities)}
        self.entity = np.array([self.entities[s.domain, s.entity_id] for s in pool])
        self.domains = list(pool.domains)
        self.domain = np.array([self.domains.index(s.domain) for s in pool])

    def similar(self, texts: Sequence[str]) -> Floats:
        """Cosine of the texts' mean with each snippet's question and answer: (snippets, 2)."""
        query = self._vectors(texts).mean(0)
        query = query / max(float(np.linalg.norm(query)), 1e-6)
        return np.stack([self.questions @ query, self.answers @ query], axis=1)


class BundledRanker:
    """A ranker that needs neither a first stage, nor a download, nor torch. MissingExtra: rapidfuzz
    is not installed. ModelError: the bundled weights are missing."""

    egr_margin = EGR_MARGIN

    def __init__(self) -> None:
        from q2_metric.models.bundled import selection

        self.name = f"bundled-selection-v{selection.VERSION}"
        vectors = selection.text_vectors()
        self._weights = selection.learned()
        self.index = lru_cache(maxsize=4)(lambda pool: PoolIndex(pool, vectors))

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        index = self.index(pool)
        return [top(pool, scores(dialogue, index, self._weights), k) for dialogue in dialogues]


def scores(dialogue: Dialogue, index: PoolIndex, weights: Mapping[str, Floats]) -> Floats:
    """The score of each snippet of the pool, any real number: (snippets,). ``weights`` are those of
    the features: "text", "mention" and "domain"."""
    mentions = index.finder.mentions(dialogue)
    similar = index.similar(last_words(dialogue, mentions))
    entity = np.zeros(len(index.entities), np.float32)
    for place, rows in mention_features(dialogue, mentions, index).items():
        entity[place] = max(float(row @ weights["mention"]) for row in rows)
    domain = domain_features(dialogue, mentions, index) @ weights["domain"]
    scores: Floats = similar @ weights["text"] + entity[index.entity] + domain[index.domain]
    return scores


def without(text: str, name: str | None) -> str:
    """The words of a text, without a name that occurs in the text.

    >>> without("Is there parking at A and B Guest House?", "A AND B GUEST HOUSE")
    'is there parking at'
    """
    words, part = " ".join(spoken_words(text)), " ".join(spoken_words(name or ""))
    return f" {words} ".replace(f" {part} ", " ", 1).strip() if part else words


def last_words(dialogue: Dialogue, mentions: Iterable[NameMention]) -> list[str]:
    """The last turn without the names that it mentions: one text for each of its transcriptions."""
    place = max(i for i, turn in enumerate(dialogue.turns) if turn is dialogue.last)
    inside = {i for m in mentions if m.turn == place for i in range(m.start, m.end)}
    texts = []
    for words in map(spoken_words, dialogue.last.readings[:READINGS]):
        kept = [word for i, word in enumerate(words) if i not in inside]
        texts.append(" ".join(kept or words))
    return texts


def mention_features(
    dialogue: Dialogue, mentions: Sequence[NameMention], index: PoolIndex
) -> dict[int, list[Floats]]:
    """The :data:`MENTION_FEATURES` (9,) of each mention, by the index of its entity in
    ``index.entities``. ``second`` is 1 for the last name but one. ``place`` is 1 after a
    preposition of place."""
    last = len(dialogue.turns) - 1
    words = {i: spoken_words(dialogue.turns[i].text) for i in {m.turn for m in mentions}}
    spots = sorted({(m.turn, m.start, m.end) for m in mentions}, reverse=True)
    by_entity: dict[int, list[Floats]] = {}
    for m in mentions:
        rank = spots.index((m.turn, m.start, m.end))
        before = [word for word in words[m.turn][: m.start][-2:] if word not in ("the", "a", "an")]
        features = (
            1.0, 10 * (m.closeness - 1), m.share - 1, np.log1p(last - m.turn), rank == 0, rank == 1,
            m.turn == last, dialogue.turns[m.turn].speaker == SYSTEM,
            bool(before) and before[-1] in PLACING)
        by_entity.setdefault(index.entities[m.entity], []).append(np.array(features, np.float32))
    return by_entity


def domain_features(
    dialogue: Dialogue, mentions: Sequence[NameMention], index: PoolIndex
) -> Floats:
    """The :data:`DOMAIN_FEATURES` of each domain of the pool: (domains, 2)."""
    words = set(plain_words(dialogue.last.text))
    latest = max(mentions, key=lambda m: (m.turn, m.end), default=None)
    return np.array([
        (bool(words & {domain, f"{domain}s"}), latest is not None and latest.entity[0] == domain)
        for domain in index.domains], np.float32)
