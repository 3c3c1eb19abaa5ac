"""Two ranks of lm-evaluation-harness, of which one has no value for some metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

TESTS = Path(__file__).parents[1]
ROWS = [{"knowledge": "Rome has 7 hills.", "gold": "rome has 7 hills ."},  # of the first rank
        {"knowledge": "Tea is hot.", "gold": "lol"},  # of the second, which has no claim
        {"knowledge": "Milk is white.", "gold": "milk is red ."},
        {"knowledge": "Cats sleep.", "gold": "haha"}]

SCRIPT = """
import json, sys
import torch.distributed as dist
dist.init_process_group("gloo")
from fakes import FakeClaims
from q2_metric import metrics, scoring
metrics.load_metrics = lambda names, *_, **__: [FakeClaims(name) for name in names]
from harness_models import GlooOracle
from lm_eval import evaluator, simple_evaluate
from lm_eval.tasks import TaskManager
from q2_metric.integrations.lm_eval import tasks_folder

evaluator.add_env_info = lambda results: None  # surveys the machine for seconds
rows, *outs = sys.argv[1:]
real = scoring.score
def failing(loaded, *rows, **how):
    if loaded[0].name == "knowledge_f1":
        return real(loaded, *rows, **how)
    raise OSError("the disk is full")
for out, score in zip(outs, (real, failing)):
    if dist.get_rank() == 1:
        scoring.score = score
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False,
                          metadata={"data_files": rows, "metric_no_claim": "exclude"})
    found = simple_evaluate(GlooOracle(), tasks=["q2_custom"], task_manager=manager,
                            bootstrap_iters=10)
    if found is not None:
        with open(out, "w") as file:
            json.dump([found["results"]["q2_custom"], found["samples"]["q2_custom"]], file,
                      default=str)
    print("a run has ended", file=sys.stderr, flush=True)
    dist.barrier()
dist.destroy_process_group()
"""


def test_a_rank_without_a_value_is_waited_for(tmp_path: Path) -> None:
    """In the first run it has only responses that claim nothing; in the second it fails."""
    rows, script = tmp_path / "rows.jsonl", tmp_path / "run.py"
    outs = [tmp_path / "whole.json", tmp_path / "failed.json"]
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
         str(script), str(rows), *map(str, outs)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    for out, silent in zip(outs, (0.5, 0.0), strict=True):
        table, samples = json.loads(out.read_text())
        assert table["q2,none"] == 0.5  # of the two responses that claim something
        assert table["q2_stderr,none"] == 0.0
        assert len(samples) == 4
        assert table["f1,none"] == 1.0
        assert table["no_claim,none"] == silent
    whole, _, failed = done.stderr.partition("a run has ended")
    assert "the disk is full" not in whole
    assert "the disk is full" in failed
