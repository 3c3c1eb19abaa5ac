"""The same rows get the same numbers in every framework that has one file."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fakes import FakeClaims
from optional import needs

from q2_metric import InputError, ModelError, metrics, scoring
from q2_metric.scoring import judge as judging
from q2_metric.scoring.judge import Judge
from q2_metric.types import Example, Part, Score

KNOWLEDGE = "Rome has 7 hills. It lies on the Tiber."
TABLE = {"Rome has 7 hills.": 0.9, "Rome lies on the Rhine.": 0.2}
SAID = [*TABLE, "lol", "", "Is it big?"]
ROWS = [Example(said, KNOWLEDGE) for said in SAID]
NAMES = ("q2", "q2_no_nli", "coverage", "fallback", "no_claim")


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What claims something has the value of the table."""
    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [FakeClaims(n, TABLE) for n in names])
    monkeypatch.chdir(tmp_path)  # some write logs where they stand


Numbers = dict[str, list[float | None]]


def by_trl(no_claim: str) -> Numbers:
    from q2_metric.integrations.trl import Reward

    if no_claim != "zero":
        pytest.skip("a reward of a completion that claims nothing is 0")
    found = Reward("q2")(["?"] * len(SAID), SAID, knowledge=[KNOWLEDGE] * len(SAID))
    return {"q2": found}


def by_torchmetrics(no_claim: str) -> Numbers:
    needs("torchmetrics")
    from q2_metric.integrations.torchmetrics import GroundedMean

    found: Numbers = {name: [] for name in NAMES}
    for said in SAID:
        grounded = GroundedMean("q2", no_claim=no_claim)
        grounded.update([said], [KNOWLEDGE])
        for name, value in grounded.compute().items():
            found[name].append(None if value.isnan() else float(value))
    return found


def by_lighteval(no_claim: str) -> Numbers:
    needs("lighteval")
    from lighteval.metrics import apply_metric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    from q2_metric.integrations.lighteval import grounded

    docs = [Doc(query="?", choices=[], gold_index=[], specific={"knowledge": KNOWLEDGE})
            for _ in SAID]
    found = apply_metric(
        [ModelResponse(text=[said]) for said in SAID], docs, grounded("q2", no_claim=no_claim))
    return {name: [None if one[name] != one[name] else one[name] for one in found]
            for name in NAMES}


def by_inspect(no_claim: str) -> Numbers:
    needs("inspect_ai")
    import asyncio

    from inspect_ai.scorer import Target

    from q2_metric.integrations.inspect_ai import grounded

    score = grounded("q2", no_claim=no_claim)
    found = []
    for said in SAID:
        state: Any = SimpleNamespace(
            metadata={"knowledge": KNOWLEDGE}, sample_id=1, input_text="Where is Rome?",
            output=SimpleNamespace(completion=said))
        found.append(asyncio.run(score(state, Target(""))).value)
    return {name: [None if one[name] != one[name] else one[name] for one in found]
            for name in NAMES}


def by_mlflow_scorer(no_claim: str) -> Numbers:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_scorer

    scorer = grounded_scorer("q2", no_claim=no_claim)
    found = [
        {one.name: one.value for one in scorer(
            inputs={"knowledge": KNOWLEDGE}, outputs=said, expectations=None)}
        for said in SAID
    ]
    return {name: [one.get(name) for one in found] for name in NAMES}


def by_mlflow_metric(no_claim: str) -> Numbers:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_metrics

    return {
        metric.name: metric.eval_fn(SAID, [KNOWLEDGE] * len(SAID)).scores
        for metric in grounded_metrics("q2", no_claim=no_claim)
    }


def by_deepeval(no_claim: str) -> Numbers:
    needs("deepeval")
    from deepeval.test_case import LLMTestCase

    from q2_metric.integrations.deepeval import GroundedMetric

    if no_claim != "zero":
        pytest.skip("a test case that claims nothing fails with 0")
    grounded = GroundedMetric("q2")
    found = []
    for said in SAID:
        grounded.measure(LLMTestCase(
            input="?", actual_output=said, retrieval_context=[KNOWLEDGE]))
        found.append(grounded.score_breakdown)
        assert grounded.is_successful() == (said == "Rome has 7 hills.")
    return {name: [one[name] for one in found] for name in NAMES}


@pytest.mark.parametrize("no_claim", ["zero", "exclude"])
@pytest.mark.parametrize("framework", [
    by_trl, by_torchmetrics, by_lighteval, by_inspect, by_mlflow_scorer, by_mlflow_metric,
    by_deepeval,
])
def test_the_same_numbers(framework: Callable[[str], Numbers], no_claim: Any) -> None:
    found = framework(no_claim)
    loaded = scoring.load("q2", {})
    rows = scoring.score(loaded, ROWS)
    assert [row["q2"].value for row in rows] == [0.9, 0.2, None, None, None]
    for name, values in found.items():
        wanted = [scoring.row_numbers({"q2": row["q2"]}, no_claim)[name] for row in rows]
        assert values == [None if one is None else pytest.approx(one) for one in wanted], name
    if no_claim == "exclude":
        assert found["q2"][2:] == [None] * 3


