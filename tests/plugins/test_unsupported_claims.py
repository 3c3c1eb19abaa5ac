"""Each shell names the claims that the knowledge does not support, as ``q2 score --out`` does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optional import needs

from q2_metric import InputError
from q2_metric.integrations.promptfoo import get_assert

KNOWLEDGE = ["The tower opened in 1889.", "A ticket costs 20 euros."]
SAID = "The tower opened in 1889. A ticket costs 35 euros."
WRONG = "A ticket costs 35 euros."
PLACE = (SAID.index(WRONG), len(SAID))


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The claims in the file that the command line writes."""
    folder = tmp_path_factory.mktemp("scored")
    row = {"response": SAID, "knowledge": "\n".join(KNOWLEDGE)}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    subprocess.run([sys.executable, "-m", "q2_metric", "score", "rows.jsonl", "--out", "out.jsonl",
                    "--metrics", "groundedness", "--quiet"], cwd=folder, check=True)
    found: list[dict[str, Any]] = json.loads((folder / "out.jsonl").read_text())["claims"]
    return found


def check(claims: list[dict[str, Any]], scored: list[dict[str, Any]]) -> None:
    """These are the unsupported ones of the file."""
    assert claims == [one for one in scored if one["verdict"] != "supported"]
    assert [(one["start"], one["end"], one["passage"]) for one in claims] == [
        (*PLACE, KNOWLEDGE[1])]


@pytest.mark.parametrize("own", ["q2", "scale", "groundedness"])
def test_evaluate_returns_claims(own: str, scored: list[dict[str, Any]]) -> None:
    needs("evaluate")
    from q2_metric.integrations import evaluate as modules

    module = {"q2": modules.Q2, "scale": modules.Scale,
              "groundedness": modules.Groundedness}[own]()
    found = module.compute(predictions=[SAID, "lol"], references=[KNOWLEDGE, KNOWLEDGE],
                           return_claims=True)
    assert found["claims"] == [scored, []]
    assert "scale" in found if own == "scale" else "scale" not in found
    assert "claims" not in module.compute(predictions=[SAID], references=[KNOWLEDGE])
    with pytest.raises(InputError, match="return_claims"):
        module.compute(predictions=[SAID], references=[KNOWLEDGE], numeric_only=True,
                       return_claims=True)


def test_inspect_has_them(scored: list[dict[str, Any]]) -> None:
    needs("inspect_ai")
    from inspect_ai.scorer import Target

    from q2_metric.integrations.inspect_ai import grounded

    state: Any = SimpleNamespace(metadata={"knowledge": KNOWLEDGE}, sample_id=1, input_text="?",
                                 output=SimpleNamespace(completion=SAID))
    found = asyncio.run(grounded()(state, Target("")))
    assert list(found.value)[:2] == ["groundedness", "q2"]
    check(found.metadata["unsupported"], scored)
    assert found.explanation.startswith(f'contradicted: "{WRONG}"')


def test_mlflow_has_them(scored: list[dict[str, Any]]) -> None:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_scorer

    first, *_ = grounded_scorer()(
        inputs={"knowledge": KNOWLEDGE}, outputs=SAID, expectations=None)
    assert first.name == "groundedness"
    check(json.loads(first.metadata["unsupported"]), scored)
    assert WRONG in first.rationale.splitlines()[0]


def test_deepeval_has_them(scored: list[dict[str, Any]]) -> None:
    needs("deepeval")
    from deepeval.test_case import LLMTestCase

    from q2_metric.integrations.deepeval import GroundedMetric

    metric = GroundedMetric()
    metric.measure(LLMTestCase(input="?", actual_output=SAID, retrieval_context=KNOWLEDGE))
    check(metric.unsupported, scored)
    assert metric.reason.startswith(f'contradicted: "{WRONG}"')
    assert f"groundedness: {metric.score:.3f}" in metric.reason
    assert "\n" not in metric.reason  # DeepEval's tables show one line
    assert metric.verbose_logs.splitlines()[0] in metric.reason
    assert "support of the weakest claim" in metric.verbose_logs
    asking = GroundedMetric("q2")
    asking.measure(LLMTestCase(input="?", actual_output="it aired until 1991 .",
                               retrieval_context=["It aired from 1983 to 1994."]))
    assert asking.reason == (
        'Q²: 0.000; 0.000 Until when did it air? response: "1991", knowledge: "1983 to 1994"')


