"""Shortens a long text to the parts that share the most words with a question or claim."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from q2_metric.text.nearest import WordIndex
from q2_metric.text.sentences import split_sentences
from q2_metric.text.tables import read_tables

PASSAGE = 900
"""Maximum characters of a passage, about 200 tokens. Sentences are joined while they fit into a
passage. A longer sentence is cut."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text made of pieces of another text, such as the passages of a document about a question.

    Attributes:
        text: the pieces, joined.
        starts: for each piece, its first character in ``text`` and in the other text.
        of: the other text, if that is an excerpt too; otherwise ``None``.
    """

    text: str
    starts: tuple[tuple[int, int], ...] = ((0, 0),)
    of: Excerpt | None = None

    def place(self, start: int) -> int:
        """The character offset in the original text, given a character offset in this excerpt."""
        own, original = self.starts[bisect_right(self.starts, (start, 1 << 62)) - 1]
        there = original + start - own
        return self.of.place(there) if self.of else there


def excerpt(text: str, about: str, most: int, tables: bool = False) -> Excerpt:
    """Shortens a text to the passages that share the most words with ``about``, in text order.

    The whole text is returned if ``most`` is 0, or if the text is not longer than ``most``
    passages.

    Args:
        text: the text to shorten.
        about: a question or claim.
        most: maximum number of passages.
        tables: if true, first rewrite each table cell as a sentence with its row and column.

    >>> excerpt("All of it.", "it", 3).text
    'All of it.'
    """
    whole = with_tables(text) if tables else Excerpt(text)
    if not most or len(whole.text) <= most * PASSAGE:
        return whole
    places, parts = _passages(whole.text)
    chosen = [places[at] for at in parts.nearest(about, most)]
    return _joined([(whole.text[first:last], first) for first, last in chosen], "\n", whole)


@functools.lru_cache(maxsize=64)
def with_tables(text: str) -> Excerpt:
    """The text with each table cell and each JSON value rewritten as a sentence."""
    return _joined([(piece.text, piece.start) for piece in read_tables(text)])


def _joined(
    pieces: Sequence[tuple[str, int]], between: str = "", of: Excerpt | None = None
) -> Excerpt:
    starts, size = [], 0
    for piece, start in pieces:
        starts.append((size, start))
        size += len(piece) + len(between)
    return Excerpt(between.join(piece for piece, _ in pieces), tuple(starts), of)


@functools.lru_cache(maxsize=64)
def _passages(text: str) -> tuple[list[tuple[int, int]], WordIndex]:
    """The character ranges of a text's passages, and an index that ranks the passages by their
    words."""
    places: list[tuple[int, int]] = []
    for start, end in split_sentences(text):
        if places and end - places[-1][0] <= PASSAGE:
            places[-1] = (places[-1][0], end)
        else:
            places += [(at, min(at + PASSAGE, end)) for at in range(start, end, PASSAGE)]
    return places, WordIndex([text[start:end] for start, end in places])
