"""Measures, without a model, how much of a response's wording occurs in the knowledge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from q2_metric.text.alignment import STOP_WORDS, stem
from q2_metric.text.markup import unmarked

WORD = re.compile(r"[^\W\d_]+|\d[\d,.]*\d|\d")
"""A word without digits, or a number."""


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


def known_words(response: str, knowledge: str) -> float | None:
    """The share of a response's content words that the knowledge has, exactly or by stem, in
    [0, 1]. ``None`` without content words."""
    vocabulary = set(word_tokens(knowledge))
    near = {stem(word) for word in vocabulary}
    found = [word in vocabulary or stem(word) in near for word in content_words(response)]
    return sum(found) / len(found) if found else None


def known_numbers(text: str, vocabulary: Collection[str]) -> float:
    """The share of a text's numbers that a vocabulary has, in [0, 1]; 1 without numbers."""
    found = [word in vocabulary for word in word_tokens(text) if word[0].isdigit()]
    return sum(found) / len(found) if found else 1.0
