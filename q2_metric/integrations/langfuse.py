"""Groundedness, Q² and SCALE as an evaluator function of Langfuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langfuse import Evaluation

from q2_metric.scoring.judge import RecordJudge


def grounded(
    metrics: str = "groundedness", *, knowledge: str = "knowledge", response: str = "answer",
    **settings: Any,
) -> Callable[..., list[Evaluation]]:
    """An evaluator for ``langfuse.run_experiment``. The arguments and errors are those of
    :class:`~q2_metric.scoring.judge.RecordJudge`."""
    judge = RecordJudge(metrics, knowledge, response, settings)

    def q2_metric(*, input: Any, output: Any, expected_output: Any = None, metadata: Any = None,
                  **_: Any) -> list[Evaluation]:
        judged = judge.judged(output, (metadata, input, expected_output))
        return [Evaluation(name=name, value=value, comment=judged.why,
                           metadata={"signature": judge.signature})
                for name, value in judged.numbers.items() if value is not None]

    return q2_metric
