"""Answer normalisation and token F1 (Q², section 2.3; SQuAD's evaluation script)."""

from __future__ import annotations

import re
import string
from collections import Counter

ARTICLES = frozenset({"a", "an", "the"})
DROPPED = ARTICLES | {"in", "our"}
"""Words that normalisation removes, as in the code of Q²'s authors: the articles, "in" and "our".
"""

_PUNCTUATION = re.compile("[" + re.escape(string.punctuation) + "‘’“”«»–—…]")


def normalise(text: str) -> str:
    """Lower-cases a text, and removes punctuation, a/an/the/in/our and repeated blanks.

    >>> normalise("In the U.S., 1994")
    'us 1994'
    """
    words = _PUNCTUATION.sub("", text.lower()).split()
    return " ".join(word for word in words if word not in DROPPED)


def words(text: str) -> frozenset[str]:
    """Splits a word list at its blanks: ``words("who what")`` is a set of two words."""
    return frozenset(text.split())


def tokens(text: str) -> list[str]:
    """The words of the normalised text."""
    return normalise(text).split()


def token_f1(candidate: str, reference: str) -> float:
    """The harmonic mean of token precision and token recall of two texts, in [0, 1].

    Tokens are the words of the normalised texts. The result is 0 if a text has no tokens.

    >>> round(token_f1("the red hair", "red hair and freckles"), 3)
    0.667
    """
    left, right = tokens(candidate), tokens(reference)
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)
