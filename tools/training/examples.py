"""Training examples, and how they are drawn.

A source is a file of human-made or derived examples with a rate. The rate says how many times, on
average, an epoch contains each row of the source. A hash of the text decides for all sources which
rows are held out for development. So no premise or passage is used for both training and
development.
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
    """A query, a text and the target that the network should learn.

    For entailment, ``target`` is one of ``TARGETS``, or the probabilities of the three classes. For
    the reader, it is the character range ``(start, end)`` of the answer in ``text``, or ``None``
    for no answer.
    """

    query: str
    text: str
    target: Any
    source: str


TARGETS = ("supported", "not_enough", "refuted", "not_supported", "not_refuted")
"""The labels of entailment examples.

"not_supported" only says that the text does not support the query. "not_refuted" says that the
query adds something personal to a supported claim. Such a query is consistent, but may not be
attributable.
"""

Augment = Callable[[TrainingExample, random.Random], TrainingExample]


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """Examples that are drawn together at one rate. ``augment`` makes a new variant of an example
    each time."""

    name: str
    rate: float
    examples: list[TrainingExample] = field(repr=False)
    augment: Augment | None = None


def held_out(text: str) -> bool:
    """Whether a text is held out for development."""
    return int(hashlib.sha1(text.encode()).hexdigest(), 16) % DEV_SHARE == 0


def split(sources: Sequence[ExampleSource]) -> tuple[list[ExampleSource], list[TrainingExample]]:
    """The sources without their held-out examples, and all held-out examples."""
    train, dev = [], []
    for source in sources:
        kept = [example for example in source.examples if not held_out(example.text)]
        dev += [example for example in source.examples if held_out(example.text)]
        train.append(ExampleSource(source.name, source.rate, kept, source.augment))
    return train, dev


def draw(sources: Sequence[ExampleSource], rng: random.Random) -> list[TrainingExample]:
    """The examples of one epoch: the rows of each source at its rate, augmented and shuffled."""
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
