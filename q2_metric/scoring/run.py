"""Scores rows by several metrics, and gives the scores of each row, their means and signatures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from q2_metric.metrics.overlap import corpus_bleu
from q2_metric.metrics.registry import columns, of_column
from q2_metric.rows.fields import Layout, output_row
from q2_metric.scoring.aggregate import Aggregate, Mean
from q2_metric.scoring.outcome import NO_CLAIM, NoClaim
from q2_metric.scoring.scores import OnBreak, OnFault, score
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Metric, Score

LOWER_IS_BETTER = frozenset({"empty", "fallback", "no_claim"})


@dataclass
class ScoredRows:
    """The scores of several rows by several metrics (by name), with the means of the system."""

    metrics: Sequence[Metric]
    rows: Sequence[Example]
    scores: Sequence[Mapping[str, Score]]
    no_claim: NoClaim = NO_CLAIM

    def __post_init__(self) -> None:
        self.aggregate = Aggregate([metric.name for metric in self.metrics], self.no_claim)
        self.aggregate.update(self.scores)

    @classmethod
    def over(
        cls, metrics: Sequence[Metric], rows: Sequence[Example], *, no_claim: NoClaim = NO_CLAIM,
        evidence: bool = False, on_fault: OnFault | None = None, on_break: OnBreak | None = None,
    ) -> Self:
        """Scores all rows. The arguments are those of :func:`q2_metric.scoring.score`."""
        scores = score(metrics, rows, evidence=evidence, on_fault=on_fault, on_break=on_break)
        return cls(metrics, rows, scores, no_claim)

    def column(self, name: str) -> list[float | None]:
        """The score of each row in a column; ``None`` if a row has no score."""
        metric, column = of_column(name)
        return [column.of(row[metric.name]) for row in self.scores]

    def columns(self) -> list[str]:
        return list(columns(metric.name for metric in self.metrics))

    def n(self) -> int:
        """The number of responses that count in the mean of the first metric."""
        return self.aggregate.mean(self.metrics[0].name).n

    def system(self) -> dict[str, float | None]:
        """The means and shares, in [0, 1], by name (:meth:`Aggregate.compute`)."""
        return self.aggregate.compute()

    def claims(self) -> list[list[dict[str, Any]]]:
        """The judged claims of each row (:func:`claims`)."""
        return [claims(row, scores) for row, scores in zip(self.rows, self.scores, strict=True)]

    def explanations(self, *, texts: bool = False) -> list[dict[str, Any]]:
        """The evidence of each row's scores, in the form of a row of ``q2 score --out``."""
        layout = Layout([metric.name for metric in self.metrics], texts=texts)
        return [output_row(i, row, scores, layout)
                for i, (row, scores) in enumerate(zip(self.rows, self.scores, strict=True))]


def claims(scored: Example, scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """The judged claims of a response, as in the field ``claims`` of ``q2 score --out``."""
    return output_row(0, scored, scores, list(scores)).get("claims") or []


MOST = 0.5
"""Means may choose a checkpoint if at most this share of responses has no claim or question."""


def hollow(numbers: Mapping[str, float | None]) -> str:
    """Says why mean scores of a model must not decide which checkpoint is best; "" if they may.

    They must not if most responses claim nothing, or were judged as a whole because Q² found no
    valid question. Then even a model that writes gibberish can have a high mean score.

    >>> hollow({"q2": 0.4, "fallback": 0.7, "no_claim": 0.2})
    '90% of the responses claim nothing (20%) or had no question to ask (70%)'
    """
    claimless, fallback = (
        Mean.of([numbers.get(name)]).value or 0.0 for name in ("no_claim", "fallback"))
    if claimless + fallback <= MOST:
        return ""
    return (f"{claimless + fallback:.0%} of the responses claim nothing ({claimless:.0%}) "
            f"or had no question to ask ({fallback:.0%})")


def against_gold(responses: Sequence[str], golds: Sequence[Sequence[str]]) -> dict[str, float]:
    """Mean token F1 ("f1") and corpus BLEU ("bleu") of responses against references, in [0, 1].

    All responses count, also those that claim nothing. Token F1 uses the most similar reference of
    a response, BLEU uses all of them."""
    best = [max(token_f1(said, gold) for gold in of_it)
            for said, of_it in zip(responses, golds, strict=True)]
    return {"f1": Mean.of(best).number, "bleu": corpus_bleu(responses, golds)}
