"""Tells sentences that state something from refusals ("The minutes don't say."), chat, questions
and announcements ("Here is what I found:"). The bundled network "statement" reads each of them
alone; ``python -m tools.training --part statement`` trains it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from q2_metric.memory import LruCache

if TYPE_CHECKING:
    from q2_metric.models.bundled.models import BundledEntailment

BOUND = 0.3
"""A text says nothing if its P(statement) is lower (docs/results/training.md)."""
_READ: LruCache[str, float] = LruCache(65_536, 8_000_000)
"""It holds what is read ahead for some ten thousand responses."""


def says_nothing(text: str) -> bool:
    """Whether a text states nothing that could be checked. In doubt, it states something.

    ``text`` has its own case, and contractions like "it's".

    >>> says_nothing("I'm afraid the minutes don't give her name.")
    True
    >>> says_nothing("The tower was built in 1889.")
    False
    """
    return statements([text])[0] < BOUND


def statements(texts: Sequence[str]) -> list[float]:
    """P(statement) of each text."""
    known = {text: chance for text in texts if (chance := _READ.get(text)) is not None}
    new = [text for text in dict.fromkeys(texts) if text not in known]
    for text, verdict in zip(new, _network().judge([("", text) for text in new]), strict=True):
        known[text] = verdict.entailment
        _READ.put(text, verdict.entailment, len(text))
    return [known[text] for text in texts]


@cache
def _network() -> BundledEntailment:
    from q2_metric.models.bundled.models import BundledEntailment

    return BundledEntailment(dtype="auto", network="statement")
