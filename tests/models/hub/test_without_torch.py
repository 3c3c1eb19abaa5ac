"""Without torch: one line at once, which says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from optional import without


@pytest.mark.parametrize(("package", "arguments", "what"), [
    ("torch", "score rows.jsonl --preset paper", "the preset 'paper'"),
    ("transformers", "score rows.jsonl --preset modern --no-cache", "the preset 'modern'"),
    ("torch", "score rows.jsonl --metrics scale -s scale_model=owner/model",
     "the model 'owner/model'"),
    ("transformers", "explain --response r --knowledge k --preset paper-small",
     "the model 'valhalla/t5-small"),
    ("torch", "meta-eval true labelled.csv --metrics scale --preset paper --quiet",
     "the preset 'paper'"),
])
def test_a_model_of_the_hub(tmp_path: Path, package: str, arguments: str, what: str) -> None:
    """The Hub was asked six times in half a minute, and then a device was to blame."""
    (tmp_path / "rows.jsonl").write_text('{"response": "r", "knowledge": "k"}\n')
    (tmp_path / "labelled.csv").write_text("grounding,generated_text,label\nr,r,1\nr,s,0\n")
    done = subprocess.run(
        [sys.executable, "-m", "q2_metric", *arguments.split()], cwd=tmp_path, text=True,
        env={**os.environ, "PYTHONPATH": without(package, tmp_path), "Q2_CACHE": "cache"},
        capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"q2: error: {what}")
    assert done.stderr.endswith(
        f"needs the package {package!r}: pip install \"q2-metric[torch]\"\n")
    assert done.stderr.count("\n") == 1
