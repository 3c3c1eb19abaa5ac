"""Groundedness: the calibrated probability that the knowledge supports the response.

A logistic regression computes it from SCALE's judgements of the claims and the numbers that the
knowledge lacks. ``tools/training/groundedness.py`` fits the coefficients; the model card lists
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from q2_metric.english.claims.checkable import is_short
from q2_metric.english.values.compare import in_notation_of
from q2_metric.errors import InputError, ModelError
from q2_metric.files import read_json
from q2_metric.metrics.calibration import logistic
from q2_metric.metrics.claims import check_examples, reads, unclaimed
from q2_metric.metrics.judgements import distinct
from q2_metric.metrics.rules import bounded
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import Reading, check_stages, settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.runtime_config import RUNTIME_FIELDS, check_fields
from q2_metric.text.given import kind
from q2_metric.text.overlap import known_numbers, word_tokens
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Claim, Example, Judgement, Part, Ruling, Score

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
        """Reads the regression ``which`` ("consistent" or "attributable") from a JSON file;
        ``ModelError`` if it is not there."""
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
    """Settings of groundedness.

    Attributes:
        support: when a response counts as supported: if no claim is contradicted or invented
            ("consistent"), or only if the knowledge states every statement ("attributable").
    """

    support: Reading = "consistent"

    def __post_init__(self) -> None:
        check_fields(self)


class Groundedness:
    """The probability that the knowledge supports the response, with its parts and claims."""

    name = "groundedness"

    def __init__(self, scale: Scale, head: Head, preset: str = "custom") -> None:
        check_stages(("scale", scale, "score"), ("head", head, "probability"))
        self.scale, self.head = scale, head
        self.scores_all, self.reads_question = scale.scores_all, scale.reads_question
        self.signature = signature(self.name, {
            "preset": preset,
            "head": head.name,
            **scale.signed(),
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
        metric = cls(Scale.from_preset(preset, support=chosen.support, **config),
                     Head.load(intact(stages.head.name), chosen.support), stages.name)
        reads(metric, runtime)
        return metric

    def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
        """Scores in (0, 1), with the parts and the claims as evidence. ``evidence=True`` adds the
        sentence that decided each claim. Without a value by SCALE, the value is ``None`` with
        SCALE's reason; with ``support="attributable"``, a response that claims nothing scores 0."""
        return self.of(self.scale.score(examples, evidence=evidence))

    def stream(self, knowledge: str | Example) -> Stream:
        """Judges a response that arrives in pieces against this knowledge. An example also gives
        its question, history and passages; its response is ignored."""
        return Stream(self, knowledge)

    @property
    def computed_from(self) -> str:
        """The signature of the metric whose scores :meth:`of` needs."""
        return self.scale.signature

    def of(self, judged: Sequence[Score]) -> list[Score]:
        """From existing scores of the same responses by SCALE."""
        return list(map(self._total, judged))

    def _total(self, judged: Score) -> Score:
        claims = [item for item in judged.evidence if isinstance(item, Judgement)]
        # A short answer such as "In 1903." makes a statement with its question.
        if judged.value is None or (self.scores_all and unclaimed(judged.example)
                                    and not any(one.claim.kind == "answer" for one in claims)):
            return judged
        parts = self.head.parts(evidence(judged))
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


def evidence(judged: Score) -> dict[str, float]:
    """The regression's input numbers for one response, by name. ``judged`` must have a value.
    ``weakest_third`` (rounded up) is the mean support of the weakest third of the claims, and
    ``weakest`` the support of the weakest one. ``numbers`` is the mean share of a claim's numbers
    that the knowledge has (1 without numbers)."""
    claims = distinct(item for item in judged.evidence if isinstance(item, Judgement))
    supports = sorted(item.support for item in claims)
    third = supports[: -(-len(supports) // 3)]
    known = judged.example.knowledge
    vocabulary = set(word_tokens(known))
    shares = [known_numbers(in_notation_of(known, item.claim.text), vocabulary) for item in claims]
    return {
        "weakest_third": math.fsum(third) / len(third),
        "weakest": third[0],
        "numbers": sum(shares) / len(shares),
    }


def _logit(probability: float) -> float:
    cut = min(max(probability, MOST_SURE), 1 - MOST_SURE)
    return math.log(cut / (1 - cut))


# --- a response that is still being written ---------------------------------------------------


class Stream:
    """A response that arrives in pieces. A claim is judged when its sentence is complete: when the
    first word of the next sentence is, because this word can tell that the sentence goes on.

    :attr:`score` is the score of the whole response, after :meth:`end`. It counts the claims that
    the whole response has. These are the claims that were judged before, unless a later part
    changes how an earlier part is read, such as the end of a table.

    Raises InputError if the knowledge is no text.
    """

    score: Score | None = None

    def __init__(self, metric: Groundedness, knowledge: str | Example) -> None:
        example = knowledge if isinstance(knowledge, Example) else Example("", knowledge)
        check_examples([example])
        self.example = replace(example, response="")
        self._metric, self._scale = metric, copy(metric.scale)
        self._scale.units = self._new  # type: ignore[method-assign]
        self._text, self._seen, self._complete = "", 0, 0
        self._claims: list[Claim] = []
        self._judged: dict[Claim, Judgement] = {}

    def add(self, text: str | None) -> list[Judgement]:
        """The judgements of the claims that this piece completes, each with the sentence that
        decided it. Offsets are in the whole response so far. The last piece of some servers is
        ``None``. InputError: :meth:`end` was called."""
        if self.score is not None:
            raise InputError("the stream has ended; start another")
        if not isinstance(text, str | None):
            raise InputError(f"a piece of the response is {kind(text)}, not a text")
        self._text += text or ""
        complete = self._end_of_sentences()
        # A response such as "Yes." is read with its question only if nothing follows.
        if complete <= self._complete or (self.example.question and is_short(self._text)):
            return []
        self._complete = complete
        return self._judge(replace(self.example, response=self._text[:complete], question=None))[1]

    def end(self) -> list[Judgement]:
        """The judgements of the remaining claims."""
        self._complete = len(self._text)
        score, new = self._judge(replace(self.example, response=self._text))
        if self._claims:
            judged = [self._judged[one] for one in self._claims]
            if any(one.citation for one in judged):  # perhaps only later claims cite something
                judged = [replace(one, citation=one.citation or "none") for one in judged]
            score = self._scale.total(score.example, judged)
        [self.score] = self._metric.of([score])
        return new

    def _end_of_sentences(self) -> int:
        """Where the last sentence begins of which a word is complete, if a blank was added."""
        words = max(self._text.rfind(blank) for blank in " \n\t") + 1
        if words <= self._seen:
            return 0
        self._seen = words
        found = [(start, end) for start, end in split_sentences(self._text[:words])
                 if any(map(str.isalnum, self._text[start:end]))]
        # What ends with a colon may introduce a list or a table.
        while len(found) > 1 and self._text[slice(*found[-2])].endswith(":"):
            found.pop()
        return found[-1][0] if found else 0

    def _judge(self, example: Example) -> tuple[Score, list[Judgement]]:
        self._claims = []
        [score] = self._scale.score([example], evidence=True)
        new = [one for one in score.evidence
               if isinstance(one, Judgement) and one.claim in self._claims]
        self._judged |= {one.claim: one for one in new}
        return score, new

    def _new(self, examples: Sequence[Example]) -> list[list[Claim]]:
        """The claims of the one example that were not judged before."""
        [self._claims] = self._metric.scale.units(examples)
        return [[one for one in self._claims if one not in self._judged]]
