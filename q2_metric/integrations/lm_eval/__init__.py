"""Tasks of lm-evaluation-harness that report Q² and SCALE.

::

    tasks/*.yaml   the tasks: data, prompt, stop sequences, decoding, metrics
    documents.py   the rows of each task, from q2_metric.data or the user's file
    task.py        the task class: options from --metadata, the filter that scores, few-shot
    options.py     how the metrics run
    tables.py      the lines of the tables, from the registry of metrics
    scoring.py     from a model's answers to their numbers
    judge.py       the model as a judge
    ranks.py       what several ranks must agree on
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
