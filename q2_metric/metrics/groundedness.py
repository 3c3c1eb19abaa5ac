"""Groundedness: the calibrated probability that the knowledge supports the response.

A logistic regression computes it from SCALE's judgements of the claims, the numbers that the
knowledge lacks and, with ``asked="count"``, Q²'s questions. ``tools/training/groundedness.py`` fits
the coefficients; the model card lists them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from q2_metric.checks import check_fields
from q2_metric.english.values import in_notation_of
from q2_metric.errors import InputError, ModelError
from q2_metric.files import read_json
from q2_metric.metrics.calibration import logistic
from q2_metric.metrics.claims import reads, unclaimed
from q2_metric.metrics.judgements import distinct
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.rules import bounded
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import Reading, check_stages, settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.runtime_config import RUNTIME_FIELDS
from q2_metric.text.overlap import known_numbers, word_tokens
from q2_metric.types import Comparison, Example, Judgement, Part, Ruling, Score

if TYPE_CHECKING:
    from q2_metric.metrics.streaming import Stream

PRIOR = 0.55
"""About the mean score of Q²'s questions. It counts like one more question of each response."""

MOST_SURE = 1e-3
"""Probabilities are clipped to [MOST_SURE, 1 - MOST_SURE] before their logits are computed."""


@dataclass(frozen=True, slots=True)
class Head:
    """P(supported) = 1 / (1 + exp(-(intercept + Σ weight · (value - mean) / deviation))).

    ``features`` has (mean, standard deviation, weight) by the name of the input number.
    """

    name: str
    intercept: float
    features: Mapping[str, tuple[float, float, float]]

    @classmethod
    def load(cls, path: str | Path, which: str) -> Head:
        """Reads the regression ``which`` ("consistent", "attributable+questions", …) from a JSON
        file; ``ModelError`` if it is not there."""
        try:
            head = read_json(path, ModelError)["heads"][which]
            features = {name: (float(item["mean"]), float(item["deviation"]), float(item["weight"]))
                        for name, item in head["features"].items()}
            return cls(str(head["name"]), float(head["intercept"]), features)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: has no groundedness head {which!r} ({error})") from error

    def parts(self, values: Mapping[str, float]) -> tuple[Part, ...]:
        """Each input number with its contribution to the logit, the largest absolute one first."""
        parts = [Part(name, values[name], weight * (values[name] - mean) / deviation)
                 for name, (mean, deviation, weight) in self.features.items()]
        return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))

    def logit(self, parts: Sequence[Part]) -> float:
        return self.intercept + math.fsum(part.contribution for part in parts)

    def probability(self, parts: Sequence[Part]) -> float:
        return logistic(self.logit(parts))


@dataclass(frozen=True, slots=True)
class GroundednessSettings:
    """Settings of groundedness: what the probability means and what it is computed from.

    Attributes:
        support: when a response counts as supported: if no claim is contradicted or invented
            ("consistent"), or only if the knowledge states every statement ("attributable").
        asked: "count" Q²'s questions, or "skip" them, which needs a quarter of the time.
    """

    support: Reading = "consistent"
    asked: Literal["skip", "count"] = "skip"

    def __post_init__(self) -> None:
        check_fields(self)


