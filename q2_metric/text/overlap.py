"""Measures, without a model, how much of a text's wording occurs in another text, and finds the
parts of a text that share the most words with a sentence."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

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


class WordIndex:
    def __init__(self, parts: Sequence[str]) -> None:
        self._words = [stems(part) for part in parts]
        found_in = Counter(word for words in self._words for word in words)
        self._weights = {w: math.log(1 + len(parts) / n) for w, n in found_in.items()}

    def nearest(self, sentence: str, most: int) -> list[int]:
        """The indices of the parts that share the most words with a sentence, in ascending order.
        A content word has the weight log(1 + parts / parts with the word). Of equal parts, the
        earlier is chosen."""
        return sorted(self.ranked(sentence)[:most])

    def ranked(self, sentence: str) -> list[int]:
        """The indices of all parts, best first."""
        said = stems(sentence)
        shared = [math.fsum(self._weights[w] for w in said & words) for words in self._words]
        return sorted(range(len(shared)), key=lambda place: (-shared[place], place))
