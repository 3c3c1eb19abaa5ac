"""Measures how the time of a function grows with the length of a text."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

LIMIT = 2.5
"""The time for a text of double length, as a multiple: about 2 if the time is linear, 4 if it is
quadratic."""
FLOOR = 0.0001
"""Seconds that are too short to be compared. Quadratic time is longer for 2,000 characters."""

PRIVATE = 0xE000
"""The first of some 6,000 characters without a meaning."""
_serial = count()


def seconds(run: Callable[[str], object], text: str, turns: int = 1) -> float:
    """The processor time of a call, smallest of several. Each text ends with another character, so
    that no cache knows it."""
    took = []
    for _ in range(turns):
        given = text + chr(PRIVATE + next(_serial) % 6000)
        started = time.thread_time()
        run(given)
        took.append(time.thread_time() - started)
    return min(took)


def growth(run: Callable[[str], object], make: Callable[[int], str]) -> float:
    """The smallest factor by which the time grows with each doubling of the text; 0 if it is short.

    ``make`` makes a text of about as many characters as its argument says. Most texts need only one
    or two calls: sixteen times the time for four times the length is no noise.
    """
    slow = seconds(run, make(2000))
    if slow < FLOOR or slow < 6 * seconds(run, make(500), 2):
        return 0.0
    factor = 16.0
    for size, turns in ((500, 3), (1000, 3), (2000, 3), (500, 9), (1000, 9)):  # others may be busy
        double, single = (seconds(run, make(length), turns) for length in (2 * size, size))
        factor = min(factor, double / single)
        if factor < LIMIT:
            break
    return factor
