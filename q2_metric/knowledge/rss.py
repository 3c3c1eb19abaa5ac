"""The trained rankers of Bae et al., cross-encoders that read dialogue and snippet together, and
their training.

RSS (section 3.1) ranks by P(the answer is relevant) + P(the question is similar). The
multiple-choice ranker (section 4.4) reads the whole snippet; its one score is trained by a softmax
over the right snippet and wrong ones. As in the paper, four wrong snippets are drawn from the whole
pool (section 4.3). Ours are the evaluations among :data:`DEV_CANDIDATES` snippets, by which the
best model is kept.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from q2_metric.errors import InputError
from q2_metric.knowledge.bundled import BundledRanker
from q2_metric.knowledge.dstc import LabelledTurns
from q2_metric.knowledge.encoder import HeadedEncoder
from q2_metric.knowledge.training import Progress, Report, TrainSettings, train
from q2_metric.knowledge.types import TOP, Dialogue, Pool, Ranked, Snippet

if TYPE_CHECKING:
    from torch import Tensor

HEADS = ("relevance", "similarity")
CHOICE = ("choice",)
NEGATIVES = 4
"""Wrong snippets for each right one (Bae et al., section 4.3)."""
DEV_CANDIDATES = 50
"""R@1 on the development set is measured among this number of snippets for each turn."""

Kind = Literal["rss", "choice"]


def texts(snippet: Snippet, heads: Sequence[str] = HEADS, *, domain: bool = True) -> list[str]:
    """What each head reads of a snippet. A plain passage has no question, so its answer is used
    instead. Without ``domain``, the name of the domain is left out (table 5)."""
    about = [snippet.domain if domain else "", snippet.entity_name]
    said = {"relevance": [snippet.answer], "similarity": [snippet.question or snippet.answer],
            "choice": [snippet.question, snippet.answer]}
    return [" ".join(filter(None, (*about, *said[head]))) for head in heads]


class RssRanker:
    """Ranks by RSS or by multiple choice, with a ``model`` (folder) that :func:`train_rss` wrote.
    With ``narrow`` (at least 1), it scores only so many snippets, which the bundled ranker keeps as
    a first stage; with ``None`` all, as in the paper."""

    def __init__(
        self, model: str, narrow: int | None = None, *, device: str = "auto", batch_size: int = 32
    ) -> None:
        self._encoder = HeadedEncoder(model, HEADS, CHOICE, device=device)
        self._batch_size = batch_size
        self._narrow = narrow
        self._first = BundledRanker() if narrow else None
        self.name = f"{'choice' if self._encoder.heads == CHOICE else 'rss'}:{self._encoder.name}"

    def rank(self, dialogues: Sequence[Dialogue], pool: Pool, k: int = TOP) -> list[list[Ranked]]:
        """The ``k`` best for each dialogue. Scores are in [0, 2]; of multiple choice, logits."""
        kept: Sequence[Sequence[Snippet]] = [pool.snippets for _ in dialogues]
        if self._first and self._narrow:
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


def draw(pool: Pool, gold: Snippet, count: int, rng: random.Random) -> list[Snippet]:
    """Draws ``count`` snippets other than ``gold`` from its pool. A snippet may be drawn twice."""
    return rng.choices([snippet for snippet in pool if snippet is not gold], k=count)


def train_rss(
    base: str, pool: Pool, turns: LabelledTurns, dev: LabelledTurns, folder: str | Path,
    settings: TrainSettings, *, negatives: int = NEGATIVES, kind: Kind = "rss", domain: bool = True,
    device: str = "auto", dev_candidates: int = DEV_CANDIDATES, report: Report | None = None,
) -> Progress:
    """Trains a ranker from an encoder or GPT-2, and saves the model with the best dev R@1. The
    scores of "rss" are trained with binary cross-entropy: 1 for the right snippet, 0 for wrong
    ones; that of "choice" with a softmax over the right snippet and the wrong ones. Without
    ``domain``, the ranker does not read domain names. A call with the same arguments resumes an
    interrupted run. All turns must need knowledge. InputError: there are no turns, or a snippet is
    not in the pool."""
    if not turns.dialogues or not dev.dialogues:
        raise InputError("RSS needs labelled turns for training and for development")
    golds = [pool.find(label.knowledge[0], f"turn {i}") for i, label in enumerate(turns.labels)]
    held = [pool.find(label.knowledge[0], f"dev turn {i}") for i, label in enumerate(dev.labels)]
    if len(pool) < 2:
        raise InputError(f"{pool.source}: has a single snippet; no wrong one can be drawn")
    rng = random.Random(settings.seed)
    # In random order: the right snippet must not come first among equal scores.
    choices = [rng.sample([gold, *draw(pool, gold, dev_candidates - 1, rng)], dev_candidates)
               for gold in held]
    encoder = HeadedEncoder(base, CHOICE if kind == "choice" else HEADS, device=device,
                            trained=False, domain=domain, seed=settings.seed)

    def loss_of(places: Sequence[int], rng: random.Random) -> Tensor:
        return _loss(encoder, 1 + negatives, [
            (turns.dialogues[i], snippet, float(snippet is golds[i])) for i in places
            for snippet in (golds[i], *draw(pool, golds[i], negatives, rng))])

    def judge() -> float:
        ranked = score(encoder, dev.dialogues, choices, 1, 2 * settings.batch_size)
        hits = [r[0].snippet.key == g.key for r, g in zip(ranked, held, strict=True)]
        return sum(hits) / len(hits)

    return train(encoder.loaded, len(golds), loss_of, judge, folder, settings, report)


def train_ensemble(
    bases: tuple[str, str], pool: Pool, turns: LabelledTurns, dev: LabelledTurns,
    folder: str | Path, settings: TrainSettings, **given: Any,
) -> list[Progress]:
    """Trains the seven rankers of the paper's ensemble (section 4.4) in subfolders of ``folder``:
    RSS from the first base (BERT), then multiple choice, three times from the second base (RoBERTa)
    and three times from the first, each with another seed. :func:`train_rss` gets ``given``."""
    first, second = bases
    seven: list[tuple[Kind, str, int]] = [
        ("rss", first, 0), *(("choice", base, i) for base in (second, first) for i in range(3))]
    return [
        train_rss(base, pool, turns, dev, Path(folder) / f"{number}-{kind}",
                  replace(settings, seed=settings.seed + seed), kind=kind, **given)
        for number, (kind, base, seed) in enumerate(seven, start=1)]


def _loss(
    encoder: HeadedEncoder, size: int, items: Sequence[tuple[Dialogue, Snippet, float]]
) -> Tensor:
    """The mean loss of groups of ``size`` items, each with the right snippet first."""
    import torch
    from torch.nn import functional as F

    target = torch.tensor([label for _, _, label in items], device=encoder.loaded.device)
    read = [(d, texts(s, encoder.heads, domain=encoder.domain)) for d, s, _ in items]
    logits = [encoder.logits([(dialogue, said[head]) for dialogue, said in read])[:, head]
              for head in range(len(encoder.heads))]
    if encoder.heads == CHOICE:
        groups = logits[0].reshape(-1, size)
        right = torch.zeros(len(groups), dtype=torch.long, device=groups.device)
        return F.cross_entropy(groups, right)
    return torch.stack([F.binary_cross_entropy_with_logits(one, target) for one in logits]).sum()
