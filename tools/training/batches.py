"""Makes an endless stream of training batches, which depends only on the data and the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from q2_metric.models.bundled.encoding import QueryWindow, Tokenizer, padded, pair
from tools.training.examples import ExampleSource, TrainingExample, draw

BLOCK = 4096
"""Examples are sorted by length within blocks of this size, so that a batch has similar lengths."""

Row = tuple[QueryWindow, TrainingExample]


def batches(
    sources: Sequence[ExampleSource], tokenizer: Tokenizer, *, tokens: int, length: int, seed: int
) -> Iterator[tuple[list[QueryWindow], list[TrainingExample]]]:
    """Yields batches without end, each as (input rows, examples).

    Args:
        sources: the examples and how often each is drawn.
        tokenizer: the tokenizer.
        tokens: maximum number of tokens in a batch, with padding.
        length: maximum number of tokens in a row.
        seed: seed of the random numbers.
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
    """The network's input row for an example: query and text, cut to ``length`` tokens together."""
    query = tokenizer(example.query).cut(0, length // 2)
    return pair(query, tokenizer(example.text).cut(0, length - len(query.ids) - 3))


def _packed(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Divides rows, which are sorted by length, into batches of at most ``tokens`` tokens with
    padding."""
    ready: list[list[Row]] = []
    batch: list[Row] = []
    for row in rows:
        size = padded(len(row[0].ids))
        if batch and size * (len(batch) + 1) > tokens:
            ready.append(batch)
            batch = []
        batch.append(row)
    return [*ready, batch]
