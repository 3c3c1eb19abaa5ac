"""Groundedness, Q² and SCALE as an evaluator of Pydantic Evals."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from q2_metric.scoring.judge import RecordJudge


@dataclass
class Grounded(RecordJudge, Evaluator[Any, Any, Any]):  # type: ignore[misc]
    """One value for each number of :class:`~q2_metric.scoring.judge.Judged`, with the evidence
    as its reason. The knowledge is a field of the output, the metadata or the inputs."""

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> Mapping[str, Any]:
        # In a thread, so that other cases run meanwhile.
        judged = await asyncio.to_thread(self.judged, ctx.output, (ctx.metadata, ctx.inputs))
        return {name: EvaluationReason(value, judged.why)
                for name, value in judged.numbers.items() if value is not None}
