"""``q2 register`` lets ``evaluate.load("q2")`` find the metrics of this package."""

import os
from pathlib import Path

import click

from q2_metric.errors import InputError, MissingExtra, installed
from q2_metric.registration import NAMES, OPT_OUT, cache_folder, folder_of, script_of
from q2_metric.registration import register as place


@click.command("register")
def register() -> None:
    """Let evaluate.load find the metrics of this package.

    These are groundedness, q2 and scale. Prints the paths of the files that this takes.
    """
    for script in place():
        click.echo(script)


def state() -> str:
    """Where ``evaluate.load("q2")`` finds this package, for ``q2 doctor``. Raises MissingExtra if
    evaluate is not installed, and InputError, which says what to do, if it finds something else."""
    if (release := installed("evaluate")) is None:
        raise MissingExtra('evaluate.load("q2")', "evaluate", "evaluate")
    for name in NAMES:
        if (local := Path(name, f"{name}.py")).is_file():
            raise InputError(f'evaluate.load("{name}") loads {local.absolute()}: call it in '
                             f'another folder, or load by q2_metric.path("{name}")')
        folder = folder_of(name)
        scripts = sorted(folder.glob(f"*/{name}.py"), key=lambda file: file.stat().st_mtime)
        if not scripts or scripts[-1].read_bytes() != script_of(name):
            why = f"{OPT_OUT} is set; " if OPT_OUT in os.environ else ""
            raise InputError(f'evaluate.load("{name}") does not find this package in {folder}: '
                             f"{why}run q2 register, or load by q2_metric.path(\"{name}\")")
    return f'evaluate {release}: evaluate.load("q2") finds it in {cache_folder()}'
