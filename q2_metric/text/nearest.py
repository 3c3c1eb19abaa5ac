"""Finds the parts of a text that share the most words with a sentence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from q2_metric.text.overlap import stems


class WordIndex:
    def __init__(self, parts: Sequence[str]) -> None:
        self._words = [stems(part) for part in parts]
        found_in = Counter(word for words in self._words for word in words)
        self._weights = {w: math.log(1 + len(parts) / n) for w, n in found_in.items()}

    def nearest(self, sentence: str, most: int) -> list[int]:
        """The indices of the parts that share the most words with a sentence, in ascending order.
        The weight of a content word is log(1 + number of parts / number of parts with the word), so
        rare words count more. Of equal parts, the earlier is chosen."""
        if most >= len(self._words):
            return list(range(len(self._words)))
        return sorted(self.ranked(sentence)[:most])

    def ranked(self, sentence: str) -> list[int]:
        """The indices of all parts, best first."""
        said = stems(sentence)
        shared = [math.fsum(self._weights[w] for w in said & words) for words in self._words]
        return sorted(range(len(shared)), key=lambda place: (-shared[place], place))
