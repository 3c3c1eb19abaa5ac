"""A metric that is registered is in every framework, without a line there that names it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from new_metric import add_chrf

KNOWLEDGE = "Rome has 7 hills."


@pytest.fixture(autouse=True)
def _chrf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_chrf(tmp_path, monkeypatch)


def test_evaluate() -> None:
    from q2_metric.integrations.evaluate import Q2

    found = Q2().compute(
        predictions=[KNOWLEDGE, ""], references=[KNOWLEDGE] * 2, metrics="chrf", order=2,
        no_claim="zero", return_scores=True)
    assert found is not None
    assert (found["chrf"], found["chrf_scores"]) == (0.5, [1.0, None])
    assert found["signature"].startswith("chrf|order:2|")


def test_trainer() -> None:
    from q2_metric.integrations.trainer import Q2ComputeMetrics

    class Tokenizer:
        pad_token_id = 0

        def batch_decode(self, ids: Any, **_: Any) -> list[str]:
            return [KNOWLEDGE if row[0] else "" for row in ids]

    compute = Q2ComputeMetrics(Tokenizer(), [KNOWLEDGE] * 2, metrics=("chrf",))
    ids = np.array([[1], [0]])
    found = compute(SimpleNamespace(predictions=ids, label_ids=ids))
    assert found["chrf"] == 0.5


def test_lm_eval() -> None:
    from q2_metric.integrations.lm_eval import tables
    from q2_metric.integrations.lm_eval.scoring import Options, score_responses

    options = Options.from_metadata({"metrics": "chrf,knowledge_f1", "metric_order": 2})
    assert [line["metric"] for line in tables.generation_lines(options.metrics, [])] == [
        "chrf", "knowledge_f1"]
    assert {"metric": "chrf", "aggregation": "mean", "weight_by_size": False} in tables.GROUP
    document = {"id": "0", "knowledge": KNOWLEDGE, "history": [], "response": ""}
    (answer,), signatures = score_responses([KNOWLEDGE], [document], options, {"chrf"})
    assert answer == {"chrf": 1.0}
    assert signatures["chrf"].startswith("chrf|order:2|")


def test_parlai() -> None:
    from parlai_plugin.notices import wanted
    from parlai_plugin.scores import LazyMean, ScoringOptions, names, scorer
    from q2_metric.types import Example

    assert wanted(["chrf", "knowledge_f1"]) == ["chrf"]  # that is ParlAI's own
    assert names(["chrf"]) == {"chrf": "chrf"}
    own = scorer(["chrf"], ScoringOptions())
    mean = LazyMean("chrf", [own.add(Example(KNOWLEDGE, KNOWLEDGE)), own.add(Example("", "k"))])
    assert mean.value() == 0.5
