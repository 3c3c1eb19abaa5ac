"""``q2 doctor``, and what the demo says at its end."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from q2_metric import __version__, metrics, registration
from q2_metric.cli import installation
from q2_metric.cli.main import main
from q2_metric.errors import InputError, ModelError
from q2_metric.types import Metric

ROOT = Path(__file__).resolve().parents[2]


def run() -> Result:
    return CliRunner().invoke(main, ["doctor"], prog_name="q2")


def test_it_names_versions_models_folders_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("Q2_CACHE", str(tmp_path / "scores"))
    monkeypatch.setenv("Q2_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(installation, "PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setattr(installation, "_is_here", lambda model: "albert" in model)
    found = run()
    assert found.exit_code == 0, found.output
    lines = found.output
    assert f"q2-metric      {__version__} in {ROOT}" in lines
    assert "numpy " in lines
    assert "not installed: no-such-package" in lines
    assert f"cache          {tmp_path / 'scores'} (not there yet, not used: Q2_NO_CACHE" in lines
    assert f"before it {tmp_path} (Q2_DATA_DIR)" in lines
    assert "models of the package, ONNX Runtime on the CPU" in lines
    assert "weights (16 files, as released by their sha256)" in lines
    [paper] = [line for line in lines.splitlines() if line.startswith("paper ")]
    assert "google/flan-t5-xl" in paper
    assert "albert" not in paper
    assert "scores         q2 0.000, scale 0." in lines
    assert "q2|preset:bundled|" in lines
    assert "scale|preset:bundled|" in lines


def test_models_that_do_not_load_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_names: object) -> list[Metric]:
        raise ModelError("the bundled weights are missing: reinstall q2-metric")

    monkeypatch.setattr(metrics, "load_metrics", broken)
    found = run()
    assert found.exit_code == 3
    assert "missing        the bundled weights are missing" in found.output


def test_a_framework_without_its_shell_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "SHELLS", {"mine": f"{__name__}:_not_found"})
    monkeypatch.setattr(metrics, "load_metrics", lambda _names: [])
    assert "mine           not usable: install it" in run().output


def _not_found() -> str:
    raise InputError("install it")


@pytest.mark.slow
def test_an_installation_without_frameworks_and_a_broken_one(tmp_path: Path) -> None:
    """As after ``pip install q2-metric``: no framework is there, and one that is breaks."""
    lacking = ("evaluate", "datasets", "lm_eval", "parlai", "torch", "transformers",
               "huggingface_hub", "scipy")
    (tmp_path / "sitecustomize.py").write_text(f"""
import importlib.metadata, importlib.util, sys
there, found = importlib.metadata.distribution, importlib.util.find_spec
def distribution(name):
    if name in {lacking}:
        raise importlib.metadata.PackageNotFoundError(name)
    return there(name)
importlib.metadata.distribution = distribution
importlib.util.find_spec = lambda name, *a: None if name in {lacking} else found(name, *a)
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {lacking}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
""")
    done = subprocess.run(
        [sys.executable, "-m", "q2_metric", "doctor"], capture_output=True, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith(("evaluate ", "lm-eval ", "ParlAI "))] == [
        "evaluate       not usable: evaluate.load(\"q2\") needs the package 'evaluate': "
        'pip install "q2-metric[evaluate]"',
        "lm-eval        not usable: the folder of tasks needs the package 'lm_eval': pip install "
        '"q2-metric[lm-eval]"',
        "ParlAI         not usable: ParlAI is not installed: pip install --no-deps parlai==1.7.2",
    ]
    assert 'paper          needs torch and transformers: pip install "q2-metric[torch]"' in lines


def test_a_shell_that_breaks_does_not_end_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "SHELLS", {"mine": f"{__name__}:_breaks"})
    found = run()
    assert "mine           not usable: ImportError: libfoo.so.1: cannot open" in found.output
    assert "scores         q2 0.000" in found.output


def _breaks() -> str:
    raise ImportError("libfoo.so.1:\ncannot open")


def test_evaluate_is_said_to_find_the_package_only_where_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (installation, registration):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(installation, "installed", lambda _name: "0.4.6")
    monkeypatch.setattr(registration, "find_spec", lambda _name: True)
    with pytest.raises(InputError, match=r'evaluate.load\("q2"\) does not find .* run q2 register'):
        installation.registered()
    registration.register()
    assert installation.registered().endswith(f"finds it in {tmp_path}")


def test_the_demo_ends_with_its_files_and_two_commands_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Makefile", "setup.cfg"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(
        ["make", "--no-print-directory", "demo", "BIN=true ||", "-o", ".venv/demo.done"],
        cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *_, where, _, report, explain = done.stdout.rstrip().splitlines()
    assert f"{tmp_path}/demo.jsonl" in where

    monkeypatch.chdir(tmp_path)
    rows = [str(ROOT / "examples" / "dialogues.jsonl"), "--metrics", "knowledge_f1"]
    for words in (["score", *rows, "--out", "demo.jsonl"], _after_q2(report)):
        assert CliRunner().invoke(main, words).exit_code == 0
    assert (tmp_path / "demo.html").is_file()
    command = [*_after_q2(explain), "--metrics", "knowledge_f1"]
    assert CliRunner().invoke(main, command).exit_code == 0


def _after_q2(line: str) -> list[str]:
    words = shlex.split(line)
    return words[[word.endswith("/q2") for word in words].index(True) + 1:]
