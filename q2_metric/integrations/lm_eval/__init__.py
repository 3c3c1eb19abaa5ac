"""Tasks for lm-evaluation-harness ("the harness") that report Q² and SCALE.

``tasks/*.yaml`` name the data, prompt, stop sequences, decoding and metrics of each task.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import MissingExtra


def tasks_folder() -> Path:
    """The folder with the tasks, for ``lm_eval --include_path`` or ``TaskManager(include_path=…)``.
    Raises MissingExtra if lm-evaluation-harness is not installed."""
    if find_spec("lm_eval") is None:
        raise MissingExtra("the folder of tasks", "lm_eval", "lm-eval")
    return Path(__file__).parent / "tasks"
