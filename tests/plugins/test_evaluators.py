"""Evaluators of pydantic-evals, LangSmith, Langfuse and Haystack, run by the frameworks' own
classes; and what Inspect AI finds by itself. The metric is a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClaims
from optional import needs

from q2_metric import InputError, metrics

KNOWLEDGE = ["Rome has 7 hills.", "It lies on the Tiber."]
TABLE = {"Rome has 7 hills.": 0.9, "Rome lies on the Rhine.": 0.2}
SAID = [*TABLE, "lol"]
NUMBERS = {"Rome has 7 hills.": 0.9, "Rome lies on the Rhine.": 0.2, "lol": 0.0}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [FakeClaims(n, TABLE) for n in names])


def by_pydantic_evals(said: str, inputs: Any, output: Any, **settings: Any) -> dict[str, Any]:
    evals = needs("pydantic_evals")
    from q2_metric.integrations.pydantic_evals import Grounded

    data = evals.Dataset(name="rome", cases=[evals.Case(name="a", inputs=inputs)],
                         evaluators=[Grounded("q2", **settings)])
    report = data.evaluate_sync(lambda _inputs: output, progress=False)
    [case] = report.cases
    if case.evaluator_failures:
        raise InputError(str(case.evaluator_failures[0]))
    return {name: (one.value, one.reason) for name, one in case.scores.items()}


def by_langsmith(said: str, inputs: Any, output: Any, **settings: Any) -> dict[str, Any]:
    needs("langsmith")
    from datetime import UTC, datetime
    from uuid import uuid4

    from langsmith.evaluation.evaluator import run_evaluator  # as evaluate() does
    from langsmith.schemas import Example, Run

    from q2_metric.integrations.langsmith import grounded

    now = datetime.now(UTC)
    run = Run(id=uuid4(), name="a", start_time=now, run_type="chain", inputs=inputs,
              outputs=output, trace_id=uuid4())
    example = Example(id=uuid4(), inputs=inputs, outputs={}, dataset_id=uuid4(), created_at=now)
    judge = run_evaluator(grounded("q2", **settings))
    found = judge.evaluate_run(run, example)
    return {one.key: (one.score, one.comment) for one in found["results"]}


def by_langfuse(said: str, inputs: Any, output: Any, **settings: Any) -> dict[str, Any]:
    langfuse = needs("langfuse")
    from q2_metric.integrations.langfuse import grounded

    client = langfuse.Langfuse(public_key="pk", secret_key="sk", tracing_enabled=False,
                               base_url="http://127.0.0.1:9")
    judge = grounded("q2", **settings)
    judge(input=inputs, output=output, expected_output=None, metadata=None)  # raises what it raises
    result = client.run_experiment(
        name="rome", data=[{"input": inputs}], task=lambda *, item, **_: output,
        evaluators=[judge])
    [item] = result.item_results
    return {one.name: (one.value, one.comment) for one in item.evaluations}


SHELLS = [by_pydantic_evals, by_langsmith, by_langfuse]
Shell = Callable[..., dict[str, Any]]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("said", SAID)
def test_scores_and_reasons(shell: Shell, said: str) -> None:
    found = shell(said, {"question": "?", "knowledge": KNOWLEDGE}, {"answer": said})
    assert found["q2"][0] == pytest.approx(NUMBERS[said])
    assert found["no_claim"][0] == (said == "lol")
    assert ("claims nothing" in found["q2"][1]) is (said == "lol")


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("shell", SHELLS)
def test_the_knowledge_of_the_output_comes_first(shell: Shell) -> None:
    """In RAG, the output names what was retrieved."""
    found = shell(SAID[0], {"contexts": 3}, {"text": SAID[0], "contexts": KNOWLEDGE},
                  knowledge="contexts", response="text")
    assert found["q2"][0] == pytest.approx(0.9)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("inputs", "output", "words"), [
    ({"question": "?"}, {"answer": "x"}, "no record has the field 'knowledge'.*'answer', 'questi"),
    ({"knowledge": "x"}, {"text": "x"}, "the output has no field 'answer'.*its fields are 'text'"),
    ({"knowledge": 3}, {"answer": "x"}, "the knowledge of this output is a number"),
])
def test_a_record_without_its_fields(shell: Shell, inputs: Any, output: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        shell("x", inputs, output)


@pytest.mark.usefixtures("fake")
def test_haystack_in_a_pipeline() -> None:
    haystack = needs("haystack")
    from q2_metric.integrations.haystack import GroundedComponent

    pipeline = haystack.Pipeline()
    pipeline.add_component("grounded", GroundedComponent("q2"))
    asked = {"predicted_answers": SAID, "contexts": [KNOWLEDGE] * 3, "questions": ["?"] * 3}
    found = pipeline.run({"grounded": asked})["grounded"]
    assert found["individual_scores"] == pytest.approx([0.9, 0.2, 0.0])
    assert found["score"] == pytest.approx(1.1 / 3)
    assert found["signature"]
    assert "claims nothing" in found["results"][2]["reason"]
    with pytest.raises(Exception, match="there are 3 responses, 2 knowledge, 3 questions"):
        pipeline.run({"grounded": {**asked, "contexts": [KNOWLEDGE] * 2}})
    again = haystack.Pipeline.loads(
        pipeline.dumps(), allowed_modules=["q2_metric.integrations.haystack"])
    assert again.run({"grounded": asked})["grounded"]["score"] == found["score"]


def test_inspect_finds_the_scorer_by_its_name(tmp_path: Path) -> None:
    """As an installed package: its entry points are made from setup.cfg."""
    inspect = needs("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver  # a model of Inspect's, the mock too, would fetch a vocabulary to count tokens
    def say() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("mockllm/model", SAID[0])
            return state

        return solve

    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", "from setuptools import setup; setup()", "egg_info",
                    "-e", str(tmp_path)], cwd=root, check=True, capture_output=True)
    place = tmp_path / "q2_metric-0.dist-info"
    (tmp_path / "q2_metric.egg-info").rename(place)
    (place / "PKG-INFO").rename(place / "METADATA")
    (place / "direct_url.json").write_text(json.dumps(
        {"url": root.as_uri(), "dir_info": {"editable": True}}))
    (log,) = inspect.eval(
        inspect.Task(dataset=[Sample(input="?", metadata={"knowledge": KNOWLEDGE})], solver=say()),
        model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none")
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "score", log.location, "--scorer",
         "q2_metric/groundedness", "--overwrite", "--display", "none"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}, capture_output=True,
        text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    scored = inspect.log.read_eval_log(log.location)
    assert scored.status == "success", scored.error
    means = {one.name: one.metrics["mean"].value for one in scored.results.scores}
    assert means["groundedness"] > 0.5
    assert {one.scorer for one in scored.results.scores} == {"groundedness"}
