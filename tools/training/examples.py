"""Training examples, and how the examples of an epoch are drawn.

A source is a set of examples with a rate. The rate says how many times an epoch contains each
example of the source, on average. Whether an example is held out for development is decided by a
hash of its text, for all sources. So no text is used for both training and development.
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
"""One of this many texts is held out for development."""


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A query, a text, and the target that a network learns to predict.

    For the entailment network, the query is a hypothesis and the text its premise. ``target`` is
    one of :data:`TARGETS`, or the probabilities of the three classes. For the reader, the query is
    a question. ``target`` is the character range ``(start, end)`` of the answer in the text, or
    ``None`` if the text has no answer. ``source`` is the name of the example's source.
    """

    query: str
    text: str
    target: Any
    source: str


TARGETS = ("supported", "not_enough", "refuted", "not_supported", "not_refuted")
"""The labels of examples for the entailment network.

"not_supported" means "not_enough" or "refuted". "not_refuted" means "supported" or "not_enough":
the query is a supported claim to which the speaker added something personal.
"""

Augment = Callable[[TrainingExample, random.Random], TrainingExample]


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """A set of examples. ``rate`` says how many times an epoch contains each example, on average.

    ``augment`` makes a random variant of an example each time the example is drawn.
    """

    name: str
    rate: float
    examples: list[TrainingExample] = field(repr=False)
    augment: Augment | None = None


def held_out(text: str) -> bool:
    """Whether the examples with this text are held out for development. A hash decides."""
    return int(hashlib.sha1(text.encode()).hexdigest(), 16) % DEV_SHARE == 0


def split(sources: Sequence[ExampleSource]) -> tuple[list[ExampleSource], list[TrainingExample]]:
    """(the sources without their held-out examples, all held-out examples)."""
    train, dev = [], []
    for source in sources:
        kept = [example for example in source.examples if not held_out(example.text)]
        dev += [example for example in source.examples if held_out(example.text)]
        train.append(ExampleSource(source.name, source.rate, kept, source.augment))
    return train, dev


def draw(sources: Sequence[ExampleSource], rng: random.Random) -> list[TrainingExample]:
    """The examples of an epoch in random order: those of each source at its rate, each as a random
    variant."""
    epoch: list[TrainingExample] = []
    for source in sources:
        times, share = divmod(source.rate, 1)
        rows = source.examples * int(times)
        rows += rng.sample(source.examples, round(len(source.examples) * share))
        epoch += [source.augment(row, rng) if source.augment else row for row in rows]
    rng.shuffle(epoch)
    return epoch


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the objects of a jsonl file, which may be gzipped."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
