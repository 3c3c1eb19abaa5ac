"""Options that several commands share."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from q2_metric import metrics
from q2_metric.cli.assign import (
    OPTIONS,
    Assigned,
    assign,
    check_used,
    completed,
    read_preset,
)
from q2_metric.cli.commands import Written
from q2_metric.engine.cache import default_path
from q2_metric.errors import InputError
from q2_metric.metrics.registry import DEFAULT, METRICS, check_names, keywords
from q2_metric.rows.formats import FORMS
from q2_metric.runtime_config import RuntimeConfig, settings_of
from q2_metric.types import Metric

Option = Callable[[Any], Any]


def all_options(*options: Option) -> Option:
    """Combines several options into one decorator. ``--help`` shows them in the given order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def _check_given(
    _ctx: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value == "":
        raise click.BadParameter("is empty")
    return value


_RUNTIME = [
    click.option(f"--{setting.name}", show_default=str(setting.default), callback=_check_given,
                 help=setting.sentence)
    for setting in settings_of(RuntimeConfig) if setting.name in OPTIONS]


MODEL_OPTIONS = all_options(
    click.option("--preset", metavar="NAME|FILE", default="bundled",
                 callback=read_preset, is_eager=True,
                 help="Models and settings to use (q2 presets), or a .toml file of them."),
    click.option("-s", "--set", "assigned", cls=Assigned, metavar="NAME=VALUE", multiple=True,
                 expose_value=False, callback=assign, shell_complete=completed,
                 help="Set a model or setting (q2 presets --settings); may be repeated."),
    *_RUNTIME,
)
"""The options that choose models and settings."""


def metric_names(_ctx: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    """A click callback that turns the text of ``--metrics`` into names, in the registry's order;
    without a text, there are none. The module of "package.module:Class" may be in the current
    folder, as for ``python -m``."""
    if text is None:
        return []
    if ":" in text and (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        names = check_names(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    if not names:
        raise click.BadParameter(f"no metric is named; the metrics are {', '.join(METRICS)}")
    return [name for name in METRICS if name in names]


def metrics_option(default: str | None = None) -> Option:
    """``--metrics``; without ``default``, the default is the preset's metrics."""
    return click.option(
        "-m", "--metric", "--metrics", "metrics", default=default,
        show_default=default or ",".join(DEFAULT),
        callback=lambda ctx, option, text: (
            metric_names(ctx, option, text) or list(metrics.default_names(ctx.params["preset"]))),
        help=f"Metrics to compute: {', '.join(METRICS)}, or package.module:Class.",
    )


def load_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``load_metrics`` that the user gave as options. InputError: no metric has
    one of them. Also sets ``english.parser.LIGHT``, so that spaCy is imported faster, without parts
    that nothing else in the process of ``q2`` uses."""
    from q2_metric.english.parse import parser as spacy_parser

    spacy_parser.LIGHT = True
    check_used(click.get_current_context())
    return {key: options[key] for key in keywords() if options.get(key) is not None}


def load(names: Sequence[str], options: Mapping[str, Any]) -> list[Metric]:
    return metrics.load_metrics(names, options["preset"], **load_keywords(options))


CACHE_OPTIONS = all_options(
    click.option(
        "--cache", metavar="PATH", envvar="Q2_CACHE",
        type=Written(lambda path: [f"{path}-journal"], guard=None, dir_okay=False, path_type=Path),
        help="File that keeps scores for later runs.  [default: in the user's cache folder]"),
    click.option(
        "--no-cache", is_flag=True, envvar="Q2_NO_CACHE",
        help="Use no cache, even if Q2_CACHE names a file. A file that --cache names is used."))


def cache_file(options: Mapping[str, Any]) -> Path | None:
    named: Path | None = options["cache"]
    if options["no_cache"]:
        # Only --cache on the command line overrides --no-cache; Q2_CACHE does not.
        source = click.get_current_context().get_parameter_source("cache")
        return None if source is ParameterSource.ENVIRONMENT else named
    return named or default_path()


def format_option(files: str) -> Option:
    """``--format``, for inputs without a suffix. The help text calls them ``files``."""
    return click.option("--format", "form", type=click.Choice(FORMS),
                        help=f"Format of {files}. Needed if the path has no suffix: <(…), a pipe, "
                        "-.  [default: by suffix]")


SYSTEMS_OPTION = click.option(
    "--systems", "systems_by", metavar="COL",
    help="A column of the scored rows, such as model. Rows with the same value form one system.")
SIGNATURE_OPTION = click.option(
    "--signature", is_flag=True, help="Print signatures in full: all models and settings.")
