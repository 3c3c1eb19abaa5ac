"""Computes the mean scores of a system from the scores of its responses, and their signatures.

Only this module computes means and their signatures::

    aggregate = Aggregate(["q2", "scale"], no_claim="zero")
    aggregate.update(scores)           # scores of some rows, by metric; again for further rows
    aggregate.compute()                # {"q2": 0.8, "scale": 0.7, "no_claim": 0.1, …}
    sign(metric.signature, "zero")     # the signature of the mean
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED, bootstrap_interval
from q2_metric.metrics.registry import columns, of_column
from q2_metric.scoring.outcome import (
    NO_CLAIM,
    SHARES,
    NoClaim,
    Outcome,
    check_no_claim,
    merged,
    of_scores,
    share_names,
)
from q2_metric.types import Metric, Score, SystemScore


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, stored as the sum and the number of values. So the means of two parts of a data set
    can be added to the mean of the whole."""

    total: float = 0.0
    n: int = 0

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Mean:
        """The mean of the finite values. ``None``, NaN and infinities are left out.

        The order of the values does not matter.

        >>> Mean.of([1.0, None, 0.5, float("nan")]).value
        0.75
        """
        there = [value for value in values if value is not None and math.isfinite(value)]
        return cls(math.fsum(there), len(there))

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.n + other.n)

    @property
    def value(self) -> float | None:
        """The mean, or ``None`` if there are no values."""
        return self.total / self.n if self.n else None

    @property
    def number(self) -> float:
        """The mean, or NaN if there are no values. Some frameworks accept only numbers."""
        return self.total / self.n if self.n else math.nan


