"""RSS, the Relevance Similarity Scorer of Bae et al. (section 3.1): a cross-encoder.

Snippets are ranked by P(the answer is relevant) + P(the question is similar).
"""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.errors import InputError
from q2_metric.knowledge.encoder import HeadedEncoder, check_batch_size
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker, Snippet

RELEVANCE, SIMILARITY = 0, 1
HEADS = ("relevance", "similarity")

NARROW = 20
"""Snippets that the first stage keeps. A six-layer encoder of hidden size 384 scores them in 2.5 s
on one core. The recall of first stages is in docs/results/knowledge.md."""


def relevance_text(snippet: Snippet) -> str:
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, snippet.answer)))


def similarity_text(snippet: Snippet) -> str:
    """A plain passage has no question, so its answer is used instead."""
    said = snippet.question or snippet.answer
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, said)))


class RssRanker:
    """Ranks by RSS the snippets that a faster ranker (the first stage) chose.

    Args:
        model: a folder that ``rss_training.train_rss`` wrote.
        first: the first stage; with ``None``, it is the bundled ranker.
        narrow: number of snippets that the first stage keeps; with ``None``, RSS scores all.

    Raises:
        InputError: ``narrow`` or ``batch_size`` is below 1.
    """

    def __init__(
        self, model: str, first: Ranker | None = None, narrow: int | None = NARROW, *,
        device: str = "auto", batch_size: int = 32,
    ) -> None:
        if narrow is not None and narrow < 1:
            raise InputError(f"narrow must be at least 1, not {narrow}")
        self._encoder = HeadedEncoder(model, HEADS, device=device)
        self._batch_size = check_batch_size(batch_size)
        self._narrow = narrow
        self._first = first
        if narrow is not None and first is None:
            from q2_metric.knowledge.bundled import BundledRanker

            self._first = BundledRanker()
        self.name = f"rss:{self._encoder.name}"

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ``k`` best snippets for each dialogue; scores are in [0, 2]."""
        if self._narrow is None or self._first is None:
            kept = [list(pool.snippets) for _ in dialogues]
        else:
            first = self._first.rank(dialogues, pool, max(k, self._narrow))
            kept = [[ranked.snippet for ranked in ranking] for ranking in first]
        return score(self._encoder, dialogues, kept, k, self._batch_size)


def score(
    encoder: HeadedEncoder, dialogues: Sequence[Dialogue], kept: Sequence[Sequence[Snippet]],
    k: int, batch_size: int,
) -> list[list[Ranked]]:
    """The ``k`` best of the snippets ``kept`` for each dialogue; scores are in [0, 2]."""
    pairs = [
        (dialogue, text(snippet))
        for dialogue, snippets in zip(dialogues, kept, strict=True)
        for snippet in snippets
        for text in (relevance_text, similarity_text)
    ]
    probabilities = iter(encoder.probabilities(pairs, batch_size))
    rankings = []
    for snippets in kept:
        ranked = [
            Ranked(snippet, next(probabilities)[RELEVANCE] + next(probabilities)[SIMILARITY])
            for snippet in snippets
        ]
        rankings.append(sorted(ranked, key=lambda item: -item.score)[:k])
    return rankings
