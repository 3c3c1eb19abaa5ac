"""From the scores of responses to the score of a system."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Literal

from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED, bootstrap_interval
from q2_metric.metrics.registry import of_column
from q2_metric.types import Comparison, Reason, Score, SystemScore

NoClaim = Literal["zero", "exclude"]
"""How a response that claims nothing counts in a mean: as 0, or not at all. "zero" wherever a
score chooses a checkpoint or ranks models: a model that says nothing must not win."""

NOT_TRIED: frozenset[Reason] = frozenset({"no_knowledge", "fault"})
"""Reasons that are not the response's own: it counts in no mean and in no share."""

CLAIMLESS: frozenset[Reason] = frozenset({"no_claim", "empty"})
"""The others: the response claims nothing."""


def counted(value: float | None, reason: Reason | None, no_claim: NoClaim) -> float | None:
    """What a number of a response counts in a mean; ``None`` where it does not.

    Args:
        value: the number.
        reason: of its score. A blank response claims nothing.
        no_claim: how such a response counts.
    """
    if reason in CLAIMLESS:
        return 0.0 if no_claim == "zero" else None
    return value if value is not None and math.isfinite(value) else None


class Tally:
    """Adds up the scores of responses, block by block, keeping 8 bytes for each.

    Args:
        name: of the column that is averaged, such as "q2_no_nli".
        no_claim: how responses that claim nothing count in the mean.

    Scores without a value (``None`` or not finite) are left out of the mean, and still
    count for coverage, unless they are :data:`NOT_TRIED`.
    """

    def __init__(self, name: str, no_claim: NoClaim = "exclude") -> None:
        self.name, self.no_claim = name, no_claim
        self._metric, self._column = of_column(name)
        self._values = array("d")
        self._fallbacks = 0
        self._responses = 0
        self._without_claim = 0
        self._with_question = 0
        self._questions = 0
        self._unanswered = 0

    def add(self, scores: Iterable[Score]) -> None:
        """Counts the scores of further responses."""
        for score in scores:
            how = [item.how for item in score.because if isinstance(item, Comparison)]
            self.count(self._column.of(score), score.fallback, how, score.reason)

    def count(
        self,
        value: float | None,
        fallback: bool = False,
        how: Sequence[str] = (),
        reason: Reason | None = None,
    ) -> None:
        """Counts one further response.

        Args:
            value: of this tally's column.
            fallback: whether it is end-to-end NLI.
            how: how the answers of each of Q²'s questions were compared.
            reason: why there is no value.
        """
        if reason in NOT_TRIED:
            return
        self._responses += 1
        self._without_claim += reason in CLAIMLESS
        number = counted(value, reason, self.no_claim)
        if number is not None:
            self._values.append(number)
            self._fallbacks += fallback
        self._with_question += bool(how)
        self._questions += len(how)
        self._unanswered += sum(one == "no_answer" for one in how)

    def result(
        self, signature: str, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
    ) -> SystemScore:
        """The system's score so far; see :func:`system_score`."""
        n, asks = len(self._values), self._metric.details == "questions"

        def share(count: int, has_it: bool) -> float | None:
            return count / self._responses if has_it and self._responses else None

        return SystemScore(
            name=self.name,
            value=math.fsum(self._values) / n if n else None,
            n=n,
            n_fallback=self._fallbacks,
            # One response says nothing of others.
            interval=bootstrap_interval(self._values, n_bootstrap=n_bootstrap, seed=seed)
            if n > 1 else None,
            # As a mean it is another number.
            signature=signature + "|no_claim:zero" * bool(signature and self.no_claim == "zero"),
            coverage=share(self._with_question, asks),
            no_answer_rate=self._unanswered / self._questions if self._questions else None,
            n_questions=self._questions if asks else None,
            fallback=share(self._fallbacks, asks),
            no_claim=share(self._without_claim, self._metric.neural),
        )


def system_score(
    column: str,
    scores: Sequence[Score],
    signature: str,
    *,
    no_claim: NoClaim = "exclude",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = SEED,
) -> SystemScore:
    """The mean of the responses' scores, with what it rests on.

    ``n`` is the number of responses that count in the mean; ``coverage``, ``fallback`` and
    ``no_claim`` are shares of all responses. The first two, and ``no_answer_rate``, are
    ``None`` for metrics that ask nothing, the last also where no question was asked.
    ``value`` and ``interval`` are ``None`` where no response has a value.

    Args:
        column: of a metric, such as "q2" or "q2_no_nli".
        scores: one for each response; those without a value are left out of the mean.
        signature: of the metric, kept with the result; with ``no_claim:zero`` behind it where
            they count so.
        no_claim: how responses that claim nothing count in the mean.
        n_bootstrap: resamples behind the interval; 0 for no interval.
        seed: of the resampling.
    """
    tally = Tally(column, no_claim)
    tally.add(scores)
    return tally.result(signature, n_bootstrap=n_bootstrap, seed=seed)
