"""Ranks snippets by BM25."""

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


class Bm25:
    """Ranks snippets (domain, entity name, question, answer) by BM25 (Lucene's variant, k1 1.5, b
    0.75) over stems (Snowball English) without function words. MissingExtra: ``bm25s`` or its
    stemmer is not installed; raised by the first ranking."""

    name = "bm25"

    def __init__(self) -> None:
        self._index = lru_cache(maxsize=4)(_index)

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        index = self._index(pool)
        known = index.vocab_dict if index is not None else {}
        rankings = []
        for dialogue in dialogues:
            query = " ".join(turn.text for turn in dialogue.turns[-TURNS:])
            words = [word for word in stems(query) if word in known]
            scores = index.get_scores(words) if words else np.zeros(len(pool), np.float32)
            rankings.append(top(pool, scores, k))
        return rankings


def _index(pool: Pool) -> Any:
    """``None`` for a pool without words, which bm25s cannot index."""
    terms = [stems(f"{s.domain} {s.entity_name or ''} {s.text}") for s in pool]
    if not any(terms):
        return None
    index = optional("bm25s", "BM25", "bm25s", "knowledge").BM25()
    index.index(terms, show_progress=False)
    return index


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
        [word for word in spoken_words(text) if word not in STOP_WORDS])


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return optional("Stemmer", "BM25", "PyStemmer", "knowledge").Stemmer("english")
