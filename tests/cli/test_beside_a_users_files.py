"""A user's own modules, in the folder where Python is started, hide none of the package's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCORE = """
import q2_metric
[score] = q2_metric.Q2.from_preset("bundled-small").score(
    [q2_metric.Example("it opened in 1889 .", "The tower in Paris opened in 1889.")])
print(score.value > 0.9)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Has modules that break where they are imported, under names that this project has had."""
    for name in ("hf_plugin", "lm_eval_plugin", "q2_integrations", "training", "registration",
                 "scripts", "parlai_plugin"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError(__name__)")
    for name in ("parlai_internal", "tools", "integrations"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError(__name__)")
    return tmp_path


def test_a_score(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCORE], cwd=folder, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.slow
def test_a_parlai_internal_of_ones_own_is_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("parlai", reason="ParlAI is not installed")
    own = tmp_path / "parlai_internal"
    own.mkdir()
    (own / "__init__.py").write_text("")
    done = subprocess.run([sys.executable, "-m", "q2_metric", "doctor"], cwd=tmp_path,
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ParlAI")]
    assert f"the package {own} hides the plug-in from ParlAI; add this line to {own}" in line
