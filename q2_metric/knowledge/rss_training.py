"""Trains rankers to score right snippets higher than sampled wrong ones (Bae et al., section 4.3).

As in the paper, four wrong snippets are drawn from the whole pool. Ours are the evaluations among
:data:`DEV_CANDIDATES` snippets, by which the best model is kept.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from q2_metric.errors import InputError
from q2_metric.knowledge.dstc import LabelledTurns
from q2_metric.knowledge.encoder import HeadedEncoder
from q2_metric.knowledge.rss import CHOICE, HEADS, score, texts
from q2_metric.knowledge.training import Progress, Report, TrainSettings, train
from q2_metric.knowledge.types import Dialogue, Pool, Snippet

if TYPE_CHECKING:
    from torch import Tensor

NEGATIVES = 4
"""Wrong snippets for each right one (Bae et al., section 4.3)."""
DEV_CANDIDATES = 50
"""R@1 on the development set is measured among this number of snippets for each turn."""

Kind = Literal["rss", "choice"]


def draw(pool: Pool, gold: Snippet, count: int, rng: random.Random) -> list[Snippet]:
    """Draws ``count`` snippets other than ``gold``, which is in the pool. A snippet may be drawn
    twice."""
    return rng.choices([snippet for snippet in pool if snippet is not gold], k=count)


def train_rss(
    base: str, pool: Pool, turns: LabelledTurns, dev: LabelledTurns, folder: str | Path,
    settings: TrainSettings, *, negatives: int = NEGATIVES, kind: Kind = "rss", domain: bool = True,
    device: str = "auto", dev_candidates: int = DEV_CANDIDATES, report: Report | None = None,
) -> Progress:
    """Trains a ranker from an encoder or GPT-2, and saves the model with the best dev R@1.

    The scores of "rss" are trained with binary cross-entropy: 1 for the right snippet, 0 for wrong
    ones; that of "choice" with a softmax over the right snippet and the wrong ones. Without
    ``domain``, the ranker does not read domain names. A call with the same arguments resumes an
    interrupted run. All turns must need knowledge. InputError: there are no turns, or a snippet is
    not in the pool."""
    if not turns.dialogues or not dev.dialogues:
        raise InputError("RSS needs labelled turns for training and for development")
    golds = [pool.find(label.knowledge[0], f"turn {i}") for i, label in enumerate(turns.labels)]
    held = [pool.find(label.knowledge[0], f"dev turn {i}") for i, label in enumerate(dev.labels)]
    if len(pool) < 2:
        raise InputError(f"{pool.source}: has a single snippet; there is no wrong snippet to "
                         "sample")
    rng = random.Random(settings.seed)
    # In random order: the right snippet must not come first among equal scores.
    choices = [rng.sample([gold, *draw(pool, gold, dev_candidates - 1, rng)], dev_candidates)
               for gold in held]
    encoder = HeadedEncoder(base, CHOICE if kind == "choice" else HEADS, device=device,
                            trained=False, domain=domain, seed=settings.seed)

    def loss_of(places: Sequence[int], rng: random.Random) -> Tensor:
        return _loss(encoder, 1 + negatives, [
            (turns.dialogues[i], snippet, float(snippet is golds[i]))
            for i in places
            for snippet in (golds[i], *draw(pool, golds[i], negatives, rng))
        ])

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
    and three times from the first, each time with another seed. ``given`` goes to
    :func:`train_rss`."""
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
    read = [texts(s, encoder.heads, domain=encoder.domain) for _, s, _ in items]
    logits = [
        encoder.logits([(d, text[head]) for (d, _, _), text in zip(items, read, strict=True)]
                       )[:, head]
        for head in range(len(encoder.heads))]
    if encoder.heads == CHOICE:
        groups = logits[0].reshape(-1, size)
        right = torch.zeros(len(groups), dtype=torch.long, device=groups.device)
        return F.cross_entropy(groups, right)
    return torch.stack([F.binary_cross_entropy_with_logits(one, target) for one in logits]).sum()
