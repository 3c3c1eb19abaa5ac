"""Shortens a long text to the passages that a question or claim is about."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from q2_metric.text.overlap import WordIndex
from q2_metric.text.sentences import split_sentences
from q2_metric.text.tables import read_tables
from q2_metric.text.windows import Range
from q2_metric.types import Example, Span

PASSAGE = 900
"""Maximum characters of a passage, about 200 tokens."""
SENTENCES = 3
"""The span's own, one before and one after; at an end of the response, the nearest two others."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Pieces of another text, joined. ``starts`` has the first character of each piece in ``text``
    and in the other text; ``of`` is the other text, if that is an excerpt too."""

    text: str
    starts: tuple[tuple[int, int], ...] = ((0, 0),)
    of: Excerpt | None = None

    def place(self, start: int) -> int:
        """The offset in the original text, given one in ``text``."""
        own, original = self.starts[bisect_right(self.starts, (start, 1 << 62)) - 1]
        there = original + start - own
        return self.of.place(there) if self.of else there


def excerpt(text: str, about: str, most: int) -> Excerpt:
    """The passages that share the most words with ``about``, in text order: at most ``most``, or
    the whole text if they are enough for it. Each table cell first becomes a sentence."""
    whole = with_tables(text)
    if len(whole.text) <= most * PASSAGE:
        return whole
    places, parts = _passages(whole.text)
    chosen = [places[at] for at in parts.nearest(about, most)]
    return _joined([(whole.text[first:last], first) for first, last in chosen], "\n", whole)


@functools.lru_cache(maxsize=64)
def with_tables(text: str) -> Excerpt:
    """Each table cell and each JSON value becomes a sentence."""
    return _joined(read_tables(text))


def _joined(
    pieces: Sequence[tuple[str, int]], between: str = "", of: Excerpt | None = None
) -> Excerpt:
    starts, size = [], 0
    for piece, start in pieces:
        starts.append((size, start))
        size += len(piece) + len(between)
    return Excerpt(between.join(piece for piece, _ in pieces), tuple(starts), of)


@functools.lru_cache(maxsize=64)
def _passages(text: str) -> tuple[list[Range], WordIndex]:
    places: list[Range] = []
    for start, end in split_sentences(text):
        if places and end - places[-1][0] <= PASSAGE:
            places[-1] = (places[-1][0], end)
        else:
            places += [(at, min(at + PASSAGE, end)) for at in range(start, end, PASSAGE)]
    return places, WordIndex([text[start:end] for start, end in places])


def around(sentences: Sequence[Range], size: int, start: int, end: int) -> Range:
    """The range of the passage around a span of a text with this size and these sentences."""
    first = bisect_right(sentences, start, key=lambda place: place[0]) - 2
    last = max(bisect_left(sentences, end, key=lambda place: place[1]) + 2, SENTENCES)
    first = max(0, min(first, len(sentences) - SENTENCES))
    return (sentences[first][0] if first else 0,
            sentences[last - 1][1] if last < len(sentences) else size)


def in_passages(spans: Sequence[Span]) -> list[Span]:
    """Copies of the spans, whose examples have only the passage around the span as response: with
    the whole response, the cost of the questions would be quadratic in its length. It stays whole
    if it has at most three sentences, or lacks the span's text at the span's position.

    >>> text = "Ann sings. Bob reads. Cid swims. Dan runs. Eve rows."
    >>> in_passages([Span(Example(text, ""), "Eve", 43)])[0].example.response
    'Cid swims. Dan runs. Eve rows.'
    """
    sentences: dict[str, list[Range]] = {}
    cut: dict[tuple[Example, int, int], Example] = {}
    in_passage = []
    for span in spans:
        example, end, text = span.example, span.start + len(span.text), span.example.response
        if text not in sentences:
            sentences[text] = split_sentences(text)
        left, right = around(sentences[text], len(text), span.start, end)
        if (left, right) == (0, len(text)) or text[span.start : end] != span.text:
            in_passage.append(span)
            continue
        if (key := (example, left, right)) not in cut:
            cut[key] = replace(example, response=text[left:right])
        in_passage.append(replace(span, example=cut[key], start=span.start - left))
    return in_passage
