"""The real command ``parlai`` with the bundled models: training, evaluation, export.

A miniature Wizard of Wikipedia is made, a small generator is trained on it, and what is
reported must be what ``q2 score`` says about the exported responses.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from parlai_wow import ROOT, command, dialogue, environment, miniature, run, write

from q2_metric.cli.main import main
from q2_metric.scoring.outcome import CLAIMLESS

pytest.importorskip("parlai", reason='ParlAI is not installed: pip install "q2-metric[parlai]"')

WOW = "wizard_of_wikipedia:generator"
DECODING = (
    "--skip-generation false --inference beam --beam-size 10 --beam-block-ngram 3 "
    "--beam-context-block-ngram 3"
).split()
SMALL = (
    "-m transformer/generator --n-layers 1 --embedding-size 16 --ffn-size 32 --n-heads 2".split()
)


def q2_score(path: Path) -> dict[str, float]:
    """The means that `q2 score` writes for the rows of a file."""
    out = path.with_suffix(".scores.jsonl")
    done = CliRunner().invoke(
        main, ["score", str(path), "--metrics", "q2,scale", "--out", str(out)], prog_name="q2"
    )
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    means = {
        # What claims nothing has no score there, and counts as 0 here.
        name: sum(0 if row["reason"] in CLAIMLESS else row[name] for row in rows) / len(rows)
        for name in ("q2", "q2_no_nli", "scale")
    }
    means["fallback"] = sum(bool(row["fallback"]) for row in rows) / len(rows)
    means["coverage"] = sum(bool(row["questions"]) for row in rows) / len(rows)
    return means


def ours(report: Mapping[str, Any], expected: Mapping[str, float]) -> dict[str, float]:
    return {name: float(report[name]) for name in expected}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds ``data``, and ``trained/model``, trained by the command with Q² as the judge."""
    folder = tmp_path_factory.mktemp("parlai")
    write(folder / "data", miniature() * 4, miniature())
    options = ["-dp", "data", "-t", WOW, "-mf", "trained/model", *SMALL, "--dict-lower", "true"]
    judge = "--metrics q2,f1 -vmt q2 -vmm max -vp 2".split()
    steps = "-eps 24 -veps 8 -bs 8 -lr 0.01 --optimizer adam --truncate 128 --seed 0".split()
    done = run("train_model", *options, *judge, *steps, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "train.log").write_text(done.stdout + done.stderr)
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, float]:
    """The scores of the exported responses, outside ParlAI."""
    options = ["-dp", str(folder / "data"), "-t", WOW, "-mf", str(folder / "trained/model")]
    out = folder / "responses.jsonl"
    command("q2_export", *options, *DECODING, "--out", str(out))
    return q2_score(out)


@pytest.fixture(autouse=True)
def own_datapath(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARLAI_DATAPATH", raising=False)


def evaluate(folder: Path, *arguments: str) -> Any:
    options = ["-dp", str(folder / "data"), "-t", WOW, "-mf", str(folder / "trained/model")]
    return command("eval_model", *options, "--metrics", "q2,scale", *DECODING, *arguments)


def test_training_keeps_the_model_that_q2_likes_best(folder: Path) -> None:
    log = (folder / "train.log").read_text()
    best = [float(found) for found in re.findall(r"new best q2: ([\d.]+)", log)]
    assert best == sorted(best)
    stats = json.loads((folder / "trained/model.trainstats").read_text())
    assert stats["best_valid"] == pytest.approx(best[-1], abs=1e-4)
    # The training is not the same in each run: its first responses may claim nothing (NaN), and
    # its last validation need not be the best.
    valid = [report["q2"] for report in stats["valid_reports"]]
    assert np.nanmax(valid) == stats["best_valid"]
    assert "q2" not in stats["train_reports"][0]  # no text is generated while training
    assert "coverage" in log.partition("running eval: test")[2]


def test_the_literal_command_reports_the_numbers_of_q2_score(
    folder: Path, expected: dict[str, float]
) -> None:
    literal = f"eval_model -t {WOW} -mf trained/model --metrics q2,scale,f1,bleu".split()
    report = folder / "report.json"
    done = run(*literal, *DECODING, "-rf", str(report), "-dp", "data", cwd=folder)
    assert done.returncode == 0, done.stderr
    saved = json.loads(report.read_text())["report"]
    assert ours(saved, expected) == pytest.approx(expected, abs=1e-9)
    assert {"f1", "bleu-4", "ppl"} <= set(saved)  # beside ParlAI's own
    assert "1 of 8 examples" in done.stdout + done.stderr
    assert 0 < saved["scale"] < 1


@pytest.mark.parametrize(
    "batching", ["-bs 3", "-dynb full -bs 4 --truncate 128", "-bs 4 -ltim 0.001"]
)
def test_batching_does_not_matter(folder: Path, expected: dict[str, float], batching: str) -> None:
    report = evaluate(folder, *batching.split())
    assert ours(report, expected) == pytest.approx(expected, abs=1e-6)


ZOO = {
    "memnet": {"wizard_of_wikipedia": "v0.5", "wizard_of_wikipedia/end2end_generator": ""},
    "dodeca": {"dodecadialogue": "v2.0", "dodecadialogue/wizard_of_wikipedia_ft": "v1.0"},
}
"""By preset: folders under ``models`` and the versions that mark them as downloaded."""


ARCHITECTURES = {
    "memnet": "-m projects.wizard_of_wikipedia.generator.agents:EndToEndAgent "
              "--lr-scheduler invsqrt --knowledge-truncate 32 --max-knowledge 32",
    "dodeca": "-m image_seq2seq --prepend-gold-knowledge true",
}
"""The paper's two systems."""


@pytest.mark.parametrize("name", ["memnet", "dodeca"])
def test_presets(folder: Path, tmp_path: Path, name: str) -> None:
    """The preset runs where the zoo's files are there; a small model of the same architecture,
    with a dictionary of byte pairs as theirs, stands in for them."""
    pytest.importorskip("subword_nmt", reason='pip install "q2-metric[parlai]"')
    small = "--n-layers 1 --embedding-size 8 --ffn-size 8 --n-heads 2 --n-positions 128".split()
    bpe = "--dict-tokenizer bpe --dict-lower true --truncate 64 -bs 8 -eps 1 --seed 0".split()
    trained = tmp_path / "trained"
    command("train_model", "-dp", str(folder / "data"), "-t", WOW, "-mf", str(trained / "model"),
            *ARCHITECTURES[name].split(), *small, *bpe)
    assert (trained / "model.dict.codecs").is_file()
    for zoo, version in ZOO[name].items():
        model = folder / "data/models" / zoo
        model.mkdir(parents=True, exist_ok=True)
        (model / ".built").write_text(f"2026-01-01\n{version}\n")
    for file in trained.iterdir():
        shutil.copy(file, model / file.name)
    shutil.rmtree(trained)
    out = tmp_path / "responses.jsonl"
    arguments = ["-o", f"q2/{name}", "-dp", str(folder / "data"), "--label-truncate", "12"]
    command("q2_export", *arguments, "--out", str(out))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["system"] for row in rows} == {model.name}
    report = command("eval_model", *arguments, "--metrics", "scale", "-rf", ".report")
    saved = json.loads((model / "model.report").read_text())
    opt = saved["opt"]
    assert saved["report"]["q2_signatures"]["scale"].startswith("scale|preset:bundled|")
    decoding = ("beam_size", "beam_block_ngram", "beam_context_block_ngram", "skip_generation")
    assert [opt[key] for key in decoding] == [10, 3, 3, False]
    assert opt["prepend_gold_knowledge"] is (name == "dodeca")
    assert float(report["scale"]) == pytest.approx(q2_score(out)["scale"], abs=1e-6)


