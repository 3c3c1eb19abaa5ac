"""Repairs tokenised, lower-case dialogue text so that a parser of edited English reads it.

Dialogue systems trained on Wizard of Wikipedia write
``i ' m not sure , but it ' s from the u . s .``. A parser trained on edited English parses
``I'm not sure, but it's from the U.S.`` far better. A repair only deletes blanks and changes the
case of single characters. So every character of the repaired text has exactly one position in the
original.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from q2_metric.english.parse.detokenise import detokenise
from q2_metric.english.parse.truecase import capitalised, truecase


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text. Character ``i`` of ``text`` is at position ``places[i]`` of ``original``.

    ``raised`` contains positions in ``text``: those of capitals that the repair added only because
    a sentence starts there.
    """

    original: str
    text: str
    places: tuple[int, ...]
    raised: frozenset[int] = frozenset()

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """The character range (start, end) in ``original``, given a range in ``text``.

        ``end`` is not included. The range must not be empty.
        """
        return self.places[start], self.places[end - 1] + 1

    def from_original(self, start: int, end: int) -> tuple[int, int] | None:
        """The character range (start, end) in ``text``, given a range in ``original``.

        ``end`` is not included. ``None`` if the repair deleted all characters of the range.
        """
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
