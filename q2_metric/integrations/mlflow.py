"""Groundedness, Q² and SCALE for ``mlflow.genai.evaluate`` and ``mlflow.models.evaluate``."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer, scorer
from mlflow.metrics import MetricValue, make_metric
from mlflow.models import EvaluationMetric

from q2_metric.scoring import LOWER_IS_BETTER, NO_CLAIM, Mean, NoClaim, given_columns
from q2_metric.scoring.judge import Judge


def grounded_scorer(
    metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM, **settings: Any
) -> Scorer:
    """Makes a scorer for ``mlflow.genai.evaluate(scorers=[…])``.

    A row's ``inputs`` or ``expectations`` contain ``knowledge`` and, optionally, ``history`` and
    ``question``. docs/mlflow.md describes the feedbacks. With ``no_claim="exclude"``, the scores of
    a response without a claim get none. The arguments are those of
    :class:`~q2_metric.scoring.judge.Judge`. InputError: a metric, keyword or value is unknown."""
    judge = Judge(metrics, no_claim, settings, evidence=True)
    source = AssessmentSource(source_type="CODE", source_id="q2-metric")

    def grounded(outputs: Any, inputs: Any = None, expectations: Any = None) -> list[Feedback]:
        fields = {name: value for part in (inputs, expectations) if isinstance(part, Mapping)
                  for name, value in part.items()}
        judged = judge.one(outputs, fields.get("knowledge"), fields.get("history"), "a row",
                           fields.get("question"))
        unsupported = json.dumps(list(judged.unsupported), ensure_ascii=False)
        metadata = {"signature": judge.signature, "unsupported": unsupported}
        return [
            Feedback(name=name, value=value, error=judged.failed.get(name), rationale=judged.why,
                     source=source, metadata=metadata)
            for name, value in judged.numbers.items()
            if value is not None or name in judged.failed]

    return scorer(grounded, name="grounded")


def grounded_metrics(
    metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM, **settings: Any
) -> list[EvaluationMetric]:
    """Makes the metrics for ``mlflow.models.evaluate(extra_metrics=…)``. The data need a column
    ``knowledge``; ``col_mapping`` can name another. All rows are scored in one batch. The arguments
    are those of :func:`grounded_scorer`."""
    judge = Judge(metrics, no_claim, settings)
    return [make_metric(eval_fn=_column(judge, name), name=name,
                        greater_is_better=name not in LOWER_IS_BETTER) for name in judge.names]


def _column(judge: Judge, name: str) -> Callable[..., MetricValue]:
    def eval_fn(
        predictions: Any, knowledge: Any, history: Any = None, question: Any = None
    ) -> MetricValue:
        verdicts = judge(given_columns(predictions, knowledge, history, question))
        values = [judged.numbers[name] for judged in verdicts]
        mean = Mean.of(values).value
        return MetricValue(
            scores=values, justifications=[judged.why for judged in verdicts],
            aggregate_results={} if mean is None else {"mean": mean})

    return eval_fn
