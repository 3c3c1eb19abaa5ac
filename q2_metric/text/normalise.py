"""Answer normalisation and token F1 (Q², section 2.3; SQuAD's evaluation script)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

DROPPED = frozenset({"a", "an", "the", "in", "our"})
"""As in the code of Q²'s authors."""

_PUNCTUATION = re.compile("[" + re.escape(string.punctuation) + "‘’“”«»–—…]")


def normalise(text: str) -> str:
    """Lower-cases a text, and removes punctuation, a/an/the/in/our and repeated blanks.

    >>> normalise("In the U.S., 1994")
    'us 1994'
    """
    words = _PUNCTUATION.sub("", text.lower()).split()
    return " ".join(word for word in words if word not in DROPPED)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def tokens(text: str) -> list[str]:
    return normalise(text).split()


def token_f1(candidate: str, reference: str) -> float:
    """Harmonic mean of the precision and recall of normalised words, in [0, 1]; 0 without any."""
    return f1_of(tokens(candidate), tokens(reference))


def f1_of(left: Sequence[str], right: Sequence[str]) -> float:
    common = sum((Counter(left) & Counter(right)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)
