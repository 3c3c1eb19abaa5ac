"""The mean scores of a system and their signatures, which only this module computes::

    aggregate = Aggregate(["q2", "scale"], no_claim="zero")
    aggregate.update(scores)           # scores of some rows, by metric; again for further rows
    aggregate.compute()                # {"q2": 0.8, "scale": 0.7, "no_claim": 0.1, …}
    sign(metric.signature, "zero")     # the signature of the mean
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from q2_metric.metrics.bootstrap import bootstrap_interval
from q2_metric.metrics.registry import columns, of_column
from q2_metric.scoring.outcome import SHARES, NoClaim, Outcome, check_no_claim, merged, share_names
from q2_metric.types import Metric, Score, SystemScore


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean as a sum and a number of values, so that the means of two parts can be added."""

    total: float = 0.0
    n: int = 0

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self:
        """The mean of the finite values, in any order. ``None``, NaN and infinities are left out.

        >>> Mean.of([1.0, None, 0.5, float("nan")]).value
        0.75
        """
        there = [value for value in values if value is not None and math.isfinite(value)]
        return cls(math.fsum(there), len(there))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total, self.n + other.n)

    @property
    def value(self) -> float | None:
        return self.total / self.n if self.n else None

    @property
    def number(self) -> float:
        """The mean, or NaN if there are no values: some frameworks accept only numbers."""
        return self.total / self.n if self.n else math.nan


class Aggregate:
    """Collects the scores of a system's responses and computes their means.

    It needs 8 bytes for each response and mean. The columns of ``metrics`` exist without rows.
    InputError: ``no_claim`` is neither "zero" nor "exclude"."""

    def __init__(self, metrics: Iterable[str] = (), no_claim: NoClaim | None = None) -> None:
        names = list(metrics)
        self.no_claim = check_no_claim(no_claim)
        self._values = {name: array("d") for name in (*columns(names), *share_names(names))}
        self._questions = self._unanswered = 0

    def update(self, rows: Iterable[Mapping[str, Score]]) -> None:
        """Adds rows. A row is given as its scores, by the metric's name."""
        for row in rows:
            self.add([Outcome.of(score, name) for name, score in row.items()])

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Adds one row, given as its outcomes by all metrics."""
        for name, value in merged(outcomes, self.no_claim).items():
            values = self._values.setdefault(name, array("d"))
            if value is not None:
                values.append(value)
        for outcome in outcomes:
            self._questions += len(outcome.answers)
            self._unanswered += outcome.answers.count("no_answer")

    def mean(self, name: str) -> Mean:
        """The mean of a score column ("q2"), or a share of responses ("no_claim")."""
        return Mean.of(self._values[name])

    def compute(self) -> dict[str, float | None]:
        """The mean of each score column and each share of responses, in [0, 1], by name.

        ``None``: no response has a value. Metrics that ask questions also have "no_answer_rate".
        :class:`~q2_metric.types.SystemScore` describes these values."""
        values = {name: self.mean(name).value for name in self._values}
        if "coverage" in values:
            values["no_answer_rate"] = Mean(self._unanswered, self._questions).value
        return values

    def systems(self, signatures: Mapping[str, str]) -> dict[str, SystemScore]:
        """The system's score in each column, with shares of responses and confidence interval.
        ``signatures`` are by column; a missing one is ""."""
        return {name: self._system(name, signatures.get(name, ""))
                for name in self._values if name not in SHARES}

    def _system(self, name: str, signed: str) -> SystemScore:
        metric, _ = of_column(name)
        asks, mean, nothing = metric.details == "questions", self.mean(name), Mean()
        coverage = self.mean("coverage") if asks else nothing
        fallback = self.mean("fallback") if asks else nothing
        no_claim = nothing if metric.any_text else self.mean("no_claim")
        return SystemScore(
            name=name, value=mean.value, n=mean.n, n_fallback=round(fallback.total),
            interval=bootstrap_interval(self._values[name]),
            signature=sign(signed, self.no_claim), coverage=coverage.value,
            no_answer_rate=Mean(self._unanswered, self._questions).value if asks else None,
            n_questions=self._questions if asks else None, fallback=fallback.value,
            no_claim=no_claim.value)


def system_score(
    column: str, scores: Sequence[Score], signature: str, *, no_claim: NoClaim | None = None
) -> SystemScore:
    """The mean of the responses' scores, with shares of responses and confidence interval.

    ``column`` is a metric's, such as "q2_no_nli", and ``signature`` is the metric's; the result's
    also says how the mean was computed (:func:`sign`).
    InputError: ``no_claim`` is neither "zero" nor "exclude"."""
    metric, _ = of_column(column)
    aggregate = Aggregate([metric.name], no_claim)
    aggregate.update({metric.name: score} for score in scores)
    return aggregate.systems({column: signature})[column]


# --- signatures -------------------------------------------------------------------------


def sign(signature: str, no_claim: NoClaim) -> str:
    """Turns the signature of a metric into that of its mean score; "" stays "". It adds
    ``no_claim``, which is checked.

    >>> sign("q2|version:1", "zero")
    'q2|version:1|no_claim:zero'
    """
    return f"{signature}|no_claim:{check_no_claim(no_claim)}" if signature else ""


def signatures(metrics: Iterable[Metric], no_claim: NoClaim) -> dict[str, str]:
    """For each metric, by name, the signature of its mean score."""
    return {metric.name: sign(metric.signature, no_claim) for metric in metrics}


def signature_lines(metrics: Iterable[Metric], no_claim: NoClaim) -> str:
    """One text with a line for each metric: the signature of its mean score."""
    return "\n".join(signatures(metrics, no_claim).values())
