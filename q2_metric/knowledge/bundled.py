"""The ranker that comes with the package. It uses sentence vectors and the entities that the
dialogue mentions.

A snippet's score is a weighted sum of three kinds of features: how similar the user's question is
to the snippet's question (q–Q) and to its answer (q–A), whether and when the dialogue mentioned the
snippet's entity, and whether the snippet's domain fits. The weights were learned on dialogues made
from snippets (:mod:`tools.training.selection`). The ranker needs no first stage, because one matrix
product scores all snippets of a knowledge pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import InputError
from q2_metric.knowledge.bm25 import Bm25Index, top
from q2_metric.knowledge.mentions import (
    READINGS,
    Entity,
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
"""The names of the features of an entity's mention. :func:`mention_features` computes them."""
DOMAIN_FEATURES = ("domain_named", "domain_of_latest")
"""The names of a domain's two features: whether the last turn names the domain, and whether the
entity mentioned last belongs to the domain."""

Compare = Literal["vectors", "words"]

EGR_MARGIN = 0.5
"""After this ranker, Entity Guided Reranking may move a snippet only if its score is at most this
much below the best score. On held-out dialogues of the training recipe, 0.5 was better than 1, 2, 4
and no margin. (The ranker itself already prefers entities that were mentioned recently.)"""
PLACING = frozenset("in near around by from to of".split())
"""Prepositions of place. A name after one of them often says where something else is ("near the
Yale Hotel")."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The learned weights of the features.

    ``text`` weighs the similarities with a snippet's question and with its answer. ``mention``
    weighs :data:`MENTION_FEATURES`, and ``domain`` weighs :data:`DOMAIN_FEATURES`.
    """

    text: Floats
    mention: Floats
    domain: Floats


class SimilarVectors:
    """Similarity by sentence vectors.

    Args:
        asked: the question of each snippet.
        answered: the answer of each snippet.
        vectors: a function that turns texts into unit vectors.
    """

    def __init__(self, asked: Sequence[str], answered: Sequence[str], vectors: Any) -> None:
        self.questions: Floats = vectors(asked)
        self.answers: Floats = vectors(answered)
        self._vectors = vectors

    def __call__(self, texts: Sequence[str]) -> Floats:
        """The mean similarity of the texts with each snippet's question and answer: (snippets, 2),
        at most 1."""
        query = self._vectors(texts).mean(0)
        query = query / max(float(np.linalg.norm(query)), 1e-6)
        similarities: Floats = np.stack([self.questions @ query, self.answers @ query], axis=1)
        return similarities


class SimilarWords:
    """Similarity by BM25 scores, divided by the highest score in the knowledge pool.

    Args:
        asked: the question of each snippet.
        answered: the answer of each snippet.
    """

    def __init__(self, asked: Sequence[str], answered: Sequence[str]) -> None:
        self._indices = (Bm25Index(asked), Bm25Index(answered))

    def __call__(self, texts: Sequence[str]) -> Floats:
        columns = []
        for index in self._indices:
            scores = np.mean([index.scores(text) for text in texts], axis=0)
            columns.append(scores / max(float(scores.max()), 1e-6))
        return np.stack(columns, axis=1).astype(np.float32)


class PoolIndex:
    """An index of a knowledge pool: the texts of its snippets, prepared for comparison with a
    dialogue, and the entity and domain of each snippet.

    ``entities`` and ``domains`` list all entities and domains of the pool. ``entity`` contains, for
    each snippet, the index of its entity, and ``domain`` the index of its domain.

    Args:
        pool: the knowledge snippets to index.
        vectors: a function that turns texts into unit vectors. With ``None``, texts are compared by
            BM25.
    """

    def __init__(self, pool: Pool, vectors: Any = None) -> None:
        self.pool = pool
        self.finder = MentionFinder(pool, "fuzzy")
        # A bare passage has no question, so its text is used as question and as answer.
        asked = [without(s.question or s.answer, s.entity_name) for s in pool]
        answered = [without(s.answer, s.entity_name) for s in pool]
        self.similar: SimilarWords | SimilarVectors = (
            SimilarWords(asked, answered) if vectors is None
            else SimilarVectors(asked, answered, vectors)
        )
        self.entities = list(dict.fromkeys((s.domain, s.entity_id) for s in pool))
        places = {entity: i for i, entity in enumerate(self.entities)}
        self.entity = np.array([places[s.domain, s.entity_id] for s in pool])
        self.domains = list(pool.domains)
        self.domain = np.array([self.domains.index(s.domain) for s in pool])


