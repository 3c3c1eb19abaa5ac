"""Groundedness, Q² or SCALE as a LlamaIndex evaluator."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from q2_metric.errors import InputError
from q2_metric.scoring import check_column, check_threshold
from q2_metric.scoring.judge import Judge


class GroundedEvaluator(BaseEvaluator):  # type: ignore[misc]
    """A LlamaIndex evaluator that measures whether the contexts support a response.

    A response that is empty or without a claim gets 0. ``threshold`` is the lowest score that
    passes, in [0, 1]. ``settings`` are ``preset``, ``device`` and the settings of the metric.
    InputError: a metric or keyword is unknown, or a value is wrong."""

    def __init__(
        self, metric: str = "groundedness", *, threshold: float = 0.5, **settings: Any
    ) -> None:
        self.metric, self.threshold = metric, check_threshold(threshold)
        self.judge = Judge([metric], settings=settings, evidence=True)
        self.signature = self.judge.signature

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """This evaluator uses no prompts."""

    async def aevaluate(
        self, query: str | None = None, response: str | None = None,
        contexts: Sequence[str] | None = None, **_: Any,
    ) -> EvaluationResult:
        """Scores a response in a thread. If the contexts are blank, the result is marked invalid.
        Raises InputError if there are no contexts, or a value is not a text."""
        if contexts is None:
            raise InputError("there are no contexts: pass the texts that must support the response")
        contexts = check_column(contexts, "contexts")
        judged = await asyncio.to_thread(
            self.judge.one, response, contexts, None, "the response", query)
        value = judged.numbers[self.metric]
        return EvaluationResult(
            query=query, contexts=contexts, response=response, score=value,
            passing=None if value is None else value >= self.threshold, feedback=judged.why,
            invalid_result=value is None, invalid_reason=judged.why if value is None else None)
