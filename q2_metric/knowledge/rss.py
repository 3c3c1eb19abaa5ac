"""RSS, the Relevance Similarity Scorer of Bae et al. (section 3.1): a cross-encoder.

Two scores for a dialogue and a snippet: the relevance of the answer (q–A), from
``[dialogue; domain, entity name, answer]``, and the similarity of the question (q–Q), from
``[dialogue; domain, entity name, question]``. Their sum ranks the snippets.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from q2_metric.errors import InputError
from q2_metric.knowledge.encoder import LENGTH, HeadedEncoder, check_batch_size
from q2_metric.knowledge.training import Progress, Settings, train
from q2_metric.knowledge.types import TOP, Dialogue, Key, Pool, Ranked, Ranker, Snippet

RELEVANCE, SIMILARITY = 0, 1
HEADS = ("relevance", "similarity")

NEGATIVES = 4
"""Sampled for each positive (Bae et al., section 4.2)."""
NARROW = 20
"""Snippets that the first stage leaves: a six-layer encoder of hidden size 384 reads them twice in
2.5 s of one core (recall of first stages: docs/results/knowledge.md)."""

Sampling = Literal["mixed", "random"]


def relevance_text(snippet: Snippet) -> str:
    """Domain, entity name and answer."""
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, snippet.answer)))


def similarity_text(snippet: Snippet) -> str:
    """Domain, entity name and question; the answer where a bare passage has no question."""
    said = snippet.question or snippet.answer
    return " ".join(filter(None, (snippet.domain, snippet.entity_name, said)))


class RssRanker:
    """RSS over what a first stage leaves of the pool.

    Args:
        model: folder that :func:`train_rss` wrote.
        first: the first stage; the bundled ranker if ``None``.
        narrow: snippets that it leaves; ``None`` for the whole pool, without a first stage.
        device, batch_size: how to run.

    Raises:
        InputError: a size below 1.
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
        """The ``k`` best of the narrowed pool; scores are sums of two probabilities, [0, 2]."""
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
    """The ``k`` best of each dialogue's snippets by the sum of the two scores."""
    pairs = [
        (dialogue, text(snippet))
        for dialogue, snippets in zip(dialogues, kept, strict=True)
        for snippet in snippets
        for text in (relevance_text, similarity_text)
    ]
    found = iter(encoder.probabilities(pairs, batch_size))
    rankings = []
    for snippets in kept:
        ranked = [
            Ranked(snippet, next(found)[RELEVANCE] + next(found)[SIMILARITY])
            for snippet in snippets
        ]
        rankings.append(sorted(ranked, key=lambda item: -item.score)[:k])
    return rankings


# --- training ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turns:
    """Labelled turns: dialogues, and the snippet that each needs."""

    dialogues: Sequence[Dialogue]
    gold: Sequence[Key]

    def __len__(self) -> int:
        return len(self.dialogues)


class Negatives:
    """Samples wrong snippets for a right one.

    "random" draws from the whole pool; "mixed" takes in turn one of the same entity, one of the
    same domain and one of the pool, so that the document, the entity and the domain each
    have to be told apart.
    """

    def __init__(self, pool: Pool, sampling: Sampling = "mixed") -> None:
        if sampling not in ("mixed", "random"):
            raise InputError(f"negatives are sampled 'mixed' or 'random', not {sampling!r}")
        if len(pool) < 2:
            raise InputError(f"{pool.source}: one snippet alone has no negatives")
        self._all = pool.snippets
        self._mixed = sampling == "mixed"
        self._entity: dict[tuple[str, str], list[Snippet]] = defaultdict(list)
        self._domain: dict[str, list[Snippet]] = defaultdict(list)
        for snippet in pool:
            self._entity[snippet.domain, snippet.entity_id].append(snippet)
            self._domain[snippet.domain].append(snippet)

    def draw(self, gold: Snippet, count: int, rng: random.Random) -> list[Snippet]:
        """``count`` snippets other than ``gold``; one may come twice."""
        groups: list[Sequence[Snippet]] = [self._all]
        if self._mixed:
            groups = [
                self._entity[gold.domain, gold.entity_id], self._domain[gold.domain], self._all
            ]
            groups = [group for group in groups if len(group) > 1]
        found: list[Snippet] = []
        start = rng.randrange(len(groups))
        while len(found) < count:
            drawn = rng.choice(groups[(start + len(found)) % len(groups)])
            if drawn.key != gold.key:
                found.append(drawn)
        return found


def train_rss(
    base: str, pool: Pool, turns: Turns, dev: Turns, folder: str | Path,
    settings: Settings | None = None, *, negatives: int = NEGATIVES,
    sampling: Sampling = "mixed", length: int = LENGTH, device: str = "auto",
    dev_candidates: int = 50, stop_at: int | None = None,
    report: Callable[[Progress, float], None] | None = None,
) -> Progress:
    """Trains RSS from an encoder; the best model by dev R@1 is in ``folder``.

    Both scores are trained with binary cross-entropy, the positive against its negatives. A
    stopped run goes on where it was when called again with the same arguments.

    Args:
        base: Hub name or folder of an encoder.
        turns, dev: what is learned, and what chooses the best model and the stop.
        negatives: for each positive.
        sampling: see :class:`Negatives`.
        dev_candidates: snippets among which dev R@1 is measured: the right one and drawn ones.
        stop_at, report: see :func:`~q2_metric.knowledge.training.train`.

    Raises:
        InputError: no turns, a snippet that the pool does not have, or bad settings.
        MissingExtra, ModelError: see :class:`~q2_metric.knowledge.encoder.HeadedEncoder`.
    """
    import torch
    from torch.nn import functional as F

    if negatives < 1:
        raise InputError(f"negatives must be at least 1, not {negatives}")
    if not len(turns) or not len(dev):
        raise InputError("RSS needs labelled turns for training and for development")
    settings = settings or Settings()
    golds = [pool.find(key, f"turn {i}") for i, key in enumerate(turns.gold)]
    sample = Negatives(pool, sampling)
    rng = random.Random(settings.seed)
    held = [pool.find(key, f"dev turn {i}") for i, key in enumerate(dev.gold)]
    choices = [[g, *sample.draw(g, dev_candidates - 1, rng)] for g in held]
    for some in choices:  # the right one is not the first among equals
        rng.shuffle(some)
    encoder = HeadedEncoder(base, HEADS, device=device, trained=False, length=length)

    def loss_of(places: Sequence[int], rng: random.Random) -> torch.Tensor:
        items = [
            (turns.dialogues[i], snippet, float(snippet is golds[i]))
            for i in places
            for snippet in (golds[i], *sample.draw(golds[i], negatives, rng))
        ]
        target = torch.tensor([label for _, _, label in items], device=encoder.loaded.device)
        relevance = encoder.logits([(d, relevance_text(s)) for d, s, _ in items])[:, RELEVANCE]
        similarity = encoder.logits([(d, similarity_text(s)) for d, s, _ in items])[:, SIMILARITY]
        loss: torch.Tensor = F.binary_cross_entropy_with_logits(relevance, target)
        return loss + F.binary_cross_entropy_with_logits(similarity, target)

    def judge() -> float:
        ranked = score(encoder, dev.dialogues, choices, 1, 2 * settings.batch_size)
        hits = [r[0].snippet.key == g.key for r, g in zip(ranked, held, strict=True)]
        return sum(hits) / len(hits)

    return train(
        encoder.network, len(turns), loss_of, judge, encoder.save, folder, settings,
        stop_at=stop_at, report=report,
    )