def test_parts_of_a_score_are_said_in_words() -> None:
    """A logit such as -2.99 says nothing to a reader."""
    parts = (Part("weakest", -2.993, -0.914), Part("numbers", 0.5, 0.05))
    assert judging.said(Score(ROWS[0], 0.03, parts)) == (
        "0.030\n  lowers the score a lot: support of the weakest claim"
        "\n  raises the score a little: share of a claim's numbers found in the knowledge")


def test_what_a_score_rests_on_is_said() -> None:
    judge = Judge("scale,q2")
    first, _, silent, empty, _ = judge(ROWS)
    assert first.why == "SCALE: 0.900\n  0.900 supported: Rome has 7 hills.\nQ²: 0.900"
    assert silent.why.startswith("SCALE: the response claims nothing")
    assert "the response is empty" in empty.why
    (unknown,) = judge([Example("Rome has 7 hills.", " ")])
    assert unknown.numbers["q2"] is None
    assert "no knowledge" in unknown.why


def test_rows_are_scored_once() -> None:
    judge = Judge("q2")
    assert judge(ROWS) == judge(list(ROWS))
    (metric,) = judge.metrics
    assert isinstance(metric, FakeClaims)
    assert len(metric.batches) == 1


def test_a_judge_can_be_copied_and_pickled() -> None:
    judge = Judge("q2", "exclude")
    assert copy.deepcopy(judge) is copy.copy(judge) is judge
    again = pickle.loads(pickle.dumps(judge))
    assert (again.no_claim, again(ROWS)) == ("exclude", judge(ROWS))


def test_a_row_that_a_metric_fails_on_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(FakeClaims):
        def score(self, examples: Sequence[Example], **_: Any) -> Any:
            if any("Rhine" in example.response for example in examples):
                raise InputError("too long")
            return super().score(examples)

    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [Failing("q2", TABLE)])
    found = Judge("q2")(ROWS)
    assert [one.numbers["q2"] for one in found] == [0.9, None, 0.0, 0.0, 0.0]
    assert "response 2 has no score" in caplog.text
    assert "failed" in found[1].why


def test_mlflow_writes_a_missing_response_as_nan() -> None:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_metrics, grounded_scorer

    nothing = float("nan")
    (score,) = (one for one in grounded_metrics("q2") if one.name == "q2")
    found = score.eval_fn([SAID[0], None, nothing, SAID[0]], [KNOWLEDGE] * 3 + [nothing])
    assert found.scores == [0.9, 0.0, 0.0, None]
    for outputs in (None, nothing):
        feedback = grounded_scorer("q2")(
            inputs={"knowledge": KNOWLEDGE}, outputs=outputs, expectations=None)
        assert {one.name: one.value for one in feedback}["no_claim"] == 1.0


def test_a_training_goes_on_without_a_metric_that_breaks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    needs("torchmetrics")
    from q2_metric.integrations.torchmetrics import GroundedMean

    class Breaking(FakeClaims):
        def score(self, examples: Sequence[Example], **_: Any) -> Any:
            raise RuntimeError("CUDA error: the device is lost")

    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [
        Breaking("q2"), FakeClaims("scale", TABLE)])
    grounded = GroundedMean("q2,scale")
    grounded.update(SAID, [KNOWLEDGE] * len(SAID))
    found = grounded.compute()
    assert found["q2"].isnan()
    assert float(found["scale"]) == pytest.approx(1.1 / 5)
    assert "q2 failed and has no numbers for these rows" in caplog.text
    strict = GroundedMean("q2,scale", strict=True)
    with pytest.raises(ModelError, match="the device is lost"):
        strict.update(SAID, [KNOWLEDGE] * len(SAID))

    class Odd(FakeClaims):
        """Fails on each row, for a reason of its own."""

        def score(self, examples: Sequence[Example], **_: Any) -> Any:
            raise ValueError("no such row")

    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [Odd("q2")])
    few = GroundedMean("q2", strict=True)
    with pytest.raises(ModelError, match="q2 failed on all 2 responses of a batch"):
        few.update(["Rome has 7 hills.", "Rome is old."], [KNOWLEDGE] * 2)


