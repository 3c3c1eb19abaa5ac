"""SCALE's tree search for the utterance that supports a sentence (SCALE, section 3.2)."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from q2_metric.evaluation.scores import MetricSource
from q2_metric.metrics.passages import Search
from q2_metric.metrics.scale import Known, Scale
from q2_metric.types import Claim, Example, Judgement

WHOLE = 10**6
"""A chunk size that no dialogue reaches, so that the search begins with the whole dialogue."""


class Utterances:
    """A splitter at newlines, so that SCALE searches for an utterance instead of a sentence."""

    def split(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The characters [start, end) of each non-empty line of each text."""
        return [[match.span() for match in re.finditer(r"[^\s](?:.*[^\s])?", text)]
                for text in texts]


def search(source: MetricSource, examples: Sequence[Example]) -> list[tuple[int | None, float]]:
    """For each example, the line, from 0, at which the search for the whole response ends
    (``None`` without a line), and the seconds it took."""
    metric = cast(Scale, source.metric)
    own = Scale(metric.backbone, Utterances(), replace(
        metric.settings, recipe="paper", chunking="knowledge", chunk_size=WHOLE))
    return [_search(own, example) for example in examples]


def _search(scale: Scale, example: Example) -> tuple[int | None, float]:
    start = time.perf_counter()
    claim = Claim(example.response, 0, len(example.response))
    (units,) = scale.sentences.split([example.knowledge])
    one = Search(example.knowledge, Judgement(claim, 0.0, "not found"), claim.text, units)
    (place,) = scale.deciding([one], Known())
    seconds = time.perf_counter() - start
    return (None if place is None else example.knowledge.count("\n", 0, place[0])), seconds
