"""Cutting knowledge into overlapping chunks (SCALE, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

PAPER_CHUNK_SIZE = 512
"""Tokens of a chunk (SCALE, section 4.1; the authors' later code uses 1000)."""


def chunks(
    offsets: Sequence[tuple[int, int]], size: int, overlap: float = 0.25
) -> list[tuple[int, int]]:
    """Character ranges of chunks of at most ``size`` tokens.

    Neighbours share ``overlap`` of their tokens, in [0, 1). Every token is covered, and
    the last chunk ends with the text and is never inside the one before.

    Args:
        offsets: (start, end) characters of the text's tokens, in order.
        size: tokens of a chunk, at least 1.
        overlap: share of a chunk that the next repeats.

    Raises:
        ValueError: ``size`` or ``overlap`` is out of range.

    >>> chunks([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], size=4)
    [(0, 7), (6, 9)]
    """
    if size < 1:
        raise ValueError(f"chunk_size must be at least 1 token, not {size}")
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must be at least 0 and below 1, not {overlap}")
    step = max(1, int(size * (1 - overlap)))
    found = []
    for start in range(0, len(offsets), step):
        end = min(start + size, len(offsets))
        found.append((offsets[start][0], offsets[end - 1][1]))
        if end == len(offsets):
            break
    return found
