"""Cuts long token sequences into windows, for chunks and for the inputs of models.

:func:`window_bounds` computes windows without gaps. :func:`authors_windows` computes the windows of
the package scale-score, which can leave gaps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

PAPER_CHUNK_SIZE = 512
"""Number of tokens of a chunk (SCALE, section 4.1). The later code of SCALE's authors uses 1000."""


def window_bounds(
    count: int, size: int, step: int, *, full_last: bool = False
) -> list[tuple[int, int]]:
    """The ranges (first, last) of windows that cover ``count`` tokens; ``last`` is not included.

    A window has at most ``size`` tokens, and each window begins ``step`` tokens after the window
    before. The last window ends with the last token and never lies inside the window before. If
    ``full_last`` is true, the last window begins earlier, so that it is as long as the others. If
    ``count`` is 0, the result is one empty window.

    >>> window_bounds(9, 4, 3), window_bounds(9, 4, 3, full_last=True)
    ([(0, 4), (3, 7), (6, 9)], [(0, 4), (3, 7), (5, 9)])
    """
    firsts = range(0, max(1, count - size + step), step)
    bounds = [(first, min(first + size, count)) for first in firsts]
    if full_last:
        bounds[-1] = (max(0, count - size), count)
    return bounds


def authors_windows(count: int, size: int, overlap: float) -> list[tuple[int, int]]:
    """The ranges (first, last) of the windows that the package scale-score makes.

    scale-score computes the number of windows with the exact step, but places them with the rounded
    step. So the last window may lie inside the window before, and the end of a very long text may
    be in no window.

    Args:
        count: number of tokens of the text.
        size: number of tokens of a window.
        overlap: share of a window that the next window repeats.

    >>> authors_windows(10, 8, overlap=0.25)
    [(0, 8), (6, 10)]
    """
    step = int(size * (1 - overlap))
    numbers = range(math.ceil(count / (size * (1 - overlap))))
    return [(step * i, min(step * i + size, count)) for i in numbers]


def chunks(
    offsets: Sequence[tuple[int, int]], size: int, overlap: float = 0.25
) -> list[tuple[int, int]]:
    """The character ranges of a text's chunks of at most ``size`` tokens.

    Every token is in a chunk. The last chunk ends with the text and never lies inside the chunk
    before.

    Args:
        offsets: (start, end) characters of the text's tokens, in order.
        size: number of tokens of a chunk, at least 1.
        overlap: share of a chunk that the next chunk repeats, in [0, 1).

    Raises:
        ValueError: ``size`` or ``overlap`` is out of range.

    >>> chunks([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], size=4)
    [(0, 7), (6, 9)]
    """
    if size < 1:
        raise ValueError(f"chunk_size must be at least 1 token, not {size}")
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must be at least 0 and below 1, not {overlap}")
    if not offsets:
        return []
    step = max(1, int(size * (1 - overlap)))
    return [
        (offsets[first][0], offsets[last - 1][1])
        for first, last in window_bounds(len(offsets), size, step)
    ]


def sentence_chunks(
    text: str, sentences: Sequence[tuple[int, int]], size: int
) -> list[tuple[int, int]]:
    """The character ranges of a text's chunks, which consist of whole sentences.

    A chunk has at most ``size`` words. A sentence of more than ``size`` words is a chunk of its
    own. ``sentences`` has the character range of each sentence.

    >>> sentence_chunks("A b. C d. E.", [(0, 4), (5, 9), (10, 12)], size=4)
    [(0, 9), (10, 12)]
    """
    bounds: list[tuple[int, int]] = []
    count = 0
    for start, end in sentences:
        words = len(text[start:end].split())
        if bounds and count + words <= size:
            bounds[-1], count = (bounds[-1][0], end), count + words
        else:
            bounds.append((start, end))
            count = words
    return bounds