def test_a_collection_does_not_join_metrics_with_other_settings(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchmetrics compares the states after the first batch, which may be equal by chance."""
    needs("torchmetrics")
    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [FakeClaims("q2")])
    from torchmetrics import MetricCollection

    from q2_metric.integrations.torchmetrics import GroundedMean

    both = MetricCollection({
        name: GroundedMean("q2", no_claim=name) for name in ("zero", "exclude")})
    both.update(["Rome has 7 hills."], [KNOWLEDGE])
    both.update(["Thanks a lot!"], [KNOWLEDGE])
    found = {float(value) for name, value in both.compute().items() if name.endswith("q2")}
    assert found == {0.25, 0.5}


def threshold_of_deepeval(threshold: Any) -> None:
    needs("deepeval")
    from q2_metric.integrations.deepeval import GroundedMetric

    GroundedMetric("q2", threshold=threshold)


def threshold_of_llama_index(threshold: Any) -> None:
    needs("llama_index.core")
    from q2_metric.integrations.llama_index import GroundedEvaluator

    GroundedEvaluator("q2", threshold=threshold)


def threshold_of_promptfoo(threshold: Any) -> None:
    from q2_metric.integrations.promptfoo import get_assert

    config = {"metric": "q2", "threshold": threshold}
    get_assert(SAID[0], {"vars": {"context": KNOWLEDGE}, "config": config})


def threshold_of_assert_grounded(threshold: Any) -> None:
    from q2_metric.testing import assert_grounded

    assert_grounded(SAID[0], KNOWLEDGE, metric="q2", threshold=threshold)


@pytest.mark.parametrize("wrong", [5, -0.1, float("nan"), "0.5", None, True])
@pytest.mark.parametrize("shell", [
    threshold_of_deepeval, threshold_of_llama_index, threshold_of_promptfoo,
    threshold_of_assert_grounded,
])
def test_a_threshold_that_no_score_can_have_is_refused(
    shell: Callable[[Any], None], wrong: Any
) -> None:
    shell(0.5)
    with pytest.raises(InputError, match=r"threshold must be a number in \[0, 1\], not "):
        shell(wrong)


def no_claim_of_torchmetrics(wrong: Any) -> None:
    needs("torchmetrics")
    from q2_metric.integrations.torchmetrics import GroundedMean

    GroundedMean("q2", no_claim=wrong)


def no_claim_of_inspect(wrong: Any) -> None:
    needs("inspect_ai")
    from q2_metric.integrations.inspect_ai import grounded

    grounded("q2", no_claim=wrong)


def no_claim_of_lighteval(wrong: Any) -> None:
    needs("lighteval")
    from q2_metric.integrations.lighteval import grounded

    grounded("q2", no_claim=wrong)


def no_claim_of_mlflow_scorer(wrong: Any) -> None:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_scorer

    grounded_scorer("q2", no_claim=wrong)


def no_claim_of_mlflow_metrics(wrong: Any) -> None:
    needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_metrics

    grounded_metrics("q2", no_claim=wrong)


@pytest.mark.parametrize("shell", [
    no_claim_of_torchmetrics, no_claim_of_inspect, no_claim_of_lighteval,
    no_claim_of_mlflow_scorer, no_claim_of_mlflow_metrics, lambda wrong: Judge("q2", wrong),
])
def test_a_wrong_no_claim_is_refused(shell: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match="no_claim must be zero or exclude, not 'x'"):
        shell("x")


@pytest.mark.parametrize(("values", "message"), [
    ((3, KNOWLEDGE, None), "the response of row 3 is a number"),
    (("a", {"text": "b"}, None), "the knowledge of row 3 is an object"),
    (("a", ["b", 1], None), r"the knowledge of row 3\[1\]"),
    (("a", "b", [1]), r"the history of row 3\[0\]"),
])
def test_a_value_that_is_no_text_is_named(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scoring.given(*values, "row 3")


@pytest.mark.parametrize(("columns", "message"), [
    (("it is hot", "Tea is hot."), "responses is a string, not a list with an item for each"),
    ((["it is hot"], {"Tea is hot."}), "knowledge is a set, not a list"),
    ((["it is hot"], {"a": "Tea is hot."}), "knowledge is an object, not a list"),
    ((["a"], ["b"], "c"), "histories is a string, not a list"),
    ((["a"], np.array([["b"]])), "knowledge is a ndarray, not a list"),
    ((["a"], ["b", "c"]), "there are 1 responses, 2 knowledge$"),
    ((["a"], ["b"], [[], []]), "there are 1 responses, 1 knowledge, 2 histories$"),
    ((["a"], [{"b"}]), "the knowledge of row 0 is a set, not a string"),
])
def test_a_column_that_has_no_rows_or_no_order(columns: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scoring.given_columns(*columns)
    arrays = scoring.given_columns(np.array(["a", "b"]), (["c", "d"], "e"))
    assert [one.knowledge for one in arrays] == ["c\nd", "e"]
