"""What docs/security.md says is off is off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCORE = """
from q2_metric import Example, Scale
print(Scale.from_preset().score([Example("it was lit in 1882 .", "Lit in 1882.")])[0].value)
"""
# ONNX Runtime sends nothing where one of these says that a build machine runs it.
BUILD_MACHINE = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "JENKINS_URL", "ORT_DISABLE_TELEMETRY")


def test_onnx_runtime_keeps_no_events_to_upload(tmp_path: Path) -> None:
    """Switched on, it makes a device id and a queue of events in the user's cache at once."""
    here = {key: value for key, value in os.environ.items() if key not in BUILD_MACHINE}
    settings = {**here, "XDG_CACHE_HOME": str(tmp_path), "Q2_NO_REGISTER": "1"}
    done = subprocess.run([sys.executable, "-c", SCORE], env=settings, capture_output=True,
                          text=True, check=False)
    assert 0 < float(done.stdout) < 1, done.stderr
    assert [str(path) for path in tmp_path.rglob("*") if "onnxruntime" in path.name] == []
