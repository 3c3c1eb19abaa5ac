"""``python -m tools.training.word_order --data FOLDER``: makes the rule's table.

The table has the classes of frequent words and the weights of a logistic regression over pairs of
classes. A rule uses it to notice words in no order (:mod:`q2_metric.english.claims.word_order`).
The model learns to tell sentences of the annotated sets and of model responses from noise: shuffled
sentences, words and pieces of words drawn at random, and loops. Texts that other rules reject are
left out of both.

The sources in ``KEPT`` are not used for fitting. On them, and on the files of ``--check``, the
command prints how many texts claim nothing, and how many of them only because of word order.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.resources import files
from itertools import accumulate, pairwise
from pathlib import Path

import click
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from q2_metric.english.claims import language, word_order
from q2_metric.english.claims.checkable import FUNCTION_WORDS, has_claim, plain, stating
from q2_metric.english.claims.word_order import (
    AGAIN,
    CLIP,
    COMMA,
    ENDINGS,
    LETTER,
    LISTED,
    MARK,
    MARKS,
    MIXED,
    NAME,
    NEW_NAME,
    NUMBER,
    RUN,
    STEP,
    STOP,
    classes,
    pairs,
)
from q2_metric.text.markup import unmarked
from tools.training.examples import read_jsonl
from tools.training.untrained import decoded, vocabularies

KEPT = frozenset("""
    rome1776_wow faithdial_audit_wow attributionbench expertqa_attribution shroom2024 cliff
    dialsummeval dstc9_human_accuracy quotesum_dev factcheck_gpt_stance
""".split())
LENGTH = 600
"""Number of characters that are read from the start of a premise."""
WORDS, FUNCTIONS, CLUSTERS, NEIGHBOURS = 10000, 120, 64, 400
"""How many words the table has, how many of them are classes of their own, in how many clusters the
others are, and how many frequent words beside a word decide its cluster."""
REAL, CHANGED, FOREIGN, NOISE, SAMPLES = 150_000, 25_000, 3000, 60_000, 20
"""Numbers of texts: real ones, real ones with other case or tokens, those in other languages, and
noise; and of the samples of real texts from which the vocabularies of noise are made."""
FALSE_ALARM = 40.0
"""Cost of taking a real text for noise; the opposite error costs 1."""
EPOCHS, BATCH, RATE, DECAY = 6, 2048, 0.01, 2e-7
CLASSES = (STOP, COMMA, MARK, MARKS, NUMBER, AGAIN, LISTED, LETTER, NAME, NEW_NAME, MIXED, "-'",
           *(f"-{end}" for end in ENDINGS), RUN)
"""All classes but the function words, written as they are, and the clusters ("#12")."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


def texts(folder: Path, kept: bool) -> Iterator[str]:
    """The texts that are read from the data in ``folder``.

    Args:
        kept: if ``True``, only the hypotheses of the sources in ``KEPT``; if ``False``, the
            premises and hypotheses of all other sources, and the model responses.
    """
    for file in sorted([*folder.glob("groundedness/*.gz"), *folder.glob("groundedness2/*.gz")]):
        if (file.name.split(".")[0] in KEPT) == kept:
            for row in read_jsonl(file):
                yield row["hypothesis"]
                if not kept:
                    yield row["premise"][:LENGTH]
    if not kept:
        for row in read_jsonl(folder / "unlabelled" / "wow_test_generations.jsonl.gz"):
            yield from (*row["generations"].values(), row["gold"], row["knowledge"])


