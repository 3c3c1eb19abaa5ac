"""The share of the response's content words that occur in the knowledge: a baseline."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.metrics.claims import gated
from q2_metric.metrics.signature import signature
from q2_metric.text.overlap import overlap
from q2_metric.types import Example, Score


class WordShare:
    """In [0, 1]. A word occurs if the knowledge has a word with the same stem ("opening" for
    "opened"). A response without content words has no value and the reason "no_claim"."""

    name = "word_share"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    @gated
    def score(self, examples: Sequence[Example]) -> list[Score]:
        shares = [overlap(item.response, item.knowledge).words for item in examples]
        return [Score(item, value, reason="no_claim" if value is None else None)
                for item, value in zip(examples, shares, strict=True)]
