"""Q² and SCALE as sample-level metrics of a lighteval task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.tasks.requests import SamplingMethod

from q2_metric.scoring import LOWER_IS_BETTER, NO_CLAIM, Mean, NoClaim, field_of, given
from q2_metric.scoring.judge import Judge


class _Number(SampleLevelComputation):  # type: ignore[misc]
    """One number of each response. All of a task share a judge, which scores only once."""

    def __init__(self, judge: Judge, name: str) -> None:
        self.judge, self.name = judge, name

    def __str__(self) -> str:
        return f"{self.name} ({self.judge.signature})"

    def compute(self, responses: Sequence[Any], docs: Sequence[Any], **_: Any) -> list[float]:
        """The number of each response; NaN if the response does not count in the mean. Raises
        InputError if a document has no knowledge in ``specific["knowledge"]``."""
        rows = []
        for response, doc in zip(responses, docs, strict=True):
            specific = doc.specific or {}
            sources = field_of(specific, "knowledge",
                               f"the object specific of document {doc.id} of {doc.task_name}")
            rows.append(given(response.final_text[0], sources, specific.get("history"),
                              f"document {doc.id}", specific.get("question")))
        values = (judged.numbers[self.name] for judged in self.judge(rows))
        return [float("nan") if value is None else value for value in values]


def _mean(values: Sequence[float]) -> float:
    """Leaves out NaN."""
    return Mean.of(values).number


def grounded(
    metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM, **settings: Any
) -> list[SampleLevelMetric]:
    """Makes the metrics for a ``LightevalTaskConfig``: one for each score and share of responses.

    The arguments are those of :class:`~q2_metric.scoring.judge.Judge`. InputError: a metric,
    keyword or value is unknown."""
    judge = Judge(metrics, no_claim, settings)
    return [
        SampleLevelMetric(
            metric_name=name, higher_is_better=name not in LOWER_IS_BETTER,
            category=SamplingMethod.GENERATIVE, sample_level_fn=_Number(judge, name),
            corpus_level_fn=_mean, batched_compute=True)
        for name in judge.names]
