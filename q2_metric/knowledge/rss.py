"""RSS, the Relevance Similarity Scorer of Bae et al. (section 3.1): a cross-encoder.

RSS computes two scores for a dialogue and a snippet. The first is the relevance of the snippet's
answer (q–A), for which the encoder reads ``[dialogue; domain, entity name, answer]``. The second is
the similarity of the snippet's question (q–Q), for which the encoder reads ``[dialogue; domain,
entity name, question]``. Snippets are ranked by the sum of both scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.errors import InputError
from q2_metric.knowledge.encoder import HeadedEncoder, check_batch_size
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Ranker, Snippet

RELEVANCE, SIMILARITY = 0, 1
HEADS = ("relevance", "similarity")

NARROW = 20
"""Number of snippets that the first stage keeps. A six-layer encoder of hidden size 384 scores this
many snippets in 2.5 s on one core. The recall of first stages is in docs/results/knowledge.md."""


def relevance_text(snippet: Snippet) -> str:
    """The text of a snippet from which its relevance is scored: domain, entity name and answer."""
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, snippet.answer)))


def similarity_text(snippet: Snippet) -> str:
    """The text of a snippet from which its similarity is scored: domain, entity name and question.
    A plain passage has no question, so its answer is used instead."""
    said = snippet.question or snippet.answer
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, said)))


class RssRanker:
    """A ranker that scores snippets by RSS.

    RSS is slow, so a faster ranker (the first stage) chooses the snippets that RSS scores.

    Args:
        model: a folder that ``rss_training.train_rss`` wrote.
        first: the first stage; with ``None``, it is the bundled ranker.
        narrow: number of snippets that the first stage keeps. With ``None``, there is no first
            stage, and RSS scores the whole pool.
        device: device of the encoder: "auto", "cpu", "cuda", ….
        batch_size: number of inputs that the encoder reads at once.

    Raises:
        InputError: ``narrow`` or ``batch_size`` is below 1.
        MissingExtra, ModelError: see :class:`~q2_metric.knowledge.encoder.HeadedEncoder`.
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
        """For each dialogue, the ``k`` best of the snippets that the first stage kept. A snippet's
        score is the sum of two probabilities, in [0, 2]."""
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
    """Scores the snippets ``kept`` for each dialogue by RSS, and returns the ``k`` best of them."""
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
