"""Repairs tokenised, lower-case text (``i ' m not sure``) for parsers of edited English."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from q2_metric.english.parse.detokenise import detokenise
from q2_metric.english.parse.truecase import capitalised, truecase


@dataclass(frozen=True, slots=True)
class Repaired:
    """Character ``i`` of ``text`` is at ``places[i]`` of the original. ``raised`` has the positions
    of capitals that were added only because a sentence starts there."""

    text: str
    places: tuple[int, ...]
    raised: frozenset[int] = frozenset()

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """The range must not be empty."""
        return self.places[start], self.places[end - 1] + 1

    def from_original(self, start: int, end: int) -> tuple[int, int] | None:
        """``None`` if the repair deleted all characters of the range."""
        left, right = bisect_left(self.places, start), bisect_left(self.places, end)
        return (left, right) if left < right else None


def repair(text: str, knowledge: str = "") -> Repaired:
    """Joins words that a tokenizer split. A text without capitals gets those of sentence starts and
    of names in ``knowledge``.

    >>> repair("i don ' t know , it ' s a co - op .").text
    "I don't know, it's a co-op."
    """
    repaired, places = detokenise(text)
    raised: frozenset[int] = frozenset()
    if not any(letter.isupper() for letter in text):
        repaired, raised = truecase(repaired, capitalised(knowledge))
    return Repaired(repaired, tuple(places), raised)
