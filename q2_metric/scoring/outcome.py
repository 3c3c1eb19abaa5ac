"""Determines how a response counts in the mean scores of a metric. All commands and integrations
use these rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry, entry
from q2_metric.rows.fields import ERROR, FALLBACK, QUESTIONS, REASON
from q2_metric.types import Comparison, Example, Reason, Score

NoClaim = Literal["zero", "exclude"]
"""How responses without a claim are averaged: as 0 ("zero"), or not at all ("exclude")."""

NO_CLAIM: NoClaim = "zero"
"""The default in all commands and integrations. With "zero", all systems are averaged over the same
rows, and a system cannot win by claiming nothing. With "exclude", a mean covers only the responses
that claim something."""

NOT_TRIED: frozenset[Reason] = frozenset({"no_knowledge", "fault"})
"""Reasons for a missing score whose cause is not the response: blank knowledge, or an error of the
metric. A response with such a reason counts in no mean and no share."""

CLAIMLESS: frozenset[Reason] = frozenset({"no_claim", "empty"})
"""Reasons for a missing score whose cause is that the response claims nothing."""

SHARES = ("coverage", "fallback", "no_claim")
"""The shares of responses that are reported beside means: with a valid question ("coverage"),
judged by end-to-end NLI instead ("fallback"), and without a claim ("no_claim"). Responses without
knowledge, and responses on which a metric failed, are left out."""


def check_no_claim(value: object) -> NoClaim:
    """Checks the value of a setting ``no_claim``. ``None`` gives the default.

    Raises:
        InputError: the value is neither "zero" nor "exclude".
    """
    if value is None:
        return NO_CLAIM
    if value not in get_args(NoClaim):
        raise InputError(f"no_claim must be {' or '.join(get_args(NoClaim))}, not {value!r}")
    return value  # type: ignore[return-value]


def check_threshold(value: object) -> float:
    """Checks a threshold on scores.

    Raises:
        InputError: the value is not a number in [0, 1].
    """
    if type(value) is bool or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InputError(f"threshold must be a number in [0, 1], not {value!r}")
    return float(value)


def counted(value: float | None, reason: Reason | None, no_claim: NoClaim) -> float | None:
    """The number that is averaged for one response. ``None`` if the response is left out of means.

    Args:
        value: the response's score.
        reason: why the response has no score; ``None`` if it has one.
        no_claim: how responses without a claim, including blank ones, are averaged: as 0 ("zero"),
            or not at all ("exclude").
    """
    if reason in CLAIMLESS:
        return 0.0 if no_claim == "zero" else None
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the means need to know about the score of one response by one metric.

    Attributes:
        metric: the registry's entry of the metric.
        values: the score in each column of the metric, before ``no_claim`` is applied.
        reason: why there is no score; ``None`` if there is one.
        fallback: true if the score is end-to-end NLI's, because Q² had no question.
        questions: number of Q²'s questions about the response.
        unanswered: number of those questions that the knowledge does not answer.
    """

    metric: Entry
    values: Mapping[str, float | None]
    reason: Reason | None = None
    fallback: bool = False
    questions: int = 0
    unanswered: int = 0

    @classmethod
    def of(cls, score: Score, name: str) -> Outcome:
        """Extracts the outcome from a score. ``name`` is the name of the metric."""
        metric = entry(name)
        how = [item.how for item in score.evidence if isinstance(item, Comparison)]
        return cls(metric, {column.name: column.of(score) for column in metric.columns},
                   score.reason, score.fallback, len(how), how.count("no_answer"))

    def numbers(self, no_claim: NoClaim) -> dict[str, float | None]:
        """For each mean of the metric, by name, the number that is averaged for this response:
        ``{"q2": 0.5, "q2_no_nli": 0.4, "coverage": 1.0, "fallback": 0.0, "no_claim": 0.0}``.

        The number is ``None`` if the response is left out of that mean. For a share of responses
        with a property, such as "no_claim", the number is 1 or 0. Metrics that ask questions have
        "coverage" (a valid question was found) and "fallback" (none was found, and the response was
        judged as a whole). Metrics that judge claims have "no_claim" (the response claims nothing).
        """
        values = {name: counted(value, self.reason, no_claim)
                  for name, value in self.values.items()}
        shares: dict[str, bool] = {}
        if self.metric.details == "questions":
            shares["coverage"] = self.questions > 0
            shares["fallback"] = self.fallback and any(
                value is not None for value in values.values())
        if not self.metric.any_text:
            shares["no_claim"] = self.reason in CLAIMLESS
        tried = self.reason not in NOT_TRIED
        return values | {name: float(value) if tried else None for name, value in shares.items()}


def of_scores(scores: Mapping[str, Score]) -> list[Outcome]:
    """The outcomes of one response, from its scores by the metric's name."""
    return [Outcome.of(score, name) for name, score in scores.items()]


def of_row(row: Mapping[str, Any]) -> list[Outcome]:
    """The outcomes of one response, from a row that ``q2 score --out`` wrote. There is an outcome
    for each metric that has columns in the row."""
    outcomes = []
    for metric in METRICS.values():
        values = {column.name: row[column.name] for column in metric.columns
                  if column.name in row}
        if not values:
            continue
        reason: Reason | None = None
        if all(value is None for value in values.values()):
            reason = "fault" if row.get(ERROR.name) is not None else row.get(REASON.name)
        asks = metric.details == "questions"
        how = [question["how"] for question in row.get(QUESTIONS.name) or ()] if asks else []
        outcomes.append(Outcome(
            metric, values, reason, asks and bool(row.get(FALLBACK.name)),
            len(how), how.count("no_answer")))
    return outcomes


def merged(outcomes: Iterable[Outcome], no_claim: NoClaim) -> dict[str, float | None]:
    """For each mean of all metrics, by name, the number that is averaged for one response.

    ``outcomes`` has one outcome of this response for each metric (:meth:`Outcome.numbers`). If
    several metrics have the same share, the number comes from the first metric that scored the
    response.
    """
    first: dict[str, float | None] = {}
    for outcome in outcomes:
        for name, value in outcome.numbers(no_claim).items():
            if first.get(name) is None:
                first[name] = value
    return first


def numbers(score: Score, name: str, no_claim: NoClaim) -> dict[str, float | None]:
    """For each mean of a metric, by name, the number that is averaged for one response: its score,
    or 1 or 0 in a share of responses. ``None`` if the response is left out of that mean.

    Args:
        score: the score of the response by this metric.
        name: the name of the metric.
        no_claim: how responses without a claim are averaged: as 0 ("zero"), or not at all
            ("exclude").

    Raises:
        InputError: ``no_claim`` has another value.
    """
    return Outcome.of(score, name).numbers(check_no_claim(no_claim))


def row_numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> dict[str, float | None]:
    """For each mean of all metrics, by name, the number that is averaged for one response
    (:func:`merged`). ``scores`` has the response's score by each metric.

    Raises:
        InputError: ``no_claim`` is neither "zero" nor "exclude".
    """
    return merged(of_scores(scores), check_no_claim(no_claim))


def share_names(names: Iterable[str]) -> list[str]:
    """The names of the shares of responses (such as "no_claim") that are reported for these
    metrics."""
    nothing = Score(Example("", ""), None)
    keys = (key for name in names for key in numbers(nothing, name, NO_CLAIM))
    return [key for key in dict.fromkeys(keys) if key in SHARES]
