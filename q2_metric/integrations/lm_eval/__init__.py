"""Tasks of lm-evaluation-harness that report Q² and SCALE.

::

    tasks/*.yaml   the tasks: data, prompt, stop sequences, decoding, metrics
    documents.py   reads the rows of each task, from q2_metric.data or the user's file
    task.py        the task class: options from --metadata, the filter that scores, few-shot
    options.py     the options of the metrics
    tables.py      the lines of the tables, from the registry of metrics
    scoring.py     scores a model's answers
    judge.py       tasks on which the evaluated model judges responses
    ranks.py       keeps several ranks (processes of a run) consistent
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import MissingExtra


def tasks_folder() -> Path:
    """The folder for ``lm_eval --include_path`` and ``TaskManager(include_path=…)``.

    Raises:
        MissingExtra: lm-evaluation-harness is not installed.
    """
    if find_spec("lm_eval") is None:
        raise MissingExtra("the folder of tasks", "lm_eval", "lm-eval")
    return Path(__file__).parent / "tasks"
