"""Groundedness, Q² or SCALE as a Haystack component."""

from __future__ import annotations

from typing import Any

from haystack import component

from q2_metric.scoring import Mean, given_columns
from q2_metric.scoring.judge import Judge


@component
class GroundedComponent:
    """Has the inputs and outputs of Haystack's ``FaithfulnessEvaluator``, and needs no model of its
    own. Raises InputError: the metric is unknown, or a value is wrong."""

    def __init__(self, metric: str = "groundedness", preset: str = "bundled") -> None:
        self.metric, self.preset = metric, preset
        self._judge = Judge([metric], settings={"preset": preset}, evidence=True)

    @component.output_types(  # type: ignore[untyped-decorator]
        score=float, individual_scores=list[float], results=list[dict[str, Any]], signature=str)
    def run(
        self, contexts: list[list[str]], predicted_answers: list[str],
        questions: list[str] | None = None,
    ) -> dict[str, Any]:
        """``score`` is the mean of the scores. A response without a claim counts as 0, and one
        without knowledge is NaN and left out. ``results`` has the evidence in words and the
        unsupported claims. Raises InputError if the lists have different lengths."""
        judged = self._judge(given_columns(predicted_answers, contexts, None, questions, "answer"))
        values = [one.numbers[self.metric] for one in judged]
        return {
            "score": Mean.of(values).number,
            "individual_scores": [float("nan") if one is None else one for one in values],
            "results": [{"score": value, "reason": one.why, "unsupported": list(one.unsupported)}
                        for value, one in zip(values, judged, strict=True)],
            "signature": self._judge.signature,
        }