def lexicon(real: Sequence[str]) -> dict[str, str]:
    """The class of each frequent word: itself for function words, otherwise its cluster.

    Words that stand beside the same frequent words get the same cluster.
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD

    rows = [re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*", plain(text)) for text in real]
    counts = Counter(word for row in rows for word in row if len(word) > 1 or word in "ai")
    words = [word for word, _ in counts.most_common(WORDS)]
    place = {word: i for i, word in enumerate(words)}
    beside = np.zeros((WORDS, 2 * NEIGHBOURS), np.float32)
    for (one, other), times in Counter(pair for row in rows for pair in pairwise(row)).items():
        first, second = place.get(one, WORDS), place.get(other, WORDS)
        if first < WORDS and second < NEIGHBOURS:
            beside[first, second] += times
        if second < WORDS and first < NEIGHBOURS:
            beside[second, NEIGHBOURS + first] += times
    often = np.array([counts[word] for word in words], np.float32)
    vectors = TruncatedSVD(60, random_state=0).fit_transform(np.sqrt(beside / often[:, None]))
    function = [i for i, word in enumerate(words)
                if word in FUNCTION_WORDS or word.split("'")[0] in FUNCTION_WORDS][:FUNCTIONS]
    others = np.setdiff1d(np.arange(WORDS), function)
    found = KMeans(CLUSTERS, random_state=0, n_init=1, max_iter=30).fit_predict(
        vectors[others], sample_weight=np.sqrt(often[others]))
    return {**{words[i]: words[i] for i in function},
            **{words[i]: f"#{cluster}" for i, cluster in zip(others, found, strict=True)}}


def changed(text: str, rng: random.Random) -> str:
    """A real text in lower case, in capitals, tokenised, or a fragment of it."""
    words = text.split()
    start = rng.randrange(len(words))
    return rng.choice((text.lower(), " ".join(_TOKEN.findall(text.lower())), text.title(),
                       " ".join(words[start : start + rng.randint(3, 15)])))


class Noise:
    """Makes texts like those of untrained models."""

    def __init__(self, real: Sequence[str], rng: random.Random) -> None:
        self.rng = rng
        self.real = rng.sample(real, 40_000)
        self.drawn_from: list[tuple[Tokenizer, NDArray[np.float64]]] = []
        for _ in range(SAMPLES):
            lines = rng.sample(real, 1000)
            for _, tokenizer in vocabularies(lines, rng):
                counts = Counter(i for line in tokenizer.encode_batch(
                    lines, add_special_tokens=False) for i in line.ids)
                self.drawn_from.append((tokenizer, np.array([
                    counts[i] + 0.5 for i in range(3, tokenizer.get_vocab_size())])))

    def text(self) -> str:
        """A shuffled text (0.45), a loop (0.1), or tokens drawn at random (0.45)."""
        kind = self.rng.random()
        return self.shuffled() if kind < 0.45 else self.loop() if kind < 0.55 else self.drawn()

    def shuffled(self) -> str:
        rng = self.rng
        text = rng.choice(self.real)
        words = (text.split() if rng.random() < 0.7 else _TOKEN.findall(text))[:80]
        if rng.random() < 0.5:
            words = [word for word in words if word[0].isalnum()]
        text = " ".join(rng.sample(words, len(words))) + rng.choice(("", " .", "."))
        return text.lower() if rng.random() < 0.5 else text

    def loop(self) -> str:
        """One to seven words of a text again and again, perhaps after random ones."""
        rng = self.rng
        row = rng.choice(self.real).lower().split()
        start = rng.randrange(len(row))
        words = row[start : start + rng.randint(1, 7)] * rng.randint(4, 16)
        return " ".join([*self.drawn().split()[: rng.choice((0, 0, 3, 8))], *words][:50])

    def drawn(self) -> str:
        """Tokens drawn by some power of their frequency. Some repeat the one before or earlier."""
        rng = self.rng
        tokenizer, counts = rng.choice(self.drawn_from)
        power = rng.choice((0, 0, 0.3, 0.6, 0.8, 1, 1, 1.2, 1.5))
        sums = np.cumsum(counts**power)
        length = rng.choice((6, 8, 10, 14, 20, 30, 45, 60))
        ids = (sums.searchsorted([rng.random() * sums[-1] for _ in range(length)]) + 3).tolist()
        again, back = rng.choice((0, 0, 0, 0.2, 0.5, 0.8)), rng.choice((0, 0, 0.2))
        for i in range(1, len(ids)):
            if rng.random() < again:
                ids[i] = ids[i - 1]
            elif rng.random() < back:
                ids[i] = rng.choice(ids[:i])
        return decoded(tokenizer, ids)


def foreign(words: Mapping[str, str], rng: random.Random) -> str:
    """Common words of 42 languages, half of which also occur in English texts."""
    common = sorted(language._table().words - FUNCTION_WORDS)
    halves = [[word for word in common if (word in words) == known] for known in (True, False)]
    return " ".join(rng.choice(rng.choice(halves)) for _ in range(rng.randint(5, 40)))


def rows_of(text: str, words: Mapping[str, str]) -> list[list[str]]:
    """The classes of a text's sentences, as the rule reads them. Empty if another rule decides."""
    rows = [classes(sentence, words) for sentence in stating(unmarked(text))]
    return rows if word_order.is_english(rows) else []


