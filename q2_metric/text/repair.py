"""Repairs tokenised, lower-case dialogue text so that a parser of edited English reads it.

Dialogue systems trained on Wizard of Wikipedia write ``i ' m not sure , but it ' s from the
u . s .``; a parser trained on edited English reads ``I'm not sure, but it's from the U.S.``
far better. A repair only deletes blanks and changes the case of single characters, so
every character of the repaired text has exactly one place in the original.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from q2_metric.text.detokenise import detokenise
from q2_metric.text.truecase import capitalised, truecase


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text. Character ``i`` of ``text`` is at ``places[i]`` of ``original``.

    ``raised`` are the characters of ``text`` that are capitals only because they start a sentence.
    """

    original: str
    text: str
    places: tuple[int, ...]
    raised: frozenset[int] = frozenset()

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """(start, end) in the original of the non-empty slice [start, end) of ``text``."""
        return self.places[start], self.places[end - 1] + 1

    def from_original(self, start: int, end: int) -> tuple[int, int] | None:
        """(start, end) in ``text`` of what remains of the original's slice [start, end)."""
        left, right = bisect_left(self.places, start), bisect_left(self.places, end)
        return (left, right) if left < right else None


def repair(text: str, knowledge: str = "") -> Repaired:
    """Joins words that a tokenizer split, and gives a lower-case text its capitals.

    Names get the capitals that they have in ``knowledge``. A text that has capitals keeps its
    case. A text that does not look tokenised keeps its dashes and quotes.

    >>> repair("i don ' t know , it ' s a co - op .").text
    "I don't know, it's a co-op."
    """
    repaired, places = detokenise(text)
    raised: frozenset[int] = frozenset()
    if not any(letter.isupper() for letter in text):
        repaired, raised = truecase(repaired, capitalised(knowledge))
    return Repaired(text, repaired, tuple(places), raised)
