"""The same six rows give the same number and the same signature in every shell."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fakes import FakeMetric
from optional import needs

from q2_metric import metrics
from q2_metric.cli.main import main
from q2_metric.types import Example

pytestmark = pytest.mark.plugins

KNOWLEDGE = "Rome has 7 hills. It lies on the Tiber."
TABLE = {"Rome has 7 hills.": 0.9, "Rome lies on the Rhine.": 0.2, "It is on the Tiber.": 0.7}
SAID = [*TABLE, "lol", "", "Yes."]
KNOWN = [KNOWLEDGE] * len(SAID)
ASKED = [None] * 5 + ["Does Rome have 7 hills?"]
"""Only with its question does "Yes." claim something."""
WANTED = {"zero": 2.3 / 6, "exclude": 2.3 / 4}

Found = tuple[float | None, str]


class _Asking(FakeMetric):
    reads_question = True


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A metric that knows no rule of ours: what is blank or claims nothing would have 0.5."""
    monkeypatch.setattr(metrics, "load_metrics", lambda names, *_, **__: [_Asking(n, TABLE)
                                                                          for n in names])
    monkeypatch.chdir(tmp_path)


def said(no_claim: str | None) -> dict[str, Any]:
    return {} if no_claim is None else {"no_claim": no_claim}


