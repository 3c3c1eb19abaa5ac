"""Makes an endless stream of training batches. The same seed gives the same stream."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from q2_metric.models.bundled.encoding import MULTIPLE, QueryWindow, Tokenizer, pair
from tools.training.examples import ExampleSource, TrainingExample, draw

BLOCK = 4096
"""Number of examples that are sorted by length together."""

Row = tuple[QueryWindow, TrainingExample]


def batches(
    sources: Sequence[ExampleSource], tokenizer: Tokenizer, *, tokens: int, length: int, seed: int
) -> Iterator[tuple[list[QueryWindow], list[TrainingExample]]]:
    """Yields batches of at most ``tokens`` padded tokens. Their rows have at most ``length``
    tokens.

    In each shuffled block of examples, rows of similar length share a batch.
    """
    rng = random.Random(seed)
    while True:
        epoch = draw(sources, rng)
        for at in range(0, len(epoch), BLOCK):
            rows = [(window(example, tokenizer, length), example)
                    for example in epoch[at : at + BLOCK]]
            ready = _packed(sorted(rows, key=lambda row: len(row[0].ids)), tokens)
            rng.shuffle(ready)
            for batch in ready:
                yield [row for row, _ in batch], [example for _, example in batch]


def window(example: TrainingExample, tokenizer: Tokenizer, length: int) -> QueryWindow:
    """The input row of an example, of at most ``length`` tokens."""
    query = tokenizer(example.query).cut(0, length // 2)
    return pair(query, tokenizer(example.text).cut(0, length - len(query.ids) - 3))


def _packed(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Divides rows that are sorted by length into batches of at most ``tokens`` padded tokens."""
    ready: list[list[Row]] = []
    batch: list[Row] = []
    for row in rows:
        size = -(-len(row[0].ids) // MULTIPLE) * MULTIPLE
        if batch and size * (len(batch) + 1) > tokens:
            ready.append(batch)
            batch = []
        batch.append(row)
    return [*ready, batch]
