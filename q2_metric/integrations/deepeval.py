"""Q², SCALE or groundedness as a DeepEval metric, with a threshold and a reason."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, SingleTurnParams

from q2_metric.errors import InputError
from q2_metric.integrations.judge import Judge
from q2_metric.metrics.registry import entry
from q2_metric.scoring import given


class Grounded(BaseMetric):  # type: ignore[misc]
    """Scores ``actual_output`` against ``retrieval_context``, or ``context`` where there is none.

    A response that is empty or claims nothing gets 0 and fails; ``score_breakdown`` has all
    numbers, ``reason`` what they rest on, the claims that the knowledge does not support first,
    and ``unsupported`` those claims, as ``claims`` of ``q2 score --out``.

    Args:
        metric: "q2", "scale", "groundedness", ….
        threshold: a test case passes from this score on.
        judge: what scores, where it is loaded already: DeepEval copies a metric for each test
            case by calling its class with the attributes that are named as its arguments.
        settings: ``preset``, ``device`` and the metric's own.

    Raises:
        InputError: an unknown metric, keyword or value.
    """

    _required_params: ClassVar = [SingleTurnParams.ACTUAL_OUTPUT]

    def __init__(
        self, metric: str = "groundedness", *, threshold: float = 0.5,
        judge: Judge | None = None, **settings: Any,
    ) -> None:
        self.judge = judge or Judge([metric], settings=settings, evidence=True)
        self.metric = metric
        self.threshold = threshold
        self.include_reason = True
        self.evaluation_model = None

    @property
    def signature(self) -> str:
        """Says what the score is: models, settings, version."""
        return self.judge.signature

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The score, in [0, 1].

        Raises:
            InputError: the test case has no context, or the metric fails on it.
        """
        knowledge = test_case.retrieval_context or test_case.context
        if not knowledge:
            raise InputError(f"the test case {test_case.name or test_case.input!r} has neither "
                             "retrieval_context nor context: there is no knowledge")
        row = given(test_case.actual_output, list(knowledge), None, "a test case")
        (judged,) = self.judge([row])
        value = judged.numbers[self.metric]
        if value is None:
            raise InputError(f"the test case {test_case.name or test_case.input!r} has no score: "
                             f"{judged.why}")
        self.score, self.reason = value, judged.why
        self.score_breakdown = dict(judged.numbers)
        self.unsupported = [dict(one) for one in judged.unsupported]
        self.success = value >= self.threshold
        return value

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """As :meth:`measure`, in a thread."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool:
        """Whether the last test case reached the threshold."""
        return bool(self.success) and self.error is None

    @property
    def __name__(self) -> str:
        return entry(self.metric).title