class Groundedness:
    """The probability that the knowledge supports the response, with its parts and claims. ``head``
    must be fitted with Q²'s questions if ``q2`` is given."""

    name = "groundedness"

    def __init__(
        self, scale: Scale, head: Head, preset: str = "custom", q2: Q2 | None = None
    ) -> None:
        check_stages(("scale", scale, "score"), ("head", head, "probability"))
        self.scale, self.head, self.q2 = scale, head, q2
        self.scores_all, self.reads_question = scale.scores_all, scale.reads_question
        self.signature = signature(self.name, {
            "preset": preset,
            "head": head.name,
            **scale.signed(),
            **({"asked": f"{q2.reader.name},{q2.entailment.name}"} if q2 else {}),
        })

    @classmethod
    def from_preset(cls, preset: str = "bundled", **keywords: Any) -> Groundedness:
        """Creates the metric with a preset's models. ``keywords`` are fields of
        :class:`GroundednessSettings` and of :class:`~q2_metric.runtime_config.RuntimeConfig`.

        Raises:
            InputError: groundedness was not fitted for the preset, or a keyword is unknown.
            ModelError: the models cannot be loaded.
        """
        from q2_metric.models import presets
        from q2_metric.models.bundled.stored import intact

        stages = presets.preset(preset)
        if stages.head is None:
            able = ", ".join(name for name, item in presets.PRESETS.items() if item.head)
            raise InputError(f"groundedness was not fitted for the preset {stages.name!r}, "
                             f"only for {able}")
        chosen, runtime = settings_and_runtime(GroundednessSettings, keywords, {})
        config = {key: value for key, value in keywords.items() if key in RUNTIME_FIELDS}
        counts = chosen.asked == "count"
        head = Head.load(intact(stages.head.name), chosen.support + "+questions" * counts)
        metric = cls(Scale.from_preset(preset, support=chosen.support, **config), head,
                     stages.name, Q2.from_preset(preset, **config) if counts else None)
        reads(metric, runtime)
        return metric

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        """Scores in (0, 1), with the parts and the claims as evidence. ``evidence=True`` adds the
        sentence that decided each claim. Without a value by SCALE, the value is ``None`` with
        SCALE's reason; with ``support="attributable"``, a response that claims nothing scores 0."""
        asked = [self.q2.score(examples)] if self.q2 else []
        return self.of(self.scale.score(examples, evidence=evidence), *asked)

    def stream(self, knowledge: str | Example) -> Stream:
        """Judges a response that arrives in pieces against this knowledge. An example also gives
        its question, history and passages; its response is ignored."""
        from q2_metric.metrics.streaming import Stream

        return Stream(self, knowledge)

    @property
    def computed_from(self) -> tuple[str, ...]:
        """The signatures of the metrics whose scores :meth:`of` needs."""
        return (self.scale.signature, *([self.q2.signature] if self.q2 else []))

    def of(self, judged: Sequence[Score], asked: Sequence[Score] | None = None) -> list[Score]:
        """From existing scores of the same responses by SCALE and by Q² (``None``: not counted)."""
        questions: Sequence[Score | None] = [None] * len(judged) if asked is None else asked
        return [self._total(claims, answers)
                for claims, answers in zip(judged, questions, strict=True)]

    def _total(self, judged: Score, asked: Score | None) -> Score:
        if judged.value is None or (self.scores_all and unclaimed(judged.example)
                                    and _stated(judged) is None):
            return judged
        claims = [item for item in judged.evidence if isinstance(item, Judgement)]
        parts = self.head.parts(evidence(judged, asked))
        parts += _by_rule(self.head.logit(parts), claims)
        return Score(judged.example, self.head.probability(parts), (*parts, *claims))


def _by_rule(logit: float, claims: Sequence[Judgement]) -> tuple[Part, ...]:
    """The change of the logit by rules on values, as one part; empty without a change. A
    response is contradicted if one claim is, even if all words occur, and supported if all claims
    are, even if few words occur: "at 11:10 pm" shares no word with "at 23:10"."""
    rulings = {claim.ruling for claim in claims}
    ruling: Ruling | None = (
        "contradicted" if "contradicted" in rulings
        else "supported" if rulings == {"supported"} else None)
    value = logistic(logit)
    bound = bounded(value, ruling)
    return () if bound == value else (Part("rules", bound, _logit(bound) - logit),)


def evidence(judged: Score, asked: Score | None = None) -> dict[str, float]:
    """The regression's input numbers for one response, by name. ``judged`` must have a value.
    ``claims`` and ``weakest`` are the mean and the smallest logit of the claims' support,
    ``numbers`` the mean share of a claim's numbers that the knowledge has (1 without numbers), and
    ``questions`` the mean of the questions' expected scores and of :data:`PRIOR`."""
    claims = distinct(item for item in judged.evidence if isinstance(item, Judgement))
    logits = [_logit(item.support) for item in claims]
    known = judged.example.knowledge
    vocabulary = set(word_tokens(known))
    shares = [known_numbers(in_notation_of(known, item.claim.text), vocabulary) for item in claims]
    numbers = {
        "claims": math.fsum(logits) / len(logits),
        "weakest": min(logits),
        "numbers": sum(shares) / len(shares),
    }
    if asked is not None:
        scores = [_expected(item) for item in asked.evidence if isinstance(item, Comparison)]
        numbers["questions"] = (math.fsum(scores) + PRIOR) / (len(scores) + 1)
    return numbers


def _stated(judged: Score) -> str | None:
    """The statement made from a short answer such as "In 1903." and its question, if it is one."""
    return next((item.claim.text for item in judged.evidence
                 if isinstance(item, Judgement) and item.claim.kind == "answer"), None)


def _expected(asked: Comparison) -> float:
    """The scores of the NLI classes, weighted by their probabilities, if NLI was needed."""
    if (asked.how not in ("nli", "token_f1") or asked.verdict is None
            or asked.knowledge_answer is None):
        return asked.score
    return asked.verdict.entailment + asked.verdict.neutral * asked.f1


def _logit(probability: float) -> float:
    cut = min(max(probability, MOST_SURE), 1 - MOST_SURE)
    return math.log(cut / (1 - cut))
