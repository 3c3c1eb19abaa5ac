"""How each response counts in means. One without a score has a reason, and counts as follows:

    claims nothing            ``no_claim``       0, or left out with ``no_claim="exclude"``
    is blank                  ``empty``          as above; counts in the share ``no_claim``
    has blank knowledge       ``no_knowledge``   left out
    is not English            ``language``       as above, and said
    has other knowledge       ``knowledge_language``  left out, and said
    a metric fails on it      ``fault``          left out, and reported
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry, entry
from q2_metric.rows.fields import ERROR, FALLBACK, QUESTIONS, REASON
from q2_metric.types import Comparison, Example, How, Reason, Score

NoClaim = Literal["zero", "exclude"]
"""Responses without a claim are averaged as 0 ("zero"), or not at all ("exclude")."""

NO_CLAIM: NoClaim = "zero"
"""With "zero", all means cover the same rows, and no system can win by claiming nothing."""

NOT_TRIED: frozenset[Reason] = frozenset({"no_knowledge", "knowledge_language", "fault"})
"""Reasons whose cause is not the response: it counts in no mean and no share."""

CLAIMLESS: frozenset[Reason] = frozenset({"no_claim", "empty", "language"})
"""Reasons whose cause is the response: it claims nothing that the metric can read. So no system can
win by answering in another language."""


SHARES = ("coverage", "fallback", "no_claim")
"""The shares of responses with a valid question, judged by end-to-end NLI instead, and without a
claim. Responses without knowledge, and those on which a metric failed, are left out."""


def check_no_claim(value: object) -> NoClaim:
    """Checks that a setting is "zero", "exclude" or ``None``, which gives the default. InputError:
    it is another value."""
    if value is None:
        return NO_CLAIM
    if value not in get_args(NoClaim):
        raise InputError(f"no_claim must be {' or '.join(get_args(NoClaim))}, not {value!r}")
    return value  # type: ignore[return-value]


def check_threshold(value: object) -> float:
    """Checks a threshold on scores. InputError: the value is not a number in [0, 1]."""
    if type(value) is bool or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InputError(f"threshold must be a number in [0, 1], not {value!r}")
    return float(value)


def counted(value: float | None, reason: Reason | None, no_claim: NoClaim) -> float | None:
    """The number that is averaged for one response. ``None`` if it is left out of means."""
    if reason in CLAIMLESS:
        return 0.0 if no_claim == "zero" else None
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the means need to know about the score of one response by one metric.

    ``values`` has the score in each column, before ``no_claim`` is applied. ``fallback`` is true if
    the score is end-to-end NLI's, because Q² had no question. ``answers`` says how each answer to a
    question of Q² was compared with the knowledge's."""

    metric: Entry
    values: Mapping[str, float | None]
    reason: Reason | None = None
    fallback: bool = False
    answers: Sequence[How] = ()

    @classmethod
    def of(cls, score: Score, name: str) -> Self:
        metric = entry(name)
        return cls(metric, {column.name: column.of(score) for column in metric.columns},
                   score.reason, score.fallback,
                   [item.how for item in score.evidence if isinstance(item, Comparison)])

    def numbers(self, no_claim: NoClaim) -> dict[str, float | None]:
        """For each mean of the metric, by name, the number that is averaged for this response:
        ``{"q2": 0.5, "q2_no_nli": 0.4, "coverage": 1.0, "fallback": 0.0, "no_claim": 0.0}``.

        It is ``None`` if the response is left out of that mean, and 1 or 0 in a share. Only metrics
        that ask questions have "coverage" and "fallback"; only judges of claims have "no_claim"."""
        values = {name: counted(value, self.reason, no_claim)
                  for name, value in self.values.items()}
        shares: dict[str, bool] = {}
        if self.metric.details == "questions":
            shares["coverage"] = bool(self.answers)
            shares["fallback"] = self.fallback and any(
                value is not None for value in values.values())
        if not self.metric.any_text:
            shares["no_claim"] = self.reason in CLAIMLESS
        tried = self.reason not in NOT_TRIED
        return values | {name: float(value) if tried else None for name, value in shares.items()}


def of_row(row: Mapping[str, Any]) -> list[Outcome]:
    """The outcome of each metric with columns in a row that ``q2 score --out`` wrote."""
    outcomes = []
    for metric in METRICS.values():
        values = {column.name: row[column.name] for column in metric.columns if column.name in row}
        if not values:
            continue
        reason: Reason | None = None
        if all(value is None for value in values.values()):
            reason = "fault" if row.get(ERROR.name) is not None else row.get(REASON.name)
        asks = metric.details == "questions"
        questions = row.get(QUESTIONS.name) or () if asks else ()
        outcomes.append(Outcome(metric, values, reason, asks and bool(row.get(FALLBACK.name)),
                                [question["how"] for question in questions]))
    return outcomes


def merged(outcomes: Iterable[Outcome], no_claim: NoClaim) -> dict[str, float | None]:
    """For each mean of all metrics, by name, the number that is averaged for one response
    (:meth:`Outcome.numbers`). A share comes from the first metric that scored the response."""
    first: dict[str, float | None] = {}
    for outcome in outcomes:
        for name, value in outcome.numbers(no_claim).items():
            if first.get(name) is None:
                first[name] = value
    return first


def row_numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> dict[str, float | None]:
    """For each mean of all metrics, by name, the number that is averaged for one response
    (:func:`merged`). InputError: ``no_claim`` is neither "zero" nor "exclude"."""
    outcomes = [Outcome.of(score, name) for name, score in scores.items()]
    return merged(outcomes, check_no_claim(no_claim))


def share_names(names: Iterable[str]) -> list[str]:
    """The names of the shares of responses that are reported for these metrics."""
    nothing = Score(Example("", ""), None)
    return [key for key in row_numbers(dict.fromkeys(names, nothing), NO_CLAIM) if key in SHARES]
