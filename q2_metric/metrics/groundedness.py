"""Groundedness: one calibrated P(supported) from all the evidence that there is.

A logistic of few numbers, each of which says something by itself: how SCALE's network judges
the sentences, how Q²'s answers compare, and how much of the wording occurs in the knowledge.
Its coefficients are fitted on human-labelled sources that no network was trained on, each with
the same weight (``training/groundedness.py``); the model card lists them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.claims import claims_only
from q2_metric.metrics.q2 import PRIOR, Q2
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.signature import signature
from q2_metric.text.overlap import UNKNOWN, overlap
from q2_metric.types import Comparison, Evidence, Example, Part, Score

MOST_SURE = 1e-3
"""Probabilities are cut at this and at 1 less this before their logits are taken."""


@dataclass(frozen=True, slots=True)
class Head:
    """The logistic: P = 1 / (1 + exp(-(intercept + Σ weight · (value - mean) / deviation))).

    Attributes:
        name: in signatures.
        intercept: of the logistic.
        features: by name, (mean, deviation, weight) of each number.
    """

    name: str
    intercept: float
    features: Mapping[str, tuple[float, float, float]]

    @classmethod
    def load(cls, path: str | Path) -> Head:
        """The head in a JSON file.

        Raises:
            ModelError: it is missing or is no head.
        """
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            features = {name: (float(one["mean"]), float(one["deviation"]), float(one["weight"]))
                        for name, one in found["features"].items()}
            return cls(str(found["name"]), float(found["intercept"]), features)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: is no groundedness head ({error})") from error

    def parts(self, values: Mapping[str, float]) -> tuple[Part, ...]:
        """Each number with how far it pulls the logit up or down, the strongest first."""
        found = [Part(name, values[name], weight * (values[name] - mean) / deviation)
                 for name, (mean, deviation, weight) in self.features.items()]
        return tuple(sorted(found, key=lambda part: -abs(part.pull)))

    def probability(self, parts: Sequence[Part]) -> float:
        """P(supported) in (0, 1)."""
        logit = self.intercept + math.fsum(part.pull for part in parts)
        return 1 / (1 + math.exp(-logit)) if logit > 0 else math.exp(logit) / (1 + math.exp(logit))


class Groundedness:
    """P(the response is supported by the knowledge), with the parts that made it.

    Args:
        q2: whose comparisons count; with ``comparison="expected"`` and no shrinking.
        scale: whose sentences count.
        head: fitted on scores of the two.
        preset: named in the signature.
    """

    name = "groundedness"

    def __init__(self, q2: Q2, scale: Scale, head: Head, preset: str = "custom") -> None:
        self.q2, self.scale, self.head = q2, scale, head
        self.signature = signature(self.name, {
            "preset": preset,
            "head": head.name,
            "reader": q2.reader.name,
            "nli": q2.entailment.name,
            "backbone": scale.backbone.name,
            "chunk": scale.settings.chunk_size,
        })

    @classmethod
    def from_preset(cls, preset: str = "bundled", **running: Any) -> Groundedness:
        """The metric with a preset's models.

        Args:
            preset: one that has a head: "bundled".
            running: ``device``, ``dtype``, ``batch_size`` and the like, as for
                ``Q2.from_preset``.

        Raises:
            InputError: the preset has no head.
            ModelError: the models cannot be loaded.
        """
        from q2_metric.models import presets

        stages = presets.preset(preset)
        if stages.head is None:
            able = ", ".join(name for name, one in presets.PRESETS.items() if one.head)
            raise InputError(f"groundedness was not fitted for the preset {stages.name!r}, "
                             f"only for {able}")
        return cls(
            Q2.from_preset(preset, comparison="expected", **running),
            Scale.from_preset(preset, **running),
            Head.load(stages.head),
            stages.name,
        )

    @claims_only
    def score(self, examples: Sequence[Example]) -> list[Score]:
        """A score in (0, 1) for each example, in order, its parts in ``because``.

        The value is ``None`` where SCALE has none.
        """
        asked, judged = self.q2.score(examples), self.scale.score(examples)
        return [self._total(*found) for found in zip(examples, asked, judged, strict=True)]

    def _total(self, example: Example, asked: Score, judged: Score) -> Score:
        if judged.value is None:
            return Score(example, None)
        parts = self.head.parts(evidence(example, asked, judged))
        return Score(example, self.head.probability(parts), parts)


def evidence(example: Example, asked: Score, judged: Score) -> dict[str, float]:
    """The numbers that the head weighs, by name.

    Args:
        example: the response with its knowledge.
        asked: its score by Q², with ``comparison="expected"``.
        judged: its score by SCALE.

    Returns:
        ``sentences``: mean logit of the sentences' support; ``weakest``: the least of them;
        ``questions``: mean score of Q²'s questions, drawn towards :data:`PRIOR` by one
        question; ``words``, ``numbers``, ``phrases``: :class:`q2_metric.text.overlap.Overlap`.
    """
    sentences = [_logit(one.score) for one in judged.because if isinstance(one, Evidence)]
    questions = [one.score for one in asked.because if isinstance(one, Comparison)]
    shared = overlap(example.response, example.knowledge)
    return {
        "sentences": math.fsum(sentences) / len(sentences),
        "weakest": min(sentences),
        "questions": (math.fsum(questions) + PRIOR) / (len(questions) + 1),
        "words": UNKNOWN if shared.words is None else shared.words,
        "numbers": shared.numbers,
        "phrases": shared.phrases,
    }


def _logit(probability: float) -> float:
    cut = min(max(probability, MOST_SURE), 1 - MOST_SURE)
    return math.log(cut / (1 - cut))