def test_a_script_run_by_itself_finds_the_plug_in(folder: Path) -> None:
    script = [sys.executable, "-m", "parlai.scripts.eval_model", "-m", "repeat_label"]
    arguments = ["-dp", "data", "-t", WOW, "--metrics", "q2", "--q2-preset", "papr"]
    done = subprocess.run(
        [*script, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 1
    assert "q2-metric: unknown preset 'papr'" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_workers_give_the_numbers_of_one(folder: Path) -> None:
    arguments = ["-dp", str(folder / "data"), "-t", WOW, "-m", "repeat_label", "-bs", "2"]
    arguments = ["eval_model", *arguments, "--metrics", "q2,scale", "-ltim", "0"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    worker = [sys.executable, str(ROOT / "tests/parlai_worker.py")]
    workers = [
        subprocess.Popen(
            [*worker, str(rank), port, "worker", *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    logs = [process.communicate(timeout=600)[0] for process in workers]
    assert [process.returncode for process in workers] == [0, 0], "\n".join(logs)
    alone = {name: float(value) for name, value in command(*arguments).items()}
    for rank in range(2):
        together = json.loads((folder / f"worker{rank}.json").read_text())
        names = ("q2", "q2_no_nli", "coverage", "fallback", "scale", "exs")
        assert {n: together[n] for n in names} == pytest.approx({n: alone[n] for n in names})
        assert together["q2_no_knowledge"] == 1
    assert "1 of 8 examples" in logs[0]


def test_annotated_responses_of_wow(tmp_path: Path) -> None:
    """A model that says what was annotated gets the system scores of `q2 score`."""
    source = Path(os.environ.get("Q2_DATA_DIR", "")) / "wow_q2" / "cross_annotation.csv"
    if not source.is_file():
        pytest.skip("annotated WoW is not here: set Q2_DATA_DIR to a folder that has wow_q2")
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = rows[::48]
    episodes = [
        dialogue(row["topic"], [(row["message"], row["knowledge"], row["dodeca_response"])])
        for row in rows
    ]
    data = write(tmp_path / "data", miniature(), episodes)
    arguments = ["-dp", str(data), "-t", WOW, "-m", "repeat_label", "-bs", "16"]
    report = command("eval_model", *arguments, "--metrics", "q2,scale", "-ltim", "0")
    table = tmp_path / "dodeca.jsonl"
    with open(table, "w", encoding="utf-8") as file:
        for row in rows:
            fields = {"response": row["dodeca_response"], "knowledge": row["knowledge"]}
            file.write(json.dumps(fields) + "\n")
    expected = q2_score(table)
    assert float(report["exs"]) == len(rows)
    assert ours(report, expected) == pytest.approx(expected, abs=1e-6)
