"""The trained rankers of Bae et al., cross-encoders that read dialogue and snippet together.

RSS (section 3.1) ranks by P(the answer is relevant) + P(the question is similar). The
multiple-choice ranker (section 4.4) reads the whole snippet; its one score is trained by a softmax
over the right snippet and wrong ones.
"""

from collections.abc import Sequence

from q2_metric.knowledge.bundled import BundledRanker
from q2_metric.knowledge.encoder import HeadedEncoder
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Snippet

HEADS = ("relevance", "similarity")
CHOICE = ("choice",)


def texts(snippet: Snippet, heads: Sequence[str] = HEADS, *, domain: bool = True) -> list[str]:
    """What each head reads of a snippet. A plain passage has no question, so its answer is used
    instead. Without ``domain``, the name of the domain is left out (table 5)."""
    about = [snippet.domain if domain else "", snippet.entity_name]
    said = {"relevance": [snippet.answer], "similarity": [snippet.question or snippet.answer],
            "choice": [snippet.question, snippet.answer]}
    return [" ".join(filter(None, (*about, *said[head]))) for head in heads]


class RssRanker:
    """Ranks by RSS or by multiple choice.

    Args:
        model: a folder that ``rss_training.train_rss`` wrote.
        narrow: number of snippets, at least 1, that the bundled ranker, as a first stage, keeps;
            with ``None``, all snippets are scored, as in the paper.
    """

    def __init__(
        self, model: str, narrow: int | None = None, *, device: str = "auto", batch_size: int = 32
    ) -> None:
        self._encoder = HeadedEncoder(model, HEADS, CHOICE, device=device)
        self._batch_size = batch_size
        self._narrow = narrow
        self._first = None if narrow is None else BundledRanker()
        self.name = f"{'choice' if self._encoder.heads == CHOICE else 'rss'}:{self._encoder.name}"

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ``k`` best snippets for each dialogue. RSS's scores are in [0, 2]; those of multiple
        choice are logits."""
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
    """The ``k`` best of the snippets ``kept`` for each dialogue, by the sum of RSS's probabilities
    or by the logit of multiple choice, whose probability would be close to 1 for several."""
    pairs = [(dialogue, text) for dialogue, snippets in zip(dialogues, kept, strict=True)
             for snippet in snippets
             for text in texts(snippet, encoder.heads, domain=encoder.domain)]
    scores = iter(encoder.probabilities(pairs, batch_size, raw=encoder.heads == CHOICE))
    rankings = []
    for snippets in kept:
        ranked = [Ranked(snippet, sum(next(scores)[head] for head in range(len(encoder.heads))))
                  for snippet in snippets]
        rankings.append(sorted(ranked, key=lambda item: -item.score)[:k])
    return rankings