class Aggregate:
    """Collects the scores of a system's responses and computes their means.

    Call ``update`` for each part of the rows, and ``compute`` at the end. An aggregate needs 8
    bytes of memory for each response and column.

    Args:
        metrics: names of the metrics. Their columns exist even if no row was added.
        no_claim: how responses without a claim are averaged: as 0 ("zero"), or not at all
            ("exclude").

    Raises:
        InputError: ``no_claim`` has another value.
    """

    def __init__(self, metrics: Iterable[str] = (), no_claim: NoClaim = NO_CLAIM) -> None:
        names = list(metrics)
        self.no_claim = check_no_claim(no_claim)
        self._values: dict[str, array[float]] = {name: array("d") for name in columns(names)}
        self._shares = {name: Mean() for name in share_names(names)}
        self._questions = self._unanswered = 0

    def update(self, rows: Iterable[Mapping[str, Score]]) -> None:
        """Adds rows. A row is given as its scores, by the metric's name."""
        for row in rows:
            self.add(of_scores(row))

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Adds one row, given as its scores (or the reasons why there is none) by all metrics."""
        for name, value in merged(outcomes, self.no_claim).items():
            if name in SHARES:
                share = self._shares.setdefault(name, Mean())
                if value is not None:
                    self._shares[name] = share + Mean(value, 1)
            else:
                values = self._values.setdefault(name, array("d"))
                if value is not None:
                    values.append(value)
        for outcome in outcomes:
            self._questions += outcome.questions
            self._unanswered += outcome.unanswered

    def mean(self, name: str) -> Mean:
        """The mean, over the responses that count, of the number with this name.

        ``name`` is either a score column of a metric ("q2"), or a property that each response has
        or lacks ("no_claim": the response claims nothing). For a property, each response counts as
        1 or 0, and the mean is the share of responses that have the property.
        """
        return self._shares[name] if name in SHARES else Mean.of(self._values[name])

    def compute(self) -> dict[str, float | None]:
        """Computes the mean of each score column and each share of responses, by name.

        Each mean is in [0, 1], or ``None`` if no response has a value. The names are those of the
        metrics' columns ("q2") and of shares of responses ("no_claim", "coverage"). If a metric
        asks questions, there is also "no_answer_rate".
        :class:`~q2_metric.types.SystemScore` describes these values.
        """
        values = {name: self.mean(name).value for name in (*self._values, *self._shares)}
        if "coverage" in self._shares:
            values["no_answer_rate"] = Mean(self._unanswered, self._questions).value
        return values

    def systems(
        self, signatures: Mapping[str, str], *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
    ) -> dict[str, SystemScore]:
        """The system's score in each column, with shares of responses and confidence interval.

        Args:
            signatures: by column, the line that records the metric's models and settings. A column
                that is missing gets "".
            n_bootstrap: number of resamples for the interval; 0 for no interval.
            seed: seed of the resampling.
        """
        return {
            name: self._system(name, signatures.get(name, ""), n_bootstrap, seed)
            for name in self._values
        }

    def _system(self, name: str, signed: str, n_bootstrap: int, seed: int) -> SystemScore:
        values, (metric, _) = self._values[name], of_column(name)
        asks = metric.details == "questions"
        mean, nothing = Mean.of(values), Mean()
        fallback = self._shares.get("fallback", nothing) if asks else nothing
        coverage = self._shares.get("coverage", nothing) if asks else nothing
        claimless = nothing if metric.any_text else self._shares.get("no_claim", nothing)
        interval = bootstrap_interval(values, n_bootstrap=n_bootstrap, seed=seed)
        drawn = {} if interval is None else {"bootstrap": n_bootstrap, "bootstrap_seed": seed}
        return SystemScore(
            name=name, value=mean.value, n=mean.n, n_fallback=round(fallback.total),
            interval=interval, signature=sign(signed, self.no_claim, **drawn),
            coverage=coverage.value,
            no_answer_rate=Mean(self._unanswered, self._questions).value if asks else None,
            n_questions=self._questions if asks else None,
            fallback=fallback.value, no_claim=claimless.value,
        )


def system_score(
    column: str,
    scores: Sequence[Score],
    signature: str,
    *,
    no_claim: NoClaim = NO_CLAIM,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = SEED,
) -> SystemScore:
    """The mean of the responses' scores, with shares of responses and confidence interval.

    ``n`` is the number of responses that count in the mean. ``coverage``, ``fallback`` and
    ``no_claim`` are shares of all responses. ``coverage``, ``fallback`` and ``no_answer_rate`` are
    ``None`` for metrics that ask no questions. ``no_answer_rate`` is also ``None`` if no question
    was asked. ``value`` and ``interval`` are ``None`` if no response has a value.

    Args:
        column: column of a metric, such as "q2" or "q2_no_nli".
        scores: the scores of all responses by this metric.
        signature: signature of the metric. The signature of the result also says how the mean was
            computed (:func:`sign`).
        no_claim: how responses without a claim are averaged: as 0 ("zero"), or not at all
            ("exclude").
        n_bootstrap: number of resamples for the interval; 0 for no interval.
        seed: seed of the resampling.

    Raises:
        InputError: ``no_claim`` has another value.
    """
    metric, _ = of_column(column)
    aggregate = Aggregate([metric.name], no_claim)
    aggregate.update({metric.name: score} for score in scores)
    return aggregate.systems({column: signature}, n_bootstrap=n_bootstrap, seed=seed)[column]


# --- signatures -------------------------------------------------------------------------


def sign(
    signature: str, no_claim: NoClaim, *, bootstrap: int = N_BOOTSTRAP, bootstrap_seed: int = SEED
) -> str:
    """Turns the signature of a metric (the line that records its models and settings) into that of
    the metric's mean score.

    The new signature also records how responses without a claim are averaged. It records the number
    of bootstrap resamples and their seed only if they differ from the defaults. The result for ""
    is "".

    >>> sign("q2|version:1", "zero")
    'q2|version:1|no_claim:zero'

    Raises:
        InputError: ``no_claim`` is neither "zero" nor "exclude".
    """
    if not signature:
        return ""
    parts: dict[str, str] = {"no_claim": check_no_claim(no_claim)}
    if bootstrap != N_BOOTSTRAP:
        parts["bootstrap"] = str(bootstrap)
    if bootstrap_seed != SEED:
        parts["bootstrap_seed"] = str(bootstrap_seed)
    return "|".join([signature, *(f"{key}:{value}" for key, value in parts.items())])


def signatures(metrics: Iterable[Metric], no_claim: NoClaim) -> dict[str, str]:
    """For each metric, by name, the signature of its mean score: a line of text that records how
    the mean was computed.

    The line contains the metric, version, models, settings, and how responses without a claim are
    averaged. ``no_claim`` says how: as 0 ("zero"), or not at all ("exclude").
    """
    return {metric.name: sign(metric.signature, no_claim) for metric in metrics}


def signature_lines(metrics: Iterable[Metric], no_claim: NoClaim) -> str:
    """One text with a line for each metric, which records how the metric's mean score was computed
    (its signature)."""
    return "\n".join(signatures(metrics, no_claim).values())
