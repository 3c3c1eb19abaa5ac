"""Ranks snippets by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import optional
from q2_metric.knowledge.mentions import spoken_words
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked
from q2_metric.text.alignment import STOP_WORDS

TURNS = 3
"""Turns at the end that form the query; the last one often does not name the subject."""


class Bm25Index:
    """BM25 (Lucene's variant, k1 1.5, b 0.75) over stems (Snowball English) without function words.

    Raises:
        MissingExtra: ``bm25s`` or its stemmer is not installed.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._index: Any = None
        terms = [stems(text) for text in texts]
        if any(terms):  # bm25s cannot index texts without words
            self._index = optional("bm25s", "BM25", "bm25s", "knowledge").BM25()
            self._index.index(terms, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """The BM25 score (at least 0) of each indexed text for the query."""
        vocabulary = self._index.vocab_dict if self._index is not None else {}
        words = [word for word in stems(query) if word in vocabulary]
        if not words:
            return np.zeros(self._count, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(words)
        return scores


class Bm25:
    """Ranks snippets (domain, entity name, question, answer) by BM25."""

    name = "bm25"

    def __init__(self) -> None:
        self._index = lru_cache(maxsize=4)(_index)

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        index = self._index(pool)
        rankings = []
        for dialogue in dialogues:
            query = " ".join(turn.text for turn in dialogue.turns[-TURNS:])
            rankings.append(top(pool, index.scores(query), k))
        return rankings


def top(pool: Pool, scores: NDArray[np.float32], k: int) -> list[Ranked]:
    """The ``k`` snippets with the highest scores, best first; ties keep the pool's order."""
    order = np.argsort(-scores, kind="stable")[:k]
    return [Ranked(pool.snippets[i], float(scores[i])) for i in order]


def stems(text: str) -> list[str]:
    """The stems of the text's content words.

    >>> stems("Are the parking lots free?")
    ['park', 'lot', 'free']
    """
    return _stemmer().stemWords(  # type: ignore[no-any-return]
        [word for word in spoken_words(text) if word not in STOP_WORDS]
    )


def _index(pool: Pool) -> Bm25Index:
    return Bm25Index([f"{s.domain} {s.entity_name or ''} {s.text}" for s in pool])


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return optional("Stemmer", "BM25", "PyStemmer", "knowledge").Stemmer("english")