def command_line(no_claim: str | None, *more: str) -> Found:
    rows = [{"response": one, "knowledge": KNOWLEDGE, "question": asked}
            for one, asked in zip(SAID, ASKED, strict=True)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = [] if no_claim is None else ["--no-claim", no_claim]
    result = CliRunner().invoke(
        main, ["score", "rows.jsonl", "--metrics", "scale", "--json", *given, *more])
    found = json.loads(result.stdout)["files"][0]["scores"]["scale"]
    return found["value"], found["signature"]


def report(no_claim: str | None) -> Found:
    from q2_metric.report.read import read_scores

    command_line(no_claim, "--out", "out.jsonl")
    with ExitStack() as stack:
        (run,) = read_scores(["out.jsonl"], stack).runs
    return run.scores[0].value, run.scores[0].signature


def by_evaluate(no_claim: str | None) -> Found:
    from q2_metric.integrations.evaluate import Scale

    found = Scale("question").compute(
        predictions=SAID, references=KNOWN, questions=ASKED, **said(no_claim))
    assert found is not None
    return found["scale"], found["signature"]


def by_trainer(no_claim: str | None) -> Found:
    from q2_metric.integrations.trainer import Q2ComputeMetrics

    class Tokenizer:
        pad_token_id = 0

        def batch_decode(self, ids: Any, **_: Any) -> list[str]:
            return [SAID[row[0]] for row in ids]

    compute = Q2ComputeMetrics(
        Tokenizer(), KNOWN, questions=ASKED, metrics="scale", **said(no_claim))
    ids = np.arange(len(SAID)).reshape(-1, 1)
    found = compute(SimpleNamespace(predictions=ids, label_ids=ids))
    return found["scale"], compute.signature


def by_lm_eval(no_claim: str | None) -> Found:
    from q2_metric.integrations.lm_eval.scoring import Options, score_responses
    from q2_metric.integrations.lm_eval.tables import PresentMean

    documents = [{"id": str(i), "knowledge": KNOWLEDGE, "history": [], "response": "",
                  "question": asked or ""} for i, asked in enumerate(ASKED)]
    given = {} if no_claim is None else {"metric_no_claim": no_claim}
    options = Options.from_metadata({"metrics": "scale", **given})
    answers, signatures = score_responses(SAID, documents, options, {"scale"})
    return PresentMean()([answer.get("scale") for answer in answers]), signatures["scale"]


def by_parlai(no_claim: str | None) -> Found:
    needs("parlai")
    from parlai_plugin.scores import LazyMean, ScoringOptions, scorer

    given = {} if no_claim is None else {"q2_no_claim": no_claim}
    ours = scorer(["scale"], ScoringOptions.of(given))
    mean = LazyMean("scale", [ours.add(Example(one, KNOWLEDGE, question=asked))
                              for one, asked in zip(SAID, ASKED, strict=True)])
    return mean.value(), ours.signatures(["scale"])["scale"]


def by_trl(no_claim: str | None) -> Found:
    from q2_metric.integrations.trl import Reward

    if no_claim == "exclude":
        pytest.skip("a reward of a completion that claims nothing is 0")
    reward = Reward("scale")
    values = reward(["?"] * len(SAID), SAID, knowledge=KNOWN, question=ASKED)
    return sum(value or 0.0 for value in values) / len(values), reward.signature


def by_torchmetrics(no_claim: str | None) -> Found:
    needs("torchmetrics")
    from q2_metric.integrations.torchmetrics import GroundedMean

    grounded = GroundedMean("scale", **said(no_claim))
    grounded.update(SAID[:2], KNOWN[:2])
    grounded.update(SAID[2:], KNOWN[2:], questions=ASKED[2:])
    return float(grounded.compute()["scale"]), grounded.signature


def by_lighteval(no_claim: str | None) -> Found:
    needs("lighteval")
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    from q2_metric.integrations.lighteval import grounded

    one = next(one for one in grounded("scale", **said(no_claim)) if one.metric_name == "scale")
    docs = [Doc(query="?", choices=[], gold_index=[],
                specific={"knowledge": KNOWLEDGE, "question": asked}) for asked in ASKED]
    values = one.sample_level_fn.compute([ModelResponse(text=[text]) for text in SAID], docs)
    return one.corpus_level_fn(values), one.sample_level_fn.judge.signature


def by_inspect(no_claim: str | None) -> Found:
    needs("inspect_ai")
    import asyncio

    from inspect_ai.scorer import Target

    from q2_metric.integrations.inspect_ai import grounded

    score = grounded("scale", **said(no_claim))
    values, signature = [], ""
    for text, asked in zip(SAID, ASKED, strict=True):
        state: Any = SimpleNamespace(metadata={"knowledge": KNOWLEDGE}, sample_id=1,
                                     input_text=asked, output=SimpleNamespace(completion=text))
        found = asyncio.run(score(state, Target("")))
        values.append(found.value["scale"])
        signature = found.metadata["signature"]
    return float(np.nanmean(values)), signature  # Inspect's mean leaves NaN out


def by_mlflow(no_claim: str | None) -> Found:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_metrics, grounded_scorer

    metric = next(one for one in grounded_metrics("scale", **said(no_claim))
                  if one.name == "scale")
    mean = metric.eval_fn(SAID, KNOWN, question=ASKED).aggregate_results["mean"]
    feedback = grounded_scorer("scale", **said(no_claim))(
        inputs={"knowledge": KNOWLEDGE, "question": ASKED[-1]}, outputs=SAID[-1], expectations=None)
    assert feedback[0].value == 0.5
    return mean, feedback[0].metadata["signature"]


def by_deepeval(no_claim: str | None) -> Found:
    needs("deepeval")
    from deepeval.test_case import LLMTestCase

    from q2_metric.integrations.deepeval import GroundedMetric

    if no_claim == "exclude":
        pytest.skip("a test case that claims nothing fails with 0")
    grounded = GroundedMetric("scale")
    values = [
        grounded.measure(LLMTestCase(
            input=asked or "?", actual_output=text, retrieval_context=[KNOWLEDGE]))
        for text, asked in zip(SAID, ASKED, strict=True)
    ]
    return sum(values) / len(values), grounded.signature


SHELLS: Sequence[Callable[[str | None], Found]] = (
    command_line, report, by_evaluate, by_trainer, by_lm_eval, by_parlai, by_trl,
    by_torchmetrics, by_lighteval, by_inspect, by_mlflow, by_deepeval,
)


@pytest.mark.parametrize("no_claim", [None, "zero", "exclude"])
@pytest.mark.parametrize("shell", SHELLS)
def test_one_number_and_one_signature(
    shell: Callable[[str | None], Found], no_claim: str | None
) -> None:
    value, signature = shell(no_claim)
    counted = no_claim or "zero"
    assert value == pytest.approx(WANTED[counted])
    assert signature == f"scale|version:test|no_claim:{counted}"
