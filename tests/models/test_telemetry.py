"""Scoring offline sends nothing and leaves no file of others behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import builtins, os, sys

found, real = [], builtins.__import__

def watching(name, *arguments, **keywords):
    if name.split(".")[0] == "onnxruntime" and not found:
        found.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
    return real(name, *arguments, **keywords)

builtins.__import__ = watching
from q2_metric import Example, Q2
Q2.from_preset("bundled").score([Example("Rome has 7 hills.", "Rome has seven hills.")])
assert "onnxruntime" in sys.modules
print(found)
"""


def run(code: str, home: Path, **chosen: str) -> str:
    """What a fresh process with a fresh home prints."""
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "Q2_NO_REGISTER": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **places, **chosen},
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_onnx_runtime_reports_nothing(tmp_path: Path) -> None:
    """It is told so before it is imported: no device id and no queue is written."""
    assert run(CODE, tmp_path) == "['1']"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
