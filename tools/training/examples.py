"""Training examples, and how they are drawn.

A source is a file of human-made or derived examples with a rate: how many times an epoch contains
its rows on average. A hash of the text decides which rows of all sources are held out for
development, so that no premise or passage is on both sides.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEV_SHARE = 25
"""One text in 25 is held out for development."""


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A query, a text and the target.

    ``target`` is, for entailment, one of ``TARGETS`` or the probabilities of the three classes; for
    the reader, the characters ``(start, end)`` of the answer in ``text``, or ``None``.
    """

    query: str
    text: str
    target: Any
    source: str


TARGETS = ("supported", "not_enough", "refuted", "not_supported", "not_refuted")
"""The labels of entailment.

"not_supported" only says that the text does not support the query. "not_refuted" says that the
query adds something personal to a supported claim: it is consistent, and perhaps not attributable.
"""

Augment = Callable[[TrainingExample, random.Random], TrainingExample]


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """Examples that are drawn together. ``augment`` makes a new variant of an example each time."""

    name: str
    rate: float
    examples: list[TrainingExample] = field(repr=False)
    augment: Augment | None = None


def held_out(text: str) -> bool:
    """Whether a text is held out for development."""
    return int(hashlib.sha1(text.encode()).hexdigest(), 16) % DEV_SHARE == 0


def split(sources: Sequence[ExampleSource]) -> tuple[list[ExampleSource], list[TrainingExample]]:
    """The sources without the held-out texts, and the held-out examples."""
    train, dev = [], []
    for source in sources:
        kept = [example for example in source.examples if not held_out(example.text)]
        dev += [example for example in source.examples if held_out(example.text)]
        train.append(ExampleSource(source.name, source.rate, kept, source.augment))
    return train, dev


def draw(sources: Sequence[ExampleSource], rng: random.Random) -> list[TrainingExample]:
    """One epoch: the rows of each source at its rate, augmented and shuffled."""
    epoch: list[TrainingExample] = []
    for source in sources:
        times, share = divmod(source.rate, 1)
        rows = source.examples * int(times)
        rows += rng.sample(source.examples, round(len(source.examples) * share))
        epoch += [source.augment(row, rng) if source.augment else row for row in rows]
    rng.shuffle(epoch)
    return epoch


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a gzipped JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
