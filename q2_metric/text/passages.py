"""Finds the part of a response in which a question about a span is asked and answered. With the
whole response, the cost would be quadratic: questions and their costs grow with its length."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from q2_metric.text.sentences import split_sentences
from q2_metric.types import Example, Span

SENTENCES = 3
"""The span's own, one before and one after; at an end of the response, the nearest two others."""


def around(
    sentences: Sequence[tuple[int, int]], size: int, start: int, end: int
) -> tuple[int, int]:
    """The range of the passage around a span of a text with this size and these sentences."""
    first = bisect_right(sentences, start, key=lambda place: place[0]) - 2
    last = max(bisect_left(sentences, end, key=lambda place: place[1]) + 2, SENTENCES)
    first = max(0, min(first, len(sentences) - SENTENCES))
    return (sentences[first][0] if first else 0,
            sentences[last - 1][1] if last < len(sentences) else size)


def in_passages(spans: Sequence[Span]) -> list[Span]:
    """Copies of the spans, whose examples have only the passage around the span as response. It
    stays whole if it has at most three sentences, or lacks the span's text at the span's position.

    >>> text = "Ann sings. Bob reads. Cid swims. Dan runs. Eve rows."
    >>> in_passages([Span(Example(text, ""), "Eve", 43)])[0].example.response
    'Cid swims. Dan runs. Eve rows.'
    """
    sentences: dict[str, list[tuple[int, int]]] = {}
    cut: dict[tuple[Example, int, int], Example] = {}
    in_passage = []
    for span in spans:
        example, end = span.example, span.start + len(span.text)
        text = example.response
        if text not in sentences:
            sentences[text] = split_sentences(text)
        left, right = around(sentences[text], len(text), span.start, end)
        if (left, right) == (0, len(text)) or text[span.start : end] != span.text:
            in_passage.append(span)
            continue
        key = (example, left, right)
        if key not in cut:
            cut[key] = replace(example, response=text[left:right])
        in_passage.append(replace(span, example=cut[key], start=span.start - left))
    return in_passage
