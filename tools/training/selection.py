"""``python -m tools.training.selection``: trains the bundled knowledge ranker on a CPU in minutes.

The ranker finds the snippet (a question with its answer) that a dialogue asks for. The data are a
pool of snippets (DSTC9), the gold snippets of DSTC9's responses, and general questions with
passages. Sentence vectors come first: their projection and the weights of word pieces are trained
so that a paraphrase of a question is nearer to this question than to others about the same entity.
The similarities of all-MiniLM-L6-v2 are a second target. Then the weights of the ranker's features
are trained on dialogues that are made from the pool.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from q2_metric.knowledge.bm25 import top
from q2_metric.knowledge.bundled import (
    DOMAIN_FEATURES,
    MENTION_FEATURES,
    PoolIndex,
    domain_features,
    last_words,
    mention_features,
    scores,
)
from q2_metric.knowledge.detection import BundledDetector
from q2_metric.knowledge.evaluate import OVERALL, evaluate
from q2_metric.knowledge.mentions import Matching, MentionFinder, spoken_words
from q2_metric.knowledge.reranking import rerank
from q2_metric.knowledge.types import TOP, Pool, Snippet
from q2_metric.models.bundled.selection import CUT, TextVectors, piece_vectors
from tools.training import hashes
from tools.training.selection_data import (
    CHOICES,
    DETAILS,
    SelectionCase,
    dialogue,
    representatives,
    spoken_question,
)
from tools.training.selection_data import REQUESTS as TOPIC_REQUESTS
from tools.training.selection_pairs import Data, Pair, mine, read_data, teach

Floats = NDArray[np.float32]
SIZE = 256
STEPS, BATCH, NEGATIVES = 1500, 64, 6


class Vectors(nn.Module):
    """Sentence vectors as in :class:`q2_metric.models.bundled.selection.TextVectors`, in torch.

    The input is a list of texts, and the output one vector of unit length for each text.
    """

    def __init__(self, pieces: Floats) -> None:
        super().__init__()
        self.register_buffer("pieces", torch.from_numpy(pieces))
        self.projection = nn.Parameter(torch.empty(pieces.shape[1], SIZE))
        nn.init.orthogonal_(self.projection)
        self.weigh = nn.Parameter(torch.zeros(pieces.shape[1]))
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        self._ids: dict[str, list[int]] = {}

    def forward(self, texts: Sequence[str]) -> Tensor:
        from q2_metric.models.bundled.models import tokenizer

        for text in texts:
            if text not in self._ids:
                self._ids[text] = tokenizer()(text).ids[:CUT]
        ids = [self._ids[text] for text in texts]
        offsets = torch.tensor(np.cumsum([0, *map(len, ids)])[:-1])
        flat = torch.tensor([i for row in ids for i in row], dtype=torch.long)
        rows = self.pieces[flat]  # type: ignore[index]
        weighted = rows * torch.sigmoid(rows @ self.weigh)[:, None]
        owner = torch.bucketize(torch.arange(len(flat)), offsets, right=True) - 1
        summed = torch.zeros(len(ids), rows.shape[1]).index_add(0, owner, weighted)
        return F.normalize(summed @ self.projection, dim=-1)


def train_vectors(data: Data, teacher: dict[str, Floats], steps: int, seed: int) -> Vectors:
    """Trains the projection and the word-piece weights of the sentence vectors.

    ``teacher`` has the vector of all-MiniLM-L6-v2 for each text.
    """
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = Vectors(piece_vectors())
    optimizer = torch.optim.AdamW(
        [
            {"params": [model.projection], "weight_decay": 0.05},
            {"params": [model.sharpness, model.weigh], "weight_decay": 0.0},
        ]
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [2e-3, 1e-2], total_steps=steps)
    siblings: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, snippet in enumerate(data.pool):
        siblings[snippet.domain, snippet.entity_id].append(i)
    train = [p for p in data.paraphrases if not data.held_out(p[1])]
    replies = [p for p in data.responses if not data.held_out(p[1])]
    for step in range(steps):
        loss = _step(model, data, teacher, (train, replies), siblings, rng)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if (step + 1) % 500 == 0:
            click.echo(f"step {step + 1}: loss {loss.item():.3f}")
    return model


def _step(
    model: Vectors, data: Data, teacher: dict[str, Floats],
    pairs: tuple[list[Pair], list[Pair]], siblings: dict[tuple[str, str], list[int]],
    rng: random.Random,
) -> Tensor:
    batch = rng.choices(pairs[0], k=BATCH * 2 // 3) + rng.choices(pairs[1], k=BATCH // 3)
    golds = [place for _, place in batch]
    candidates, owners = list(golds), list(range(len(batch)))
    for i, place in enumerate(golds):
        snippet = data.pool.snippets[place]
        own = siblings[snippet.domain, snippet.entity_id]
        for other in rng.choices(own, k=NEGATIVES):
            if other != place:
                candidates.append(other)
                owners.append(i)
    said = [spoken_question(text, rng, rng.choice((0.0, 0.05, 0.15))) for text, _ in batch]
    query = model(said)
    sharp = model.sharpness.exp()
    q_q = sharp * query @ model([data.questions[i] for i in candidates]).T
    q_a = sharp * query @ model([data.answers[i] for i in candidates]).T
    owned = torch.tensor(owners)[None, :] == torch.arange(len(batch))[:, None]
    within = (q_q + 0.5 * q_a).masked_fill(~owned, -1e4)
    loss = F.cross_entropy(within, torch.arange(len(batch)))
    # The teacher reads the text as written. The student reads it with misheard words.
    meant = torch.from_numpy(np.stack([teacher[text] for text, _ in batch]))
    for logits, texts, weight in ((q_q, data.questions, 0.5), (q_a, data.answers, 0.25)):
        known = torch.from_numpy(np.stack([teacher[texts[i]] for i in candidates]))
        loss = loss + weight * F.cross_entropy(logits, (20 * meant @ known.T).softmax(-1))
    if data.qa:
        asked = rng.sample(data.qa, BATCH)
        relevance = sharp * model([q for q, _ in asked]) @ model([p for _, p in asked]).T
        loss = loss + 0.25 * F.cross_entropy(relevance, torch.arange(BATCH))
    return loss


def train_weights(asked: Sequence[SelectionCase], index: PoolIndex) -> dict[str, Floats]:
    """Trains the weights of the ranker's features: similarity of texts, mentions, domains.

    It is a softmax regression in which the gold snippet competes with all snippets of the pool.
    """
    places = {snippet.key: i for i, snippet in enumerate(index.pool)}
    text = nn.Parameter(torch.tensor([10.0, 5.0]))
    mention = nn.Parameter(torch.tensor([3.0] + [0.0] * (len(MENTION_FEATURES) - 1)))
    domain = nn.Parameter(torch.zeros(len(DOMAIN_FEATURES)))
    owner, kind = torch.from_numpy(index.entity), torch.from_numpy(index.domain)
    read = []
    for case in asked:
        mentions = index.finder.mentions(case.dialogue)
        grouped = mention_features(case.dialogue, mentions, index)
        read.append((
            torch.from_numpy(index.similar(last_words(case.dialogue, mentions))),
            {at: torch.from_numpy(np.stack(rows)) for at, rows in grouped.items()},
            torch.from_numpy(domain_features(case.dialogue, mentions, index)),
            places[case.gold.key],
        ))
    optimizer = torch.optim.Adam([text, mention, domain], lr=0.1)
    order = random.Random(0)
    for epoch in range(6):
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + epoch)
        order.shuffle(read)
        for first in range(0, len(read), 16):
            loss = torch.zeros(())
            part = read[first : first + 16]
            for similar, features, domains, gold in part:
                entity = torch.zeros(len(index.entities))
                if features:
                    best = torch.stack([(rows @ mention).max() for rows in features.values()])
                    entity = entity.index_put((torch.tensor(list(features)),), best)
                logits = similar @ text + entity[owner] + (domains @ domain)[kind]
                loss = loss - logits.log_softmax(0)[gold] / len(part)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    learned = {"text": text, "mention": mention, "domain": domain}
    return {name: values.detach().numpy().copy() for name, values in learned.items()}


def train_detection(data: Data, vectors: TextVectors, seed: int) -> Floats:
    """Trains the weights of the bundled detector of turns that ask for outside knowledge.

    Positive examples are a quarter of the questions among the paraphrases. Negative examples are
    requests that a booking database answers. The detector compares a turn with the questions of a
    pool; this pool is the other three quarters of the questions, so that it contains no example.
    """
    rng = random.Random(seed)
    questions = sorted({text for text, _ in data.paraphrases})
    rng.shuffle(questions)
    asked, compared = questions[: len(questions) // 4], questions[len(questions) // 4 :]
    requests = [asked for asked, _ in DETAILS] + list(CHOICES) + list(TOPIC_REQUESTS)
    names = representatives(data.pool)
    other = []
    for _ in range(len(asked)):
        domain = rng.choice(list(names))
        name = " ".join(spoken_words(rng.choice(names[domain]).subject))
        other.append(
            rng.choice(requests).format(a=name, b=name, domain=domain, area=name)
        )
    pool = Pool([Snippet("", "", None, str(i), q, q) for i, q in enumerate(compared)])
    detector = BundledDetector(pool, vectors, np.zeros(3, np.float32))
    said = [spoken_question(text, rng) for text in asked + other]
    features = torch.from_numpy(detector.features(said))
    target = torch.tensor([1.0] * len(asked) + [0.0] * len(other))
    weights = nn.Parameter(torch.tensor([5.0, -5.0, 0.0]))
    optimizer = torch.optim.Adam([weights], lr=0.1)
    for _ in range(400):
        loss = F.binary_cross_entropy_with_logits(features @ weights, target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return weights.detach().numpy().copy()


# --- development ------------------------------------------------------------------------------


def make_dialogues(data: Data, count: int, *, held_out: bool, seed: int) -> list[SelectionCase]:
    """Makes at most ``count`` dialogues about the held-out entities, or about the others."""
    rng = random.Random(seed)
    names = representatives(data.pool)
    pairs = [pair for pair in data.paraphrases if data.held_out(pair[1]) == held_out]
    chosen = rng.sample(pairs, min(count, len(pairs)))
    return [dialogue(data.pool.snippets[place], text, names, rng) for text, place in chosen]


def within_entity(pairs: Sequence[Pair], index: PoolIndex, vectors: TextVectors) -> float:
    """The share of texts whose most similar snippet of the right entity is the right one (R@1)."""
    hits = 0
    for query, (_, place) in zip(vectors([text for text, _ in pairs]), pairs, strict=True):
        own = np.flatnonzero(index.entity == index.entity[place])
        scores = index.questions[own] @ query + 0.5 * (index.answers[own] @ query)
        hits += int(own[scores.argmax()] == place)
    return hits / len(pairs)


def judge(asked: Sequence[SelectionCase], index: PoolIndex, weights: dict[str, Floats]) -> None:
    """Prints the recall on dialogues, without and with entity-guided re-ranking (EGR)."""
    gold = [[case.gold.key] for case in asked]
    rankings = [
        top(index.pool, scores(case.dialogue, index, weights), TOP) for case in asked
    ]
    found = evaluate(rankings, gold)[OVERALL]
    click.echo(f"held-out dialogues: R@1 {found.r1:.3f}, R@5 {found.r5:.3f} of {found.n}")
    matchings: tuple[Matching, ...] = ("exact", "fuzzy")
    for matching in matchings:
        finder = MentionFinder(index.pool, matching)
        entities = [finder.entities(case.dialogue) for case in asked]
        for margin in (0.5, 1.0, 2.0, 4.0, None):
            moved = [rerank(r, e, margin=margin) for r, e in zip(rankings, entities, strict=True)]
            figure = evaluate(moved, gold)[OVERALL].r1
            click.echo(f"with EGR ({matching}, margin {margin}): R@1 {figure:.3f}")


@click.command(help=__doc__)
@click.option("--knowledge", type=click.Path(path_type=Path, exists=True), required=True,
              help="knowledge.json of DSTC9's test set or DSTC10")
@click.option("--labels", type=click.Path(path_type=Path, exists=True), multiple=True,
              help="labels.json of DSTC9; may be repeated")
@click.option("--qa", type=click.Path(path_type=Path, exists=True),
              help="the data's folder train/qa")
@click.option("--steps", default=STEPS, show_default=True)
@click.option("--dialogues", default=1200, show_default=True)
@click.option("--seed", default=13, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="safetensors file to write; by default, the package's own")
def main(knowledge: Path, labels: Sequence[Path], qa: Path | None, steps: int, dialogues: int,
         seed: int, out: Path | None) -> None:
    from safetensors.numpy import save_file

    from q2_metric.models.bundled.stored import WEIGHTS

    data = read_data(knowledge, labels, qa, 40_000)
    texts = data.questions + data.answers + [text for text, _ in data.responses]
    teacher = teach(texts)
    data.paraphrases.extend(mine(data, teacher, len(data.pool), seed))
    click.echo(f"{len(data.paraphrases)} paraphrases, {len(data.responses)} responses")
    model = train_vectors(data, teacher, steps, seed)
    projection = model.projection.detach().numpy().astype(np.float16)
    weigh = model.weigh.detach().numpy().astype(np.float16)
    vectors = TextVectors(piece_vectors(), projection.astype(np.float32),
                          weigh.astype(np.float32))
    index = PoolIndex(data.pool, vectors)
    for name, pairs in (("paraphrases", data.paraphrases), ("responses", data.responses)):
        held = [pair for pair in pairs if data.held_out(pair[1])]
        figure = within_entity(held, index, vectors)
        click.echo(f"held-out {name}: R@1 within the entity {figure:.3f} of {len(held)}")
    asked = make_dialogues(data, dialogues, held_out=False, seed=seed)
    held_out = make_dialogues(data, dialogues // 4, held_out=True, seed=seed + 1)
    weights = train_weights(asked, index)
    for name, values in weights.items():
        click.echo(f"{name}: {np.round(values, 2).tolist()}")
    judge(held_out, index, weights)
    detection = train_detection(data, vectors, seed)
    click.echo(f"detection: {np.round(detection, 2).tolist()}")
    path = out or WEIGHTS / "selection.safetensors"
    tensors: dict[str, NDArray[Any]] = {
        "projection": projection, "weigh": weigh, **weights,
        "detection": detection,
    }
    save_file(tensors, path)
    hashes.renew(path.parent)
    click.echo(f"wrote {path}")


if __name__ == "__main__":
    main()
