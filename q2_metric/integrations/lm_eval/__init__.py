"""Tasks for lm-evaluation-harness ("the harness") that report Q² and SCALE.

::

    tasks/*.yaml   the tasks: data, prompt, stop sequences, decoding, metrics
    documents.py   reads the rows of each task from a data set or the user's file
    task.py        the task class, and the sampler of few-shot examples
    options.py     reads the options of the metrics from --metadata
    tables.py      the lines of the harness's tables, from the registry of metrics
    scoring.py     scores a model's answers
    judge.py       tasks on which the evaluated model itself judges responses
    ranks.py       keeps several ranks (processes of a run) consistent
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import MissingExtra


def tasks_folder() -> Path:
    """The folder with the tasks, for ``lm_eval --include_path`` or ``TaskManager(include_path=…)``.

    Raises:
        MissingExtra: lm-evaluation-harness is not installed.
    """
    if find_spec("lm_eval") is None:
        raise MissingExtra("the folder of tasks", "lm_eval", "lm-eval")
    return Path(__file__).parent / "tasks"
