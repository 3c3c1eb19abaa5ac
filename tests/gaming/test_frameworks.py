"""In every framework a model that says nothing gets nothing; the metric is a stand-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fakes import FakeClaims
from gamed import SILENT, TRICKS

from q2_metric import metrics
from q2_metric.types import Example

KNOWLEDGE, HISTORY = "Rome has 7 hills.", "How many hills has it?"
ROW = Example("Rome has 7 hills.", KNOWLEDGE, (HISTORY,))
SAID = [ROW.response, *(TRICKS[name](ROW) for name in SILENT)]
SHARE = len(SILENT) / len(SAID)

pytestmark = pytest.mark.plugins


@pytest.fixture(autouse=True)
def _perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Q² that gives 1 to whatever claims something."""
    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [FakeClaims("q2", {ROW.response: 1.0})])


def by_evaluate(said: Sequence[str]) -> Mapping[str, Any]:
    from q2_metric.integrations.evaluate import Q2

    found = Q2(config_name="dialog").compute(
        predictions=list(said), references=[KNOWLEDGE] * len(said),
        histories=[[HISTORY]] * len(said), no_claim="zero")
    assert found is not None
    return found


def by_trainer(said: Sequence[str]) -> Mapping[str, Any]:
    from q2_metric.integrations.trainer import Q2ComputeMetrics

    class Tokenizer:
        pad_token_id = 0

        def batch_decode(self, ids: Any, **_: Any) -> list[str]:
            return [said[row[0]] for row in ids]

    compute = Q2ComputeMetrics(
        Tokenizer(), [KNOWLEDGE] * len(said), histories=[[HISTORY]] * len(said), metrics=["q2"])
    ids = np.arange(len(said)).reshape(-1, 1)
    return compute(SimpleNamespace(predictions=ids, label_ids=ids))


def by_lm_eval(said: Sequence[str]) -> Mapping[str, Any]:
    from q2_metric.integrations.lm_eval.scoring import Options, score_responses

    documents = [
        {"id": str(i), "knowledge": KNOWLEDGE, "history": [HISTORY], "response": ""}
        for i in range(len(said))
    ]
    answers, _ = score_responses(said, documents, Options(metrics=("q2",)), {"q2", "no_claim"})
    return {
        name: sum(answer[name] for answer in answers) / len(answers)
        for name in ("q2", "no_claim")
    }


def by_parlai(said: Sequence[str]) -> Mapping[str, Any]:
    from parlai_plugin.scores import LazyMean, Scorer

    scorer = Scorer([FakeClaims("q2", {ROW.response: 1.0})])
    responses = [scorer.add(Example(text, KNOWLEDGE, (HISTORY,))) for text in said]
    return {name: LazyMean(name, responses).value() for name in ("q2", "no_claim")}


@pytest.mark.parametrize("framework", [by_evaluate, by_trainer, by_lm_eval, by_parlai])
def test_silence_counts_as_nothing(
    framework: Callable[[Sequence[str]], Mapping[str, Any]],
) -> None:
    mixed, silent = framework(SAID), framework(SAID[1:])
    assert (mixed["no_claim"], silent["no_claim"]) == (pytest.approx(SHARE), 1.0)
    assert mixed["q2"] == pytest.approx(1 / len(SAID))
    assert silent["q2"] == 0.0