def test_llama_index() -> None:
    core = needs("llama_index.core")
    from llama_index.core.base.response.schema import Response
    from llama_index.core.evaluation import BatchEvalRunner
    from llama_index.core.schema import NodeWithScore, TextNode

    from q2_metric.integrations.llama_index import GroundedEvaluator

    assert core
    judge = GroundedEvaluator()
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in KNOWLEDGE]
    wrong = judge.evaluate_response("What does it cost?", Response(SAID, source_nodes=nodes))
    assert (wrong.passing, wrong.response, wrong.contexts) == (False, SAID, KNOWLEDGE)
    assert wrong.feedback.startswith(f'contradicted: "{WRONG}" (characters 26 to 50)')
    right = judge.evaluate(response=KNOWLEDGE[0], contexts=KNOWLEDGE)
    assert right.passing
    assert right.score > 0.5 > wrong.score
    silent = judge.evaluate(response="lol", contexts=KNOWLEDGE)
    assert (silent.passing, silent.score) == (False, 0)
    blank = judge.evaluate(response=SAID, contexts=[" "])
    assert (blank.invalid_result, blank.score, blank.passing) == (True, None, None)
    with pytest.raises(InputError, match="no contexts"):
        judge.evaluate(response=SAID)
    with pytest.raises(InputError, match="contexts is a string, not a list"):
        judge.evaluate(response=SAID, contexts=KNOWLEDGE[0])
    with pytest.raises(InputError, match="no metric 'faith'"):
        GroundedEvaluator("faith")
    runner = BatchEvalRunner({"grounded": judge}, workers=2)
    found = asyncio.run(runner.aevaluate_responses(
        ["?", "?"], [Response(KNOWLEDGE[0], source_nodes=nodes),
                     Response(SAID, source_nodes=nodes)]))
    assert [one.passing for one in found["grounded"]] == [True, False]
    assert "groundedness|preset:bundled" in judge.signature


def test_promptfoo() -> None:
    """By its documented contract; docs/promptfoo.md has a configuration that it ran."""
    variables = {"context": KNOWLEDGE, "query": "What does it cost?"}
    wrong = get_assert(SAID, {"vars": variables})
    assert (wrong["pass"], wrong["score"] < 0.5) == (False, True)
    assert wrong["reason"].startswith(f'contradicted: "{WRONG}"')
    assert wrong["named_scores"]["groundedness"] == wrong["score"]
    json.dumps(wrong)
    config = {"metric": "scale", "threshold": 0.1, "knowledge": "sources"}
    low = get_assert(SAID, {"vars": {"sources": "\n".join(KNOWLEDGE)}, "config": config})
    assert low["pass"]
    assert list(low["named_scores"]) == ["scale", "no_claim"]
    assert get_assert("", {"vars": variables})["pass"] is False
    for context, message in (
        ({"vars": {"text": "a"}}, "vars of the test has no field 'context'; its fields are text"),
        ({"vars": variables, "config": {"threshold": 2}}, r"threshold must be .* not 2"),
        ({"vars": variables, "config": {"metrik": "q2"}}, "metrik"),
        ({"vars": {"context": " "}}, "no score"),
    ):
        with pytest.raises(InputError, match=message):
            get_assert(SAID, context)


def test_promptfoo_by_its_file(tmp_path: Path) -> None:
    """promptfoo loads the file by its path and asks for get_assert."""
    (tmp_path / "grounded.py").write_text(
        "from q2_metric.integrations.promptfoo import get_assert\n")
    script = (
        "import importlib.util, json, sys\n"
        "spec = importlib.util.spec_from_file_location('grounded', 'grounded.py')\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(json.dumps(module.get_assert(*json.load(sys.stdin))))\n")
    asked = json.dumps([SAID, {"vars": {"context": "\n".join(KNOWLEDGE)}}])
    done = subprocess.run([sys.executable, "-c", script], input=asked, cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["pass"] is False
