"""Metrics over rows: the numbers of the system and of each row, and their signatures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from q2_metric.metrics.overlap import corpus_bleu
from q2_metric.metrics.registry import columns, of_column
from q2_metric.rows.fields import output_row
from q2_metric.scoring.aggregate import Aggregate, Mean, signatures
from q2_metric.scoring.outcome import NO_CLAIM, NoClaim
from q2_metric.scoring.scores import OnBreak, OnFault, score
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Metric, Score

LOWER_IS_BETTER = frozenset({"empty", "fallback", "no_claim"})
"""Numbers of a system that should be low; of all others more is better."""


@dataclass(frozen=True, slots=True)
class Run:
    """Metrics over rows: the numbers of the system and of each row.

    Args:
        metrics: as they were loaded.
        rows: one for each response.
        scores: by metric name for each row.
        no_claim: how responses that claim nothing count in means.

    Attributes:
        aggregate: of all rows.
    """

    metrics: Sequence[Metric]
    rows: Sequence[Example]
    scores: Sequence[Mapping[str, Score]]
    no_claim: NoClaim = NO_CLAIM
    aggregate: Aggregate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        aggregate = Aggregate([metric.name for metric in self.metrics], self.no_claim)
        aggregate.update(self.scores)
        object.__setattr__(self, "aggregate", aggregate)

    @classmethod
    def over(
        cls,
        metrics: Sequence[Metric],
        rows: Sequence[Example],
        *,
        no_claim: NoClaim = NO_CLAIM,
        evidence: bool = False,
        on_fault: OnFault | None = None,
        on_break: OnBreak | None = None,
    ) -> Run:
        """Scores all rows; arguments as for :func:`q2_metric.scoring.score`."""
        scores = score(metrics, rows, evidence=evidence, on_fault=on_fault, on_break=on_break)
        return cls(metrics, rows, scores, no_claim)

    def column(self, name: str) -> list[float | None]:
        """A number of each row by the name of its column, ``None`` where it has none."""
        metric, column = of_column(name)
        return [column.of(row[metric.name]) for row in self.scores]

    def columns(self) -> list[str]:
        """The names of :meth:`column`, in order."""
        return list(columns(metric.name for metric in self.metrics))

    def n(self) -> int:
        """Responses that count in the mean of the first metric."""
        return self.aggregate.mean(self.metrics[0].name).n

    def system(self) -> dict[str, float | None]:
        """Means in [0, 1], and what they rest on (:meth:`Aggregate.compute`)."""
        return self.aggregate.compute()

    def signatures(self) -> dict[str, str]:
        """By metric: what its mean is (:func:`q2_metric.scoring.sign`)."""
        return signatures(self.metrics, self.no_claim)

    def claims(self) -> list[list[dict[str, Any]]]:
        """The judged claims of each row (:func:`claims`)."""
        return [claims(row, scores) for row, scores in zip(self.rows, self.scores, strict=True)]

    def explanations(self) -> list[dict[str, Any]]:
        """What each row's scores rest on, in the form of a row of ``q2 score --out``."""
        names = [metric.name for metric in self.metrics]
        return [
            output_row(i, row, scores, names)
            for i, (row, scores) in enumerate(zip(self.rows, self.scores, strict=True))
        ]


def claims(scored: Example, scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """The judged claims of a response, in the form of ``claims`` of a row of ``q2 score --out``.

    There are none where the response claims nothing, or no metric among these judges claims.

    Args:
        scored: the response with its knowledge.
        scores: of it, by metric.
    """
    return output_row(0, scored, scores, list(scores)).get("claims") or []


MOST = 0.5
"""A mean that rests on fewer judged responses than this share chooses nothing."""


def hollow(numbers: Mapping[str, float | None]) -> str:
    """Why the means of a system must not choose a checkpoint; "" where they may.

    They must not where most responses claim nothing or were judged as a whole, since Q² found
    nothing to ask: such means say little, and a model that writes no language can win by them.

    Args:
        numbers: of :meth:`Run.system`, or of a framework's report.

    >>> hollow({"q2": 0.4, "fallback": 0.7, "no_claim": 0.2})
    '90% of the responses claim nothing (20%) or had no question to ask (70%)'
    """
    claimless, fallback = (_share(numbers.get(name)) for name in ("no_claim", "fallback"))
    if claimless + fallback <= MOST:
        return ""
    return (f"{claimless + fallback:.0%} of the responses claim nothing ({claimless:.0%}) "
            f"or had no question to ask ({fallback:.0%})")


def _share(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def against_gold(
    responses: Sequence[str], golds: Sequence[Sequence[str]]
) -> dict[str, float]:
    """``f1`` and ``bleu`` of responses against people's, in [0, 1]; all responses count.

    Args:
        responses: of the system; there is one at least.
        golds: of each, one or several; the best counts for ``f1`` (token F1, a mean), all for
            ``bleu`` (sacrebleu, of the corpus).
    """
    best = [max(token_f1(said, gold) for gold in of_it)
            for said, of_it in zip(responses, golds, strict=True)]
    return {"f1": Mean.of(best).number, "bleu": corpus_bleu(responses, golds)}
