"""Q² and SCALE in MLflow: for ``mlflow.genai.evaluate`` and for ``mlflow.models.evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer, scorer
from mlflow.metrics import MetricValue, make_metric
from mlflow.models import EvaluationMetric

from q2_metric.errors import InputError
from q2_metric.integrations.judge import Judge
from q2_metric.scoring import LOWER_IS_BETTER, NO_CLAIM, Mean, NoClaim, given, given_columns


def grounded_scorer(
    metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM, **settings: Any
) -> Scorer:
    """A scorer for ``mlflow.genai.evaluate(scorers=[…])``, with one feedback for each value of a
    row.

    The row's ``inputs`` or ``expectations`` contain the field ``knowledge`` and, optionally,
    ``history``. ``outputs`` is the response. The rationale of a feedback names the unsupported
    claims first. The metadata of a feedback contains the signature and, in ``unsupported``, these
    claims as JSON text in the form of ``claims`` of ``q2 score --out``.

    Args:
        metrics: names, as a sequence or as "q2,scale"; ``None`` means groundedness, q2, scale.
        no_claim: how responses that claim nothing count: as 0 ("zero") or not at all
            ("exclude": no feedback).
        settings: ``preset``, ``device`` and the settings of the metrics.

    Raises:
        InputError: a metric, keyword or value is unknown.
    """
    judge = Judge(metrics, no_claim, settings, evidence=True)
    source = AssessmentSource(source_type="CODE", source_id="q2-metric")

    def grounded(outputs: Any, inputs: Any = None, expectations: Any = None) -> list[Feedback]:
        fields = {**_fields(inputs), **_fields(expectations)}
        if "knowledge" not in fields:
            raise InputError("a row has no knowledge: put it in its inputs or its expectations; "
                             f"its fields are {', '.join(fields) or 'none'}")
        row = given(outputs, fields["knowledge"], fields.get("history"), "a row")
        (judged,) = judge([row])
        metadata = {
            "signature": judge.signature,
            "unsupported": json.dumps(list(judged.unsupported), ensure_ascii=False),
        }
        return [
            Feedback(name=name, value=value, rationale=judged.why, source=source,
                     metadata=metadata)
            for name, value in judged.numbers.items() if value is not None
        ]

    return scorer(grounded, name="grounded")


def _fields(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def grounded_metrics(
    metrics: Iterable[str] | str | None = None, *, no_claim: NoClaim = NO_CLAIM, **settings: Any
) -> list[EvaluationMetric]:
    """Metrics for ``mlflow.models.evaluate(extra_metrics=…)``, which score all rows in one batch.

    The data needs a column ``knowledge``; ``col_mapping`` can name another column. The arguments
    are those of :func:`grounded_scorer`. Each metric logs its mean. The results table contains the
    value and the justification of each row.
    """
    judge = Judge(metrics, no_claim, settings)
    return [
        make_metric(eval_fn=_column(judge, name), name=name,
                    greater_is_better=name not in LOWER_IS_BETTER)
        for name in judge.names
    ]


def _column(judge: Judge, name: str) -> Callable[..., MetricValue]:
    def eval_fn(predictions: Any, knowledge: Any, history: Any = None) -> MetricValue:
        verdicts = judge(given_columns(predictions, knowledge, history))
        values = [judged.numbers[name] for judged in verdicts]
        mean = Mean.of(values).value
        return MetricValue(
            scores=values, justifications=[judged.why for judged in verdicts],
            aggregate_results={} if mean is None else {"mean": mean},
        )

    return eval_fn
