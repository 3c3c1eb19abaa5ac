"""Groundedness: one calibrated P(supported) from all the evidence that there is.

A logistic of few numbers, each of which says something by itself: how SCALE's network judges
the sentences, and how much of the wording occurs in the knowledge. Its coefficients are fitted
on human-labelled sources that no network was trained on, each with the same weight
(``training/groundedness.py``); the model card lists them. Q²'s comparisons were among the
numbers, got a weight next to nothing and would cost four times the rest: they are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from q2_metric.errors import InputError, ModelError
from q2_metric.files import read_json
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import check_stages
from q2_metric.metrics.signature import signature
from q2_metric.running import RUNNING
from q2_metric.text.overlap import UNKNOWN, overlap
from q2_metric.types import Example, Judgement, Part, Score

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
            found = read_json(path, ModelError)
            features = {name: (float(one["mean"]), float(one["deviation"]), float(one["weight"]))
                        for name, one in found["features"].items()}
            return cls(str(found["name"]), float(found["intercept"]), features)
        except (ValueError, KeyError, TypeError) as error:
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
        scale: whose sentences count.
        head: fitted on its scores.
        preset: named in the signature.
    """

    name = "groundedness"

    def __init__(self, scale: Scale, head: Head, preset: str = "custom") -> None:
        check_stages(("scale", scale, "score"), ("head", head, "probability"))
        self.scale, self.head = scale, head
        self.signature = signature(self.name, {
            "preset": preset,
            "head": head.name,
            "backbone": scale.backbone.name,
            "chunk": scale.settings.chunk_size,
            **scale.signed_chunks(),
        })

    @classmethod
    def from_preset(cls, preset: str = "bundled", **running: Any) -> Groundedness:
        """The metric with a preset's models.

        Args:
            preset: one that has a head: "bundled" or "bundled-small".
            running: the fields of :class:`~q2_metric.running.Running`.

        Raises:
            InputError: the preset has no head, or a keyword is none of these.
            ModelError: the models cannot be loaded.
        """
        from q2_metric.models import presets
        from q2_metric.models.bundled.stored import intact

        stages = presets.preset(preset)
        if stages.head is None:
            able = ", ".join(name for name, one in presets.PRESETS.items() if one.head)
            raise InputError(f"groundedness was not fitted for the preset {stages.name!r}, "
                             f"only for {able}")
        if other := sorted(running.keys() - set(RUNNING)):
            raise InputError(f"groundedness takes no {', '.join(other)}: it was fitted on the "
                             "preset's own model and settings")
        scale = Scale.from_preset(preset, **running)
        return cls(scale, Head.load(intact(stages.head.name)), stages.name)

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """A score in (0, 1) for each example, in order, its parts in ``because``.

        The value is ``None`` where SCALE has none, for its reason: nothing is claimed, say.
        """
        return self.of(self.scale.score(examples))

    @property
    def computed_from(self) -> str:
        """The signature of the metric whose scores :meth:`of` takes."""
        return self.scale.signature

    def of(self, judged: Sequence[Score]) -> list[Score]:
        """The scores of responses that SCALE has scored, so that it need not do so again."""
        return [self._total(one) for one in judged]

    def _total(self, judged: Score) -> Score:
        if judged.value is None:
            return judged
        parts = self.head.parts(evidence(judged))
        return Score(judged.example, self.head.probability(parts), parts)


def evidence(judged: Score) -> dict[str, float]:
    """The numbers that the head weighs, by name.

    Args:
        judged: a response's score by SCALE, that has a value.

    Returns:
        ``sentences``: mean logit of the sentences' support; ``weakest``: the least of them;
        ``words``, ``numbers``, ``phrases``: :class:`q2_metric.text.overlap.Overlap`.
    """
    sentences = [_logit(one.support) for one in judged.because if isinstance(one, Judgement)]
    shared = overlap(judged.example.response, judged.example.knowledge)
    return {
        "sentences": math.fsum(sentences) / len(sentences),
        "weakest": min(sentences),
        "words": UNKNOWN if shared.words is None else shared.words,
        "numbers": shared.numbers,
        "phrases": shared.phrases,
    }


def _logit(probability: float) -> float:
    cut = min(max(probability, MOST_SURE), 1 - MOST_SURE)
    return math.log(cut / (1 - cut))
