"""Tasks for lm-evaluation-harness ("the harness") that report Q² and SCALE.

``tasks/*.yaml`` name the data, prompt, stop sequences, decoding and metrics of each task.
"""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import click

from q2_metric.errors import MissingExtra


def tasks_folder() -> Path:
    """The folder with the tasks, for ``lm_eval --include_path`` or ``TaskManager(include_path=…)``.
    Raises MissingExtra if lm-evaluation-harness is not installed."""
    if find_spec("lm_eval") is None:
        raise MissingExtra("the folder of tasks", "lm_eval", "lm-eval")
    return Path(__file__).parent / "tasks"


@click.command("lm-eval-path")
def lm_eval_path() -> None:
    """Print the folder with the tasks for lm-evaluation-harness, for --include_path."""
    click.echo(tasks_folder())


def state() -> str:
    """In which folder the tasks are, for ``q2 doctor``. Raises MissingExtra if
    lm-evaluation-harness is not installed."""
    folder = tasks_folder()
    return f"lm-eval {version('lm_eval')}: --include_path {folder}"
