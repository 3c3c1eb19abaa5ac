"""From the scores of responses to the score of a system."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

from q2_metric.metrics.bootstrap import N_BOOTSTRAP, SEED, bootstrap_interval
from q2_metric.metrics.q2 import without_nli as without_nli
from q2_metric.metrics.registry import of_column
from q2_metric.types import Comparison, Score, SystemScore

Q2 = "q2"
Q2_NO_NLI = "q2_no_nli"
# The two names and without_nli go when no other file imports them from here.


class Tally:
    """Adds up the scores of responses, block by block, keeping 8 bytes for each.

    Args:
        name: of the column that is averaged, such as "q2_no_nli".

    Scores without a value (``None`` or not finite) are left out of the mean, and still
    count for coverage.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        metric, self._column = of_column(name)
        self._asks = metric.details == "questions"
        self._values = array("d")
        self._fallbacks = 0
        self._responses = 0
        self._with_question = 0
        self._questions = 0
        self._unanswered = 0

    def add(self, scores: Iterable[Score]) -> None:
        """Counts the scores of further responses."""
        for score in scores:
            how = [item.how for item in score.because if isinstance(item, Comparison)]
            self.count(self._column.of(score), score.fallback, how)

    def count(
        self, value: float | None, fallback: bool = False, how: Sequence[str] = ()
    ) -> None:
        """Counts one further response.

        Args:
            value: of this tally's variant of the score.
            fallback: whether it is end-to-end NLI.
            how: how the answers of each of Q²'s questions were compared.
        """
        self._responses += 1
        if value is not None and math.isfinite(value):
            self._values.append(value)
            self._fallbacks += fallback
        self._with_question += bool(how)
        self._questions += len(how)
        self._unanswered += sum(one == "no_answer" for one in how)

    def result(
        self, signature: str, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = SEED
    ) -> SystemScore:
        """The system's score so far; see :func:`system_score`."""
        n = len(self._values)
        share = self._with_question / self._responses if self._responses else None
        return SystemScore(
            name=self.name,
            value=math.fsum(self._values) / n if n else None,
            n=n,
            n_fallback=self._fallbacks,
            interval=bootstrap_interval(self._values, n_bootstrap=n_bootstrap, seed=seed),
            signature=signature,
            coverage=share if self._asks else None,
            no_answer_rate=self._unanswered / self._questions if self._questions else None,
            n_questions=self._questions if self._asks else None,
        )


def system_score(
    column: str,
    scores: Sequence[Score],
    signature: str,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = SEED,
) -> SystemScore:
    """The mean of the responses' scores, with what it rests on.

    ``n`` is the number of responses that have a value, ``coverage`` the share of all
    responses with a valid question, ``no_answer_rate`` the share of all their questions
    that the knowledge does not answer. Both are ``None`` for metrics that ask nothing,
    the second also where no question was asked. ``value`` and ``interval`` are ``None``
    where no response has a value.

    Args:
        column: of a metric, such as "q2" or "q2_no_nli".
        scores: one for each response; those without a value are left out of the mean.
        signature: of the metric, kept with the result.
        n_bootstrap: resamples behind the interval; 0 for no interval.
        seed: of the resampling.
    """
    tally = Tally(column)
    tally.add(scores)
    return tally.result(signature, n_bootstrap=n_bootstrap, seed=seed)
