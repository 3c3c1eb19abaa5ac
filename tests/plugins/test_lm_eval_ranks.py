"""Two ranks of lm-evaluation-harness: a language model, and a rank that has no value for some
metrics. The ranks are started once for all tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval")

import harness_models  # noqa: F401 (registers "hf-gloo")
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from local_models import llama

from q2_metric.integrations.lm_eval import tasks_folder

TESTS = Path(__file__).parents[1]
ROWS = [{"knowledge": "Rome has 7 hills.", "gold": "rome has 7 hills ."},  # of the first rank
        {"knowledge": "Tea is hot.", "gold": "lol"},  # of the second, which has no claim
        {"knowledge": "Milk is white.", "gold": "milk is red ."},
        {"knowledge": "Cats sleep.", "gold": "haha"}]
HAS_WOW = bool(os.environ.get("Q2_DATA_DIR"))
WITH_A_MODEL: dict[str, Any] = {
    "model": "hf-gloo", "tasks": ["q2_wow"], "device": "cpu", "limit": 7, "num_fewshot": 1,
    "gen_kwargs": "max_gen_toks=16"}

SCRIPT = """
import json, sys
import torch.distributed as dist
dist.init_process_group("gloo")
from fakes import FakeClaims
from q2_metric import metrics, scoring
from harness_models import GlooOracle
from lm_eval import evaluator, simple_evaluate
from lm_eval.tasks import TaskManager
from q2_metric.integrations.lm_eval import tasks_folder

evaluator.add_env_info = lambda results: None  # surveys the machine for seconds
rows, with_a_model, *outs = sys.argv[1:]

def run(out, task, settings, **metadata):
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False,
                          metadata=metadata)
    found = simple_evaluate(task_manager=manager, **settings)
    if found is not None:
        with open(out, "w") as file:
            json.dump([found["results"][task], found["samples"][task]], file, default=str)
    print(out, "has ended", file=sys.stderr, flush=True)
    dist.barrier()

if settings := json.loads(with_a_model):
    run(outs[0], "q2_wow", settings)
metrics.load_metrics = lambda names, *_, **__: [FakeClaims(name) for name in names]
real = scoring.score
def failing(loaded, *rows, **how):
    if loaded[0].name == "knowledge_f1":
        return real(loaded, *rows, **how)
    raise OSError("the disk is full")
for out, score in zip(outs[1:], (real, failing)):
    if dist.get_rank() == 1:
        scoring.score = score
    run(out, "q2_custom", {"model": GlooOracle(), "tasks": ["q2_custom"], "bootstrap_iters": 10},
        data_files=rows, metric_no_claim="exclude")
# A rank that ends while the other still talks to it may abort.
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return llama(tmp_path_factory.mktemp("models") / "llama")


def with_a_model(folder: Path) -> dict[str, Any]:
    return WITH_A_MODEL | {"model_args": {"pretrained": str(folder)}}


@pytest.fixture(scope="module")
def ranks(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str]:
    """The files that the runs wrote, and what they printed."""
    folder = tmp_path_factory.mktemp("ranks")
    rows, script = folder / "rows.jsonl", folder / "run.py"
    outs = [folder / f"{name}.json" for name in ("model", "whole", "failed")]
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
         str(script), str(rows), json.dumps(HAS_WOW and with_a_model(tiny_llama)),
         *map(str, outs)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
             "ACCELERATE_USE_CPU": "true"},  # else accelerate shards over GPUs only
        capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return outs, done.stderr


def test_a_rank_without_a_value_is_waited_for(ranks: tuple[list[Path], str]) -> None:
    """In the first run it has only responses that claim nothing; in the second it fails."""
    (_, *outs), said = ranks
    for out, silent in zip(outs, (0.5, 0.0), strict=True):
        table, samples = json.loads(out.read_text())
        assert table["q2,none"] == 0.5  # of the two responses that claim something
        assert table["q2_stderr,none"] == 0.0
        assert len(samples) == 4
        assert table["f1,none"] == 1.0
        assert table["no_claim,none"] == silent
    before, _, failed = said.partition(f"{outs[0]} has ended")
    assert "the disk is full" not in before
    assert "the disk is full" in failed


@pytest.mark.skipif(not HAS_WOW, reason="Q2_DATA_DIR is not set: the annotated data are not here")
def test_two_ranks_equal_one(ranks: tuple[list[Path], str], tiny_llama: Path) -> None:
    (out, *_), _ = ranks
    table, samples = json.loads(out.read_text(encoding="utf-8"))
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False)
    one = simple_evaluate(task_manager=manager, **with_a_model(tiny_llama))
    assert [sample["doc_id"] for sample in samples] == [0, 2, 4, 6, 1, 3, 5]  # two shards
    by_row = {sample["doc_id"]: sample for sample in samples}
    for sample in json.loads(json.dumps(one["samples"]["q2_wow"], default=str)):
        twin = by_row[sample["doc_id"]]
        assert sample["arguments"] == twin["arguments"]
        assert sample["filtered_resps"] == twin["filtered_resps"]
        for name in ("q2", "q2_no_nli", "scale", "f1", "knowledge_f1"):
            assert sample[name] == pytest.approx(twin[name], abs=1e-5)
    for name in ("q2", "q2_no_nli", "scale", "f1", "knowledge_f1", "bleu"):
        for key in (f"{name},none", f"{name}_stderr,none"):
            # BLEU's error is of resamples, which follow the order of the samples.
            if key != "bleu_stderr,none":
                assert table[key] == pytest.approx(one["results"]["q2_wow"][key], abs=1e-5), key
