"""Says how a response counts in the means of one metric. All commands and integrations use this
rule."""

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
"""How a response that claims nothing counts in a mean: as 0, or not at all."""

NO_CLAIM: NoClaim = "zero"
"""The default everywhere. With "zero", all systems are averaged over the same rows, and a
system that says nothing does not win. With "exclude", a mean covers the responses that claim
something."""

NOT_TRIED: frozenset[Reason] = frozenset({"no_knowledge", "fault"})
"""Reasons that do not come from the response. Such a response counts in no mean and no share."""

CLAIMLESS: frozenset[Reason] = frozenset({"no_claim", "empty"})
"""Reasons that mean that the response claims nothing."""

SHARES = ("coverage", "fallback", "no_claim")
"""Shares of responses: with a valid question, scored by end-to-end NLI instead, without a claim.
Responses without knowledge, and responses on which a metric failed, are left out."""


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


def counted(value: float | None, reason: Reason | None, no_claim: NoClaim) -> float | None:
    """The value with which a response counts in a mean; ``None`` if it does not count.

    Args:
        value: the response's value.
        reason: the reason why the response has no score, if it has none.
        no_claim: how responses that claim nothing count. Blank responses claim nothing.
    """
    if reason in CLAIMLESS:
        return 0.0 if no_claim == "zero" else None
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The parts of a response's score by one metric that the means need.

    Attributes:
        metric: entry of the metric.
        values: values by column, before ``no_claim`` is applied.
        reason: why there is no value; ``None`` if there is one.
        fallback: whether the value is end-to-end NLI.
        questions: number of Q²'s questions.
        unanswered: number of questions that the knowledge does not answer.
    """

    metric: Entry
    values: Mapping[str, float | None]
    reason: Reason | None = None
    fallback: bool = False
    questions: int = 0
    unanswered: int = 0

    @classmethod
    def of(cls, score: Score, name: str) -> Outcome:
        """The outcome of a score by the metric ``name``."""
        metric = entry(name)
        how = [item.how for item in score.evidence if isinstance(item, Comparison)]
        return cls(metric, {column.name: column.of(score) for column in metric.columns},
                   score.reason, score.fallback, len(how), how.count("no_answer"))

    def numbers(self, no_claim: NoClaim) -> dict[str, float | None]:
        """The value that the response adds to each mean of the metric; ``None`` if it adds none.

        The keys are the metric's columns, and its shares with the values 1 or 0. A metric that asks
        questions has the shares ``coverage`` and ``fallback``; a metric that judges claims has
        ``no_claim``.
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
    """The outcome of each of a response's scores."""
    return [Outcome.of(score, name) for name, score in scores.items()]


def of_row(row: Mapping[str, Any]) -> list[Outcome]:
    """The outcomes of a row of ``q2 score --out``, for each metric that has columns in the row."""
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
    """The values that a response adds to the means of all its metrics (:meth:`Outcome.numbers`).

    If several metrics have the same share, the first metric that scored the response gives its
    value.
    """
    first: dict[str, float | None] = {}
    for outcome in outcomes:
        for name, value in outcome.numbers(no_claim).items():
            if first.get(name) is None:
                first[name] = value
    return first


def numbers(score: Score, name: str, no_claim: NoClaim) -> dict[str, float | None]:
    """The values that a score by the metric ``name`` adds to means (:meth:`Outcome.numbers`)."""
    return Outcome.of(score, name).numbers(no_claim)


def row_numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> dict[str, float | None]:
    """The value that a response adds to each mean, from the scores of all its metrics
    (:func:`merged`)."""
    return merged(of_scores(scores), no_claim)


def share_names(names: Iterable[str]) -> list[str]:
    """The names of the shares that :func:`row_numbers` returns for these metrics."""
    nothing = Score(Example("", ""), None)
    keys = (key for name in names for key in numbers(nothing, name, NO_CLAIM))
    return [key for key in dict.fromkeys(keys) if key in SHARES]
