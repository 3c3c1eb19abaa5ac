"""Frameworks that fork after a metric has run, each in a process of its own, with a time limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from optional import needs, without

ROOT = Path(__file__).parents[2]
SECONDS = 300
"""After which a process counts as hanging; each takes a twentieth of it where nothing else runs."""

SAID = ["It opened in 1901.", "Rome has seven hills."] * 2
KNOWN = ["The tower opened in 1889.", "Rome was built on 7 hills."] * 2


def run(folder: Path, *command: str) -> str:
    """What a command prints; one that hangs, or fails, fails the test.

    Its environment is the test's, without what would keep a framework from forking.
    """
    env = {name: value for name, value in os.environ.items() if "MULTIPROC" not in name}
    env["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "tests")])
    done = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, errors = done.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, 9)
        pytest.fail("it hangs:\n" + "\n".join(done.communicate())[-3000:])
    assert done.returncode == 0, errors[-3000:]
    return out


def script(folder: Path, text: str) -> str:
    """The path of a script that begins with the rows."""
    path = folder / "script.py"
    path.write_text(f"SAID = {SAID!r}\nKNOWN = {KNOWN!r}\n{text}")
    return str(path)


MAP = """
import datasets, evaluate, q2_metric

q2 = evaluate.load(q2_metric.path("q2"))

def scores(rows):
    found = q2.compute(predictions=rows["said"], references=rows["known"], return_scores=True,
                       preset="bundled-small")
    return {"q2": found["q2_scores"]}

if __name__ == "__main__":
    here = scores({"said": SAID, "known": KNOWN})["q2"]
    rows = datasets.Dataset.from_dict({"said": SAID, "known": KNOWN})
    for processes in (1, 2):
        mapped = rows.map(scores, batched=True, num_proc=processes, load_from_cache_file=False)
        assert list(mapped["q2"]) == here, mapped["q2"]
    assert None not in here
"""


def test_datasets_map_after_the_metric_was_used(tmp_path: Path) -> None:
    needs("evaluate")
    without("transformers", tmp_path)  # evaluate would import it, for seconds
    run(tmp_path, script(tmp_path, MAP))


JOBLIB = """
import joblib
from q2_metric import Example, Scale

def values(metric):
    return [score.value for score in metric.score(list(map(Example, SAID, KNOWN)))]

if __name__ == "__main__":
    scale = Scale.from_preset("bundled-small")
    here = values(scale)
    for backend in ("multiprocessing", "loky"):
        print(backend, flush=True)
        found = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(values)(scale) for _ in range(2))
        assert found == [here, here], found
"""


def test_joblib(tmp_path: Path) -> None:
    needs("joblib")
    run(tmp_path, script(tmp_path, JOBLIB))


TRAINER = """
import sys
import torch, transformers
from q2_metric.integrations.trainer import Q2Callback
from local_models import gpt2

if __name__ == "__main__":
    folder = gpt2(__import__("pathlib").Path(sys.argv[1]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, pad_token="</s>")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    rows = [{"prompt": "where is the museum ?", "knowledge": known} for known in KNOWN]
    ids = tokenizer(["the museum was built by the king"] * 4)["input_ids"]
    data = [{"input_ids": row, "labels": row} for row in ids]
    arguments = transformers.TrainingArguments(
        sys.argv[1] + "-out", per_device_train_batch_size=2, num_train_epochs=2, report_to="none",
        eval_strategy="epoch", save_strategy="no", use_cpu=True, dataloader_num_workers=2,
        disable_tqdm=True)
    trainer = transformers.Trainer(
        model, arguments, train_dataset=data, eval_dataset=data, processing_class=tokenizer)
    trainer.add_callback(Q2Callback(trainer, rows, preset="bundled-small", metrics="q2,scale"))
    trainer.train()
    logged = [one["eval_scale"] for one in trainer.state.log_history if "eval_scale" in one]
    assert len(logged) == 2, trainer.state.log_history
"""


def test_the_workers_of_a_trainers_data_loader(tmp_path: Path) -> None:
    """They are forked anew in each epoch, after the metric ran at the end of the last."""
    needs("transformers")
    needs("accelerate")
    run(tmp_path, script(tmp_path, TRAINER), str(tmp_path / "gpt2"))


def test_lm_eval_with_gold_responses(tmp_path: Path) -> None:
    """The harness forks a pool for BLEU's standard error, after the metrics were let go."""
    needs("lm_eval")
    from local_models import gpt2

    folder = gpt2(tmp_path / "gpt2")
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(
        json.dumps({"knowledge": known, "gold": said}) + "\n"
        for said, known in zip(SAID, KNOWN, strict=True)))
    shown = run(tmp_path, "-m", "q2_metric", "lm-eval-path").strip()
    out = run(
        tmp_path, str(ROOT / "tests/quick_harness.py"), "run", "--model", "hf",
        "--model_args", f"pretrained={folder}", "--device", "cpu",
        "--include_path", shown, "--tasks", "q2_custom",
        "--metadata", json.dumps({"data_files": str(rows), "preset": "bundled-small"}),
        "--gen_kwargs", "max_gen_toks=12,do_sample=true,temperature=1",
        "--log_samples", "--output_path", "out")
    for name in ("q2", "scale", "f1", "bleu"):
        assert f"|{name} " in out, out
    (results,) = (tmp_path / "out").rglob("results_*.json")
    table = json.loads(results.read_text())["results"]["q2_custom"]
    assert isinstance(table["bleu_stderr,none"], float)
    assert table["no_claim,none"] < 1  # so that the networks ran
    (samples,) = (tmp_path / "out").rglob("samples_*.jsonl")
    assert len(samples.read_text().splitlines()) == len(SAID)
