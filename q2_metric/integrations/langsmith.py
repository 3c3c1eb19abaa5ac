"""Groundedness, Q² and SCALE as an evaluator function of LangSmith."""

from collections.abc import Callable, Mapping
from typing import Any

from q2_metric.scoring.judge import RecordJudge


def grounded(
    metrics: str = "groundedness", *, knowledge: str = "knowledge", response: str = "answer",
    **settings: Any,
) -> Callable[..., dict[str, Any]]:
    """An evaluator for ``langsmith.evaluate``. The arguments and errors are those of
    :class:`~q2_metric.scoring.judge.RecordJudge`."""
    judge = RecordJudge(metrics, knowledge, response, settings)

    def q2_metric(
        inputs: Mapping[str, Any], outputs: Mapping[str, Any],
        reference_outputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        judged = judge.judged(outputs, (inputs, reference_outputs))
        return {"results": [
            {"key": name, "score": value, "comment": judged.why,
             "evaluator_info": {"signature": judge.signature}}
            for name, value in judged.numbers.items()]}

    return q2_metric
