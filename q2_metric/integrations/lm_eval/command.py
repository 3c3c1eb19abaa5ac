"""``q2 lm-eval-path`` prints the folder with the tasks for lm-evaluation-harness."""

from __future__ import annotations

from importlib.metadata import version

import click

from q2_metric.integrations.lm_eval import tasks_folder


@click.command("lm-eval-path")
def lm_eval_path() -> None:
    """Print the folder with the tasks for lm-evaluation-harness, for --include_path."""
    click.echo(tasks_folder())


def state() -> str:
    """In which folder the tasks are, for ``q2 doctor``. Raises MissingExtra if
    lm-evaluation-harness is not installed."""
    folder = tasks_folder()  # first, because it raises an error if the harness is missing
    return f"lm-eval {version('lm_eval')}: --include_path {folder}"
