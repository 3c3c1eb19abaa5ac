"""Real runs of the frameworks that have one file; the metric is a stand-in."""

from __future__ import annotations

import json
import math
import multiprocessing
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClaims
from optional import needs

from q2_metric import InputError, metrics

KNOWLEDGE = "Rome has 7 hills. It lies on the Tiber."
TABLE = {"Rome has 7 hills.": 0.9, "Rome lies on the Rhine.": 0.2}
SAID = [*TABLE, "lol"]
MEAN = 1.1 / 3


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [FakeClaims(n, TABLE) for n in names])
    monkeypatch.chdir(tmp_path)


# --- torchmetrics and Lightning -----------------------------------------------------------


def _half(rank: int, folder: str) -> None:
    """What one of two processes does."""
    import torch

    from q2_metric.integrations.torchmetrics import GroundedMean

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    grounded = GroundedMean("q2")
    own = SAID[rank::2]  # two responses and one: the mean is of responses, not of processes
    grounded.update(own, [KNOWLEDGE] * len(own))
    found = {name: float(value) for name, value in grounded.compute().items()}
    Path(folder, f"{rank}.json").write_text(json.dumps(found))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, with the stand-in")
def test_torchmetrics_over_two_processes(tmp_path: Path) -> None:
    needs("torchmetrics")
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_half, args=(rank, str(tmp_path))) for rank in (0, 1)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(120)
        assert run.exitcode == 0
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    assert (first["q2"], first["no_claim"]) == (pytest.approx(MEAN), pytest.approx(1 / 3))


def test_torchmetrics_keeps_its_promises() -> None:
    needs("torchmetrics")
    from q2_metric.integrations.torchmetrics import GroundedMean

    grounded = GroundedMean("q2", no_claim="exclude", sync_on_compute=False)
    assert all(math.isnan(value) for value in grounded.compute().values())
    batch = grounded(SAID[:1], [[KNOWLEDGE]], [["How many?"]])
    assert float(batch["q2"]) == pytest.approx(0.9)
    grounded.update(SAID[1:], [KNOWLEDGE] * 2)
    assert float(grounded.compute()["q2"]) == pytest.approx(0.55)
    copied = grounded.clone()
    grounded.reset()
    assert math.isnan(float(grounded.compute()["q2"]))
    assert float(copied.compute()["q2"]) == pytest.approx(0.55)
    with pytest.raises(InputError, match=r"there are 2 responses, 1 knowledge$"):
        grounded.update(SAID[:2], [KNOWLEDGE])
    with pytest.raises(ValueError, match="decodnig"):
        GroundedMean("q2", decodnig="beam")


def test_lightning_logs_it_and_keeps_the_best(tmp_path: Path) -> None:
    lightning = needs("lightning")
    import torch

    from q2_metric.integrations.torchmetrics import GroundedMean

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.grounded = GroundedMean("q2")

        def training_step(self, batch: Any, _: int) -> Any:
            return self.layer(batch.float()).mean()

        def validation_step(self, batch: Any, _: int) -> None:
            said = [SAID[int(i)] for i in batch.flatten()]
            self.grounded.update(said, [KNOWLEDGE] * len(said))

        def on_validation_epoch_end(self) -> None:
            self.log_dict(self.grounded.compute())
            self.grounded.reset()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    rows = torch.utils.data.DataLoader(torch.arange(3).reshape(3, 1), batch_size=2)
    best = lightning.pytorch.callbacks.ModelCheckpoint(monitor="q2", mode="max", dirpath=tmp_path)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, callbacks=[best],
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), rows, rows)
    assert float(trainer.callback_metrics["q2"]) == pytest.approx(MEAN)
    assert float(trainer.callback_metrics["no_claim"]) == pytest.approx(1 / 3)
    assert best.best_model_score == pytest.approx(MEAN)


# --- evaluation frameworks ----------------------------------------------------------------


