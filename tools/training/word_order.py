"""``python -m tools.training.word_order --data FOLDER``: makes the table ``text/word_order.tsv``.

The table says how likely one class of words is to follow another. A rule uses it to notice words in
random order (:mod:`q2_metric.text.word_order`). The command counts in the sentences of the
annotated sets and of model responses. Each sentence counts once. The sources in ``KEPT`` are left
out; on them, the command prints how many real sentences and how many shuffled sentences the rule
takes for words in random order.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import click

from q2_metric.text import word_order
from q2_metric.text.claims import FUNCTION_WORDS, plain, sentences
from q2_metric.text.word_order import CONTRACTED
from tools.training.examples import read_jsonl

KEPT = frozenset("""
    rome1776_wow faithdial_audit_wow attributionbench expertqa_attribution shroom2024 cliff
    dialsummeval dstc9_human_accuracy quotesum_dev factcheck_gpt_stance
""".split())
LENGTH = 1500
"""Number of characters that are read from the start of a premise."""
OFTEN = 1000
"""A contraction of a function word, such as "it's", is a class of its own if it occurs this often.
"""
PRIOR = 5.0
"""Strength of smoothing: the counts after each class get this many words more, which are spread
over the classes as all words are. So the ratios of rare classes stay near 1."""


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


def count(found: set[str]) -> dict[str, dict[str, float]]:
    """Makes the table from sentences: ``count(found)["the"]["of"]`` is about "of" after "the".

    It is the logarithm of a ratio: how often one class of words follows the other, compared with
    random order.
    """
    words = Counter(word for text in found for word in re.findall(r"[a-z]+'[a-z]+", text))
    known = FUNCTION_WORDS | {
        word for word, times in words.items()
        if times >= OFTEN and CONTRACTED.search(word) and CONTRACTED.sub("", word) in FUNCTION_WORDS
    }
    single: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for text in sorted(found):
        row = word_order.classes(text, known)
        single.update(name for name in row if name)
        pairs.update((a, b) for a, b in pairwise(row) if a and b)
    before: Counter[str] = Counter()
    for (first, _), times in pairs.items():
        before[first] += times
    total = sum(single.values())
    return {
        first: {
            name: math.log((pairs[first, name] / (times / total) + PRIOR) / (before[first] + PRIOR))
            for name, times in sorted(single.items())
        }
        for first in sorted(single)
    }


def shuffled(sentence: str, rng: random.Random) -> str:
    """The words of a sentence in random order, without punctuation."""
    words = [word for word in sentence.split() if word[0].isalnum()]
    rng.shuffle(words)
    return " ".join(words) + " ."


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, groundedness2/, unlabelled/")
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="file of the table to write; by default, the package's own")
def main(data: Path, out: Path | None) -> None:
    found = {sentence for text in texts(data, kept=False) for sentence in sentences(plain(text))}
    table = count(found)
    lines = (f"{name}\t{''.join(map(word_order.letter, row.values()))}\n"
             for name, row in table.items())
    place = out or Path(str(files("q2_metric.text").joinpath(word_order.TABLE)))
    place.write_text("".join(lines), encoding="ascii")
    click.echo(f"{len(table)} classes from {len(found)} sentences")

    rng = random.Random(0)
    seen = sorted({sentence for text in texts(data, kept=True)
                   for sentence in sentences(plain(text))})
    for least, most in ((6, 10), (10, 15), (15, 25), (25, 1000)):
        real = [sentence for sentence in seen if least <= len(sentence.split()) < most]
        taken = [sentence for sentence in real if word_order.in_no_order(sentence)]
        caught = sum(word_order.in_no_order(shuffled(sentence, rng)) for sentence in real)
        click.echo(f"{least} to {most - 1} words: {len(taken)} of {len(real)} real sentences, "
                   f"{caught} of them shuffled")
        for sentence in taken:
            click.echo(f"    {sentence[:150]}")


if __name__ == "__main__":
    main()
