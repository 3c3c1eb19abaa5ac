from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes import (
    FakeBackbone,
    FakeEntailment,
    FakePersonal,
    FakeQuestions,
    FakeReader,
    FakeSpans,
)

from q2_metric.metrics import load_metrics
from q2_metric.metrics.claims import gated
from q2_metric.metrics.nli import EndToEndNli
from q2_metric.metrics.q2 import Q2
from q2_metric.metrics.scale import Scale
from q2_metric.types import Example, Metric, Score

KNOWLEDGE = "Rome has 7 hills."
SAID = "Rome has 7 hills."
EXAMPLES = [Example(text, KNOWLEDGE) for text in (":::::", SAID, "thanks!", "what do you think ?")]


def q2() -> Metric:
    return Q2(FakeSpans(), FakeQuestions(), FakeReader(), FakeEntailment(), FakePersonal())


@pytest.mark.parametrize(
    "metric", [q2(), Scale(FakeBackbone()), EndToEndNli(FakeBackbone())],
    ids=["q2", "scale", "nli"],
)
def test_a_response_without_a_claim_has_no_score(metric: Metric) -> None:
    scores = metric.score(EXAMPLES)
    assert [score.value for score in scores] == [None, 1.0, None, None]
    assert [score.reason for score in scores] == ["no_claim", None, "no_claim", "no_claim"]
    assert [score.example for score in scores] == EXAMPLES
    assert all(score.no_nli is None and not score.fallback for score in scores if score.reason)


def test_models_are_not_asked_where_nothing_is_claimed() -> None:
    backbone = FakeBackbone()
    assert EndToEndNli(backbone).score([EXAMPLES[0], EXAMPLES[2]])[0].reason == "no_claim"
    assert backbone.calls == 0
    assert EndToEndNli(backbone).score([]) == []


def test_equal_responses_are_judged_once() -> None:
    backbone = FakeBackbone()
    first, second = EndToEndNli(backbone).score([EXAMPLES[1], replace(EXAMPLES[1], id="again")])
    assert backbone.asked == [(EXAMPLES[1].knowledge, EXAMPLES[1].response)]
    assert first.value == second.value == 1.0


def test_an_echo_is_told_by_the_history() -> None:
    echo, said = Example(SAID, KNOWLEDGE, (SAID,)), Example(SAID, KNOWLEDGE, ("Hi!",))
    found = EndToEndNli(FakeBackbone()).score([echo, said])
    assert [score.reason for score in found] == ["no_claim", None]


def test_keywords_are_passed_on() -> None:
    class Own:
        name = "own"

        @gated
        def score(self, examples: Sequence[Example], *, evidence: bool = False) -> list[Score]:
            """One score for each."""
            return [Score(example, float(evidence)) for example in examples]

    assert [score.value for score in Own().score(EXAMPLES[:2], evidence=True)] == [None, 1.0]
    assert Own.score.__doc__ == "One score for each."


def test_knowledge_that_is_only_markup_is_no_knowledge() -> None:
    [metric] = load_metrics(["scale"])
    [score] = metric.score([Example("It opened in 1889.", "<b></b>")])
    assert (score.value, score.reason) == (None, "no_knowledge")