def fit(real: Sequence[list[list[str]]], noise: Sequence[list[list[str]]], names: Sequence[str]
        ) -> tuple[NDArray[np.float32], float]:
    """The weights of all pairs of classes, of shape (classes, classes), and the intercept."""
    torch.manual_seed(0)
    column = {name: i for i, name in enumerate(names)}
    found = [torch.tensor([column[one] * len(names) + column[other]
                           for row in rows for one, other in pairs(row)])
             for rows in (*real, *noise)]
    is_noise = torch.arange(len(found)) >= len(real)
    sign = torch.where(is_noise, -1.0, 1.0)
    cost = torch.where(is_noise, 1.0, FALSE_ALARM)
    weights = torch.nn.EmbeddingBag(len(names) ** 2, 1, mode="sum")
    torch.nn.init.zeros_(weights.weight)
    prior = torch.nn.Parameter(torch.tensor(-2.0))
    optimizer = torch.optim.Adam([*weights.parameters(), prior], lr=RATE)
    for epoch in range(EPOCHS):
        optimizer.param_groups[0]["lr"] = RATE * (1 - epoch / EPOCHS)
        for batch in torch.randperm(len(found)).split(BATCH):  # type: ignore[no-untyped-call]
            picked = [found[i] for i in batch.tolist()]
            starts = torch.tensor([0, *accumulate(map(len, picked))][:-1])
            scores = weights(torch.cat(picked), starts)[:, 0] + prior
            loss = (cost[batch] * torch.nn.functional.softplus(sign[batch] * scores)).mean()
            loss = loss + DECAY * weights.weight.square().sum()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        click.echo(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    return weights.weight.detach().numpy().reshape(len(names), -1), prior.item()


def letter(weight: float) -> str:
    """The character with which the table writes a weight."""
    return chr(round((max(-CLIP, min(CLIP, weight)) + CLIP) / STEP) + ord("!"))


def table(words: Mapping[str, str], names: Sequence[str], weights: NDArray[np.float32]) -> str:
    """The text of the table: a line for each class, with its weights and its words."""
    by_class: dict[str, list[str]] = {name: [] for name in names}
    for word, name in words.items():
        by_class[name].append(word)
    return "".join(f"{name}\t{''.join(map(letter, row))}\t{' '.join(by_class[name])}\n"
                   for name, row in zip(names, weights.tolist(), strict=True))


def report(name: str, found: Sequence[str]) -> list[str]:
    """Prints how many texts claim nothing, and how many of them by word order. Returns those."""
    nothing = [text for text in map(unmarked, found) if not has_claim(text)]
    taken = [text for text in nothing if any(stating(text))]
    click.echo(f"{name}: {len(nothing)} of {len(found)} claim nothing, {len(taken)} in no order")
    return taken


def strings(value: object) -> Iterator[str]:
    """The texts of at least five words in a JSON value."""
    if isinstance(value, str) and len(value.split()) >= 5:
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, groundedness2/, unlabelled/")
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="file of the table to write; by default, the package's own")
@click.option("--check", type=click.Path(path_type=Path, exists=True), multiple=True,
              help="JSON lines of real texts")
def main(data: Path, out: Path | None, check: Sequence[Path]) -> None:
    rng = random.Random(0)
    real = rng.sample(sorted(set(texts(data, kept=False)) - {""}), REAL)
    words = lexicon(real)
    names = sorted({*CLASSES, *words.values()})
    made = Noise(real, rng)
    real += [changed(text, rng) for text in rng.sample(real, CHANGED) if text.strip()]
    real += [foreign(words, rng) for _ in range(FOREIGN)]
    with ProcessPoolExecutor(2) as pool:
        some, noise = ([rows for rows in pool.map(partial(rows_of, words=words), found,
                                                  chunksize=5000) if rows]
                       for found in (real, [made.text() for _ in range(NOISE)]))
    click.echo(f"{len(some)} real texts, {len(noise)} texts of noise, {len(names)} classes")
    weights, prior = fit(some, noise, names)
    place = out or Path(str(files("q2_metric.english.claims").joinpath(word_order.TABLE)))
    place.write_text(table(words, names, weights), encoding="utf-8")
    word_order._table.cache_clear()
    click.echo(f"noise and real text are equally likely at the bound {-prior:.2f}")
    held = sorted(set(texts(data, kept=True)))
    for text in report("held-out hypotheses", held):
        click.echo(f"    {text[:150]}")
    report("shuffled", [" ".join(rng.sample(text.split(), len(text.split()))) for text in held
                        if 8 <= len(text.split()) < 60])
    for file in check:
        report(file.name, sorted({text for row in read_jsonl(file) for text in strings(row)}))


if __name__ == "__main__":
    main()
