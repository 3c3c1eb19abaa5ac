"""Q², SCALE or groundedness as a DeepEval metric, with a threshold and a reason."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, SingleTurnParams

from q2_metric.errors import InputError
from q2_metric.metrics.registry import entry
from q2_metric.scoring import check_threshold
from q2_metric.scoring.judge import Judge


class GroundedMetric(BaseMetric):  # type: ignore[misc]
    """A DeepEval metric that measures whether the context supports ``actual_output``.

    docs/deepeval.md lists its attributes. ``threshold`` is the lowest score that passes, in [0, 1].
    DeepEval passes ``judge`` when it copies the metric for each test case. ``settings`` are
    ``preset``, ``device`` and the settings of the metric. InputError: a metric or keyword is
    unknown, or a value is wrong."""

    _required_params: ClassVar = [SingleTurnParams.ACTUAL_OUTPUT]

    def __init__(
        self, metric: str = "groundedness", *, threshold: float = 0.5,
        judge: Judge | None = None, **settings: Any,
    ) -> None:
        self.metric, self.threshold = metric, check_threshold(threshold)
        self.judge = judge or Judge([metric], settings=settings, evidence=True)
        self.include_reason = True
        self.signature = self.judge.signature
        self.evaluation_model = None

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The score of a test case, in [0, 1]. Raises InputError if the test case has no context,
        or the metric failed on the test case."""
        judged = self.judge.one(
            test_case.actual_output, test_case.retrieval_context or test_case.context, None,
            "a test case", test_case.input)
        value = judged.numbers[self.metric]
        if value is None:
            raise InputError(f"the test case {test_case.name or test_case.input!r} has no score: "
                             f"{judged.why} (the knowledge is retrieval_context or context)")
        self.score, self.reason, self.verbose_logs = value, judged.line, judged.why
        self.score_breakdown = dict(judged.numbers)
        self.unsupported = [dict(claim) for claim in judged.unsupported]
        self.success = value >= self.threshold
        return value

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """:meth:`measure` in a thread, so that other tasks continue meanwhile."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool:
        return bool(self.success) and self.error is None

    @property
    def __name__(self) -> str:
        return entry(self.metric).title
