"""Encodes pairs of texts for the bundled neural networks: ``[CLS] query [SEP] text [SEP]``.

The query is the hypothesis or the question, the text is the premise or the passage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from q2_metric.memory import LruCache
from q2_metric.text.alignment import TEXT, align
from q2_metric.text.windows import window_bounds

CLS, SEP, PAD = 101, 102, 0
MAX_QUERY = 192
"""Maximum tokens of a query (half a window). The end of a longer query is cut off."""
TEXT_START = 24
"""The position of a text's first token, in layers that read query and text apart."""
MULTIPLE = 8
"""Rows are padded to a multiple of this number of tokens, so that the shapes of batches recur."""


class Tokens(NamedTuple):
    """Word pieces and their character ranges. ``words[word_of[i]]`` is the word of piece ``i``."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    word_of: list[int]
    words: list[str]

    def cut(self, start: int, end: int) -> Tokens:
        """The word pieces from ``start`` to before ``end``. Their words are renumbered from 0."""
        end = min(end, len(self.ids))
        if start == 0 and end == len(self.ids):
            return self
        if start >= end:
            return Tokens([], [], [], [])
        first, last = self.word_of[start], self.word_of[end - 1]
        return Tokens(
            self.ids[start:end], self.offsets[start:end],
            [word - first for word in self.word_of[start:end]], self.words[first : last + 1])


class QueryWindow(NamedTuple):
    """One row of a batch: a query with a window of its text. ``types``: see :func:`align`.
    ``offsets[i]`` is the character range of token ``text_start + i`` in the whole text."""

    ids: list[int]
    types: list[int]
    query_length: int
    text_start: int
    offsets: list[tuple[int, int]]


class Tokenizer:
    """The uncased word-piece tokenizer, which caches the tokens of recent texts."""

    def __init__(self, path: Path) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in an input is read as plain text
        # About 60 bytes a character.
        self._memory: LruCache[str, Tokens] = LruCache(2048, 2_000_000)

    def __call__(self, text: str) -> Tokens:
        if known := self._memory.get(text):
            return known
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        words, word_of, previous = list[str](), list[int](), None
        for piece, word in zip(encoding.tokens, encoding.word_ids, strict=True):
            if word is not None and word == previous:
                words[-1] += piece.removeprefix("##")
            else:
                words.append(piece)
            previous = word
            word_of.append(len(words) - 1)
        tokens = Tokens(list(encoding.ids), list(encoding.offsets), word_of, words)
        self._memory.put(text, tokens, len(text))
        return tokens


def pair(query: Tokens, text: Tokens) -> QueryWindow:
    """The row for a query and a text that fit into one window together."""
    query_words, text_words = align(query.words, text.words)
    types = [TEXT, *(query_words[word] for word in query.word_of), TEXT,
             *(text_words[word] for word in text.word_of), TEXT]
    ids = [CLS, *query.ids, SEP, *text.ids, SEP]
    return QueryWindow(ids, types, len(query.ids), len(query.ids) + 2, text.offsets)


def windows(query: Tokens, text: Tokens, length: int, stride: int) -> Iterator[QueryWindow]:
    """One row of at most ``length`` tokens for each window; neighbours share ``stride`` tokens."""
    query = query.cut(0, MAX_QUERY)
    room = length - len(query.ids) - 3
    for first, last in window_bounds(len(text.ids), room, max(1, room - stride)):
        yield pair(query, text.cut(first, last))


class Batch(NamedTuple):
    """A batch of padded rows: ``ids``, ``types`` and ``query`` are (batch, length). ``query`` is
    1.0 on the query's tokens and 0.0 elsewhere; ``lengths`` (batch,) lack the padding."""

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    lengths: NDArray[np.int32]
    query: NDArray[np.float32]


Forward = Callable[[Batch], NDArray[np.float32]]
"""Computes a network's logits for a batch."""


def padded(length: int) -> int:
    """``length``, rounded up to a multiple of :data:`MULTIPLE`."""
    return -(-length // MULTIPLE) * MULTIPLE


def collate(rows: Sequence[QueryWindow]) -> Batch:
    """Pads rows to the length of the longest row, rounded up to a multiple of :data:`MULTIPLE`."""
    shape = len(rows), padded(max(len(row.ids) for row in rows))
    ids, types = np.full(shape, PAD, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    query = np.zeros(shape, dtype=np.float32)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = row.ids
        types[i, : len(row.types)] = row.types
        query[i, 1 : 1 + row.query_length] = 1.0
    lengths = np.array([len(row.ids) for row in rows], dtype=np.int32)
    return Batch(ids, types, lengths, query)
