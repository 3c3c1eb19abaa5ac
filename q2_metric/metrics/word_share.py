"""Word overlap as a baseline: the share of the response's content words that occur in the
knowledge."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.metrics.claims import texts_only
from q2_metric.metrics.signature import signature
from q2_metric.text.overlap import overlap
from q2_metric.types import Example, Score


class WordShare:
    """The share, in [0, 1], of the response's content words that occur in the knowledge.

    A word counts as occurring if the knowledge contains a word with the same stem ("opening" for
    "opened"). Every number, and every word that is not in the list of function words, is a content
    word. A response without content words has the value ``None`` and the reason "no_claim".
    """

    name = "word_share"

    def __init__(self) -> None:
        self.signature = signature(self.name, {})

    @texts_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """One score for each example, in order."""
        shares = [overlap(item.response, item.knowledge).words for item in examples]
        return [Score(item, value, reason="no_claim" if value is None else None)
                for item, value in zip(examples, shares, strict=True)]