class BundledRanker:
    """A ranker that scores every snippet of a knowledge pool. It needs neither a download nor
    torch.

    Args:
        compare: how texts are compared: by sentence "vectors", or by "words" (BM25). Both use the
            weights that were learned with vectors. In a vote of two rankers, "words" can be the
            second one.

    Raises:
        InputError: ``compare`` is unknown.
        MissingExtra: rapidfuzz is not installed, or bm25s if ``compare="words"`` (extra
            ``knowledge``).
        ModelError: the bundled weights are missing.
    """

    egr_margin = EGR_MARGIN

    def __init__(self, compare: Compare = "vectors") -> None:
        from q2_metric.models.bundled import selection

        if compare not in ("vectors", "words"):
            raise InputError(f"compare must be 'vectors' or 'words', not {compare!r}")
        kind = "" if compare == "vectors" else f"-{compare}"
        self.name = f"bundled-selection{kind}-v{selection.VERSION}"
        vectors = selection.text_vectors() if compare == "vectors" else None
        self._weights = bundled_weights()
        self.index = lru_cache(maxsize=4)(lambda pool: PoolIndex(pool, vectors))

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ``k`` best snippets of the knowledge pool for each dialogue, best first."""
        index = self.index(pool)
        return [top(pool, scores(dialogue, index, self._weights), k) for dialogue in dialogues]


def scores(dialogue: Dialogue, index: PoolIndex, weights: Weights) -> Floats:
    """The score of each snippet of the knowledge pool for a dialogue. A score can be any real
    number."""
    mentions = index.finder.mentions(dialogue)
    similar = index.similar(last_words(dialogue, mentions))
    entity = np.zeros(len(index.entities), np.float32)
    for place, features in by_entity(mention_features(dialogue, mentions), index).items():
        entity[place] = max(float(row @ weights.mention) for row in features)
    domain = domain_features(dialogue, mentions, index) @ weights.domain
    scores: Floats = similar @ weights.text + entity[index.entity] + domain[index.domain]
    return scores


def bundled_weights() -> Weights:
    """Loads the weights that come with the package. They were learned with sentence vectors."""
    from q2_metric.models.bundled.selection import learned

    arrays = learned()
    return Weights(arrays["text"], arrays["mention"], arrays["domain"])


def without(text: str, name: str | None) -> str:
    """The words of a text, without a name that occurs in the text.

    >>> without("Is there parking at A and B Guest House?", "A AND B GUEST HOUSE")
    'is there parking at'
    """
    words, part = spoken_words(text), spoken_words(name or "")
    for start in range(len(words) - len(part) + 1 if part else 0):
        if words[start : start + len(part)] == part:
            return " ".join(words[:start] + words[start + len(part) :])
    return " ".join(words)


def last_words(dialogue: Dialogue, mentions: Iterable[NameMention]) -> list[str]:
    """The words of the last turn without the names that it mentions. There is one text for each
    transcription of the turn by a speech recogniser."""
    place = max(i for i, turn in enumerate(dialogue.turns) if turn is dialogue.last)
    inside = {i for m in mentions if m.turn == place for i in range(m.start, m.end)}
    texts = []
    for reading in dialogue.last.readings[:READINGS]:
        words = spoken_words(reading)
        kept = [word for i, word in enumerate(words) if i not in inside]
        texts.append(" ".join(kept or words))
    return texts


def mention_features(
    dialogue: Dialogue, mentions: Sequence[NameMention]
) -> list[tuple[Entity, Floats]]:
    """The entity and the features of each mention, in the order of :data:`MENTION_FEATURES`.

    ``turns_ago`` is log(1 + number of turns since the mention). ``latest`` is 1 for the last name
    in the dialogue, and ``second`` is 1 for the last but one. ``place`` is 1 if a preposition such
    as "near" precedes the name, so that the name may say where something else is.
    """
    last = len(dialogue.turns) - 1
    words = {i: spoken_words(dialogue.turns[i].text) for i in {m.turn for m in mentions}}
    spots = sorted({(m.turn, m.start, m.end) for m in mentions}, reverse=True)
    by_mention = []
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
        by_mention.append((m.entity, np.array(features, np.float32)))
    return by_mention


def _follows(before: Sequence[str], words: frozenset[str]) -> bool:
    """Whether the last word in ``before`` is one of ``words``. An article at the end is ignored."""
    said = [word for word in before[-2:] if word not in ("the", "a", "an")]
    return bool(said) and said[-1] in words


def by_entity(
    features: Iterable[tuple[Entity, Floats]], index: PoolIndex
) -> dict[int, list[Floats]]:
    """Groups the features of mentions by entity. A key is the entity's index in
    ``index.entities``."""
    places = {entity: i for i, entity in enumerate(index.entities)}
    grouped: dict[int, list[Floats]] = {}
    for entity, row in features:
        grouped.setdefault(places[entity], []).append(row)
    return grouped


def domain_features(
    dialogue: Dialogue, mentions: Sequence[NameMention], index: PoolIndex
) -> Floats:
    """The :data:`DOMAIN_FEATURES` of each domain of the knowledge pool, in the shape (domains, 2).
    """
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
