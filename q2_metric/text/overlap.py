"""Measures, without a model, how much of a response's wording occurs in the knowledge."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass

from q2_metric.text.alignment import STOP_WORDS, stem
from q2_metric.text.markup import unmarked

WORD = re.compile(r"[^\W\d_]+|\d[\d,.]*\d|\d")
"""A word without digits, or a number."""

UNKNOWN = 0.5
"""The share of known words that is assumed for a response without content words."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Shares of a response's wording that occur in the knowledge, in [0, 1]: of its content words,
    exactly or by stem (``None`` without any), of its numbers (1.0 without any), and of its pairs of
    neighbouring words (0.0 without any)."""

    words: float | None
    numbers: float
    phrases: float


def word_tokens(text: str) -> list[str]:
    """The words and numbers of a text, in lower case and without accents and markup.

    >>> word_tokens("In 1,994 he's 3.5 in Zürich [1]")
    ['in', '1,994', 'he', 's', '3.5', 'in', 'zurich']
    """
    text = unmarked(text).lower()
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFD", text)
                       if not unicodedata.combining(sign))
    return WORD.findall(text)


def content_words(text: str) -> list[str]:
    """Numbers, and words that are neither function words nor single letters, in order."""
    return [word for word in word_tokens(text)
            if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def stems(text: str) -> set[str]:
    return {stem(word) for word in content_words(text)}


def overlap(response: str, knowledge: str) -> Overlap:
    said, known = word_tokens(response), word_tokens(knowledge)
    vocabulary, pairs = set(known), set(itertools.pairwise(known))
    near = {stem(word) for word in vocabulary}
    content = content_words(response)
    numbers = [word for word in said if word[0].isdigit()]
    phrases = list(itertools.pairwise(said))
    return Overlap(
        words=_share([w in vocabulary or stem(w) in near for w in content]) if content else None,
        numbers=_share([w in vocabulary for w in numbers]) if numbers else 1.0,
        phrases=_share([pair in pairs for pair in phrases]) if phrases else 0.0,
    )


def _share(shared: list[bool]) -> float:
    return sum(shared) / len(shared)