def test_inspect_eval(tmp_path: Path) -> None:
    inspect = needs("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    from q2_metric.integrations.inspect_ai import grounded

    @solver  # a model of Inspect's, the mock too, would fetch a vocabulary to count tokens
    def say() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("mockllm/model", SAID[int(state.input_text)])
            return state

        return solve

    samples = [Sample(input=str(i), metadata={"knowledge": KNOWLEDGE}) for i in range(3)]
    (log,) = inspect.eval(
        inspect.Task(dataset=samples, solver=say(), scorer=grounded("q2", no_claim="exclude")),
        model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    means = {one.name: one.metrics["mean"].value for one in log.results.scores}
    assert means["q2"] == pytest.approx(0.55)
    assert means["no_claim"] == pytest.approx(1 / 3)
    scores = [sample.scores["grounded"] for sample in log.samples]
    assert [score.answer for score in scores] == SAID
    assert scores[0].explanation == "Q²: 0.900"
    assert "claims nothing" in scores[2].explanation
    assert scores[0].metadata["signature"] == "q2|version:test|no_claim:exclude"
    (failed,) = inspect.eval(
        inspect.Task(dataset=[Sample(input="0", metadata={"text": "a"})], solver=say(),
                     scorer=grounded("q2")),
        model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert ("the metadata of sample 1 has no field 'knowledge'; its fields are text"
            in failed.error.message)


def test_mlflow_models_evaluate(tmp_path: Path) -> None:
    mlflow = needs("mlflow")
    import pandas as pd

    from q2_metric.integrations.mlflow import grounded_metrics

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    frame = pd.DataFrame({"said": SAID, "text": [KNOWLEDGE] * 3})
    with mlflow.start_run():
        found = mlflow.models.evaluate(
            data=frame, predictions="said", extra_metrics=grounded_metrics("q2"),
            evaluator_config={"col_mapping": {"knowledge": "text"}})
    assert found.metrics["q2/mean"] == pytest.approx(MEAN)
    assert found.metrics["no_claim/mean"] == pytest.approx(1 / 3)
    table = found.tables["eval_results_table"]
    assert list(table["q2/score"]) == pytest.approx([0.9, 0.2, 0.0])
    assert "claims nothing" in table["q2/justification"][2]


def test_mlflow_genai_evaluate(tmp_path: Path) -> None:
    mlflow = needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_scorer

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    rows = [{"inputs": {"question": "?"}, "outputs": said,
             "expectations": {"knowledge": KNOWLEDGE}} for said in SAID]
    found = mlflow.genai.evaluate(data=rows, scorers=[grounded_scorer("q2")])
    assert found.metrics["q2/mean"] == pytest.approx(MEAN)
    assert found.metrics["no_claim/mean"] == pytest.approx(1 / 3)


def test_mlflow_says_why_a_row_has_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the columns of the scores, where users look, and not in one named after the scorer."""
    mlflow = needs("mlflow")
    from q2_metric.integrations.mlflow import grounded_scorer

    class Failing(FakeClaims):
        def score(self, examples: Any, **_: Any) -> Any:
            if any("Rhine" in example.response for example in examples):
                raise InputError("too long")
            return super().score(examples)

    monkeypatch.setattr(
        metrics, "load_metrics", lambda names, *_, **__: [Failing(n, TABLE) for n in names])
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    known = {"knowledge": KNOWLEDGE}
    rows = [{"inputs": {"question": str(i)}, "outputs": said, "expectations": expected}
            for i, (said, expected) in enumerate([
                (SAID[0], known), (SAID[0], {"text": KNOWLEDGE}), (SAID[0], {"knowledge": " "}),
                (SAID[1], known), ("lol", known)])]
    found = mlflow.genai.evaluate(data=rows, scorers=[grounded_scorer("q2,scale")])
    table = found.result_df.set_index(found.result_df["request"].map(lambda one: one["question"]))
    table = table.sort_index()
    for name in ("q2", "scale"):
        assert found.metrics[f"{name}/mean"] == pytest.approx(0.45)  # of the first and the last
        assert table[f"{name}/value"].isna().tolist() == [False, True, True, True, False]
        assert table[f"{name}/error_message"].tolist()[1:4] == [
            "there is no knowledge to compare with", "there is no knowledge to compare with",
            "the metric failed on this response"]
    assert not [column for column in table if column.startswith("grounded/")]


LIGHTEVAL_TASK = """
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc
from q2_metric.integrations.lighteval import grounded

def prompt(row, task_name=None):
    return Doc(query=row["question"], choices=[], gold_index=[], task_name=task_name,
               specific={"knowledge": row["knowledge"]})

TASKS_TABLE = [LightevalTaskConfig(
    name="answers", prompt_function=prompt, hf_repo="FOLDER", hf_subset="default",
    hf_avail_splits=["train"], evaluation_splits=["train"], generation_size=16,
    metrics=grounded("q2"))]
"""


@pytest.fixture
def without_their_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """When lighteval imports its own tasks, one downloads a file."""
    needs("lighteval")
    from lighteval.tasks.registry import Registry

    monkeypatch.setattr(Registry, "_load_from_files", lambda *_, **__: {})
    monkeypatch.setattr(Registry, "_load_from_subdirs", lambda *_, **__: {})


@pytest.mark.usefixtures("without_their_tasks")
def test_the_command_of_lightevals_page(tmp_path: Path) -> None:
    """With the page's own task, and a model without a chat template."""
    needs("torch")
    from lighteval.__main__ import app
    from local_models import gpt2
    from typer.testing import CliRunner

    page = (Path(__file__).parents[2] / "docs" / "lighteval.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "data").mkdir()
    rows = [{"question": "How many?", "knowledge": KNOWLEDGE}] * 2
    (tmp_path / "data" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("answers_task.py").write_text(code.replace("/data/answers", str(tmp_path / "data")))
    model = gpt2(tmp_path / "model")
    done = CliRunner().invoke(app, [
        "accelerate", f"model_name={model},batch_size=2", "answers|0", "--custom-tasks",
        "answers_task.py", "--output-dir", "out", "--save-details"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    [results] = Path("out").rglob("results_*.json")
    found = json.loads(results.read_text())["results"]["answers|0"]
    names = ["q2", "q2_no_nli", "scale", "coverage", "fallback", "no_claim"]
    assert set(found) == {*names, *(f"{name}_stderr" for name in names)}
    assert list(Path("out").rglob("details_*.parquet"))


@pytest.mark.usefixtures("without_their_tasks")
def test_lighteval_pipeline(tmp_path: Path) -> None:
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

    class Model(DummyModel):  # type: ignore[misc]
        def greedy_until(self, docs: Any) -> Any:
            return [ModelResponse(text=[SAID[int(doc.query)]]) for doc in docs]

    data = tmp_path / "data"
    data.mkdir()
    rows = [{"question": str(i), "knowledge": KNOWLEDGE} for i in range(3)]
    (data / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = tmp_path / "answers_task.py"
    task.write_text(LIGHTEVAL_TASK.replace("FOLDER", str(data)))
    tracker = EvaluationTracker(output_dir=str(tmp_path / "out"), save_details=False)
    pipeline = Pipeline(
        tasks="answers|0", model=Model(DummyModelConfig()), evaluation_tracker=tracker,
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.NONE, custom_tasks_directory=str(task)))
    pipeline.evaluate()
    found = pipeline.get_results()["results"]["all"]
    assert found["q2"] == pytest.approx(MEAN)
    assert found["no_claim"] == pytest.approx(1 / 3)
    assert found["q2_stderr"] > 0
    assert (tmp_path / "out").exists() is False
    pipeline.save_and_push_results()
    assert list((tmp_path / "out").rglob("results_*.json"))


def test_deepeval_evaluate() -> None:
    deepeval = needs("deepeval")
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from q2_metric.integrations.deepeval import GroundedMetric

    cases = [LLMTestCase(input="?", actual_output=said, context=[KNOWLEDGE]) for said in SAID]
    found = deepeval.evaluate(
        cases, [GroundedMetric("q2", threshold=0.6)],
        async_config=AsyncConfig(run_async=True),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False))
    by_said = {one.actual_output: one.metrics_data[0] for one in found.test_results}
    assert {said: one.score for said, one in by_said.items()} == {**TABLE, "lol": 0.0}
    assert [by_said[said].success for said in SAID] == [True, False, False]
    assert "claims nothing" in by_said["lol"].reason
    with pytest.raises(InputError, match=r"no knowledge.* is retrieval_context or context"):
        GroundedMetric("q2").measure(LLMTestCase(input="?", actual_output="a"))
