"""Options that several commands share, most of them made from the settings of the metrics.

Each field of a metric's settings dataclass becomes an option. The option takes its type, its
default and its description from the field. If the user does not give the option, the metric uses
its own default.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from q2_metric.checks import Setting, settings_of
from q2_metric.cli.commands import Read, Written
from q2_metric.errors import InputError
from q2_metric.metrics import default_names
from q2_metric.metrics.registry import DEFAULT, METRICS, Entry, check_names, keywords, models
from q2_metric.models.presets import STAGES, preset
from q2_metric.rows.formats import FORMS
from q2_metric.runtime_config import RuntimeConfig

if TYPE_CHECKING:
    from q2_metric.types import Metric

Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])
Option = Callable[[Wrapped], Wrapped]


def all_options(*options: Callable[[Wrapped], Wrapped]) -> Callable[[Wrapped], Wrapped]:
    """Combines several options into one decorator. ``--help`` shows them in the given order."""

    def decorate(command: Wrapped) -> Wrapped:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# --- from dataclasses ----------------------------------------------------------------------


_OWN = {**preset().q2_settings, **preset().scale_settings}
"""Settings of the default preset whose values differ from the papers', by name."""


def setting_option(kind: type, setting: Setting, titles: Sequence[str] = ()) -> Option[Any]:
    """Makes an option from a field of a settings dataclass.

    If the default preset changes the field's default, the help shows both values.

    Args:
        kind: the dataclass.
        setting: the field. In its metadata, ``option`` may contain the name of the option, and
            ``default`` the default that the help shows.
        titles: titles of the metrics that have this setting. The help text begins with them.
    """
    flag = setting.metadata.get("option", f"--{setting.name.replace('_', '-')}")
    default = setting.metadata.get("default", setting.default)
    own = _OWN.get(setting.name)
    if own is not None:
        default = f"{default}; {preset().name}: {own}"
    shown: dict[str, Any] = {
        "default": None,
        "help": f"{', '.join(titles)}: {setting.words}." if titles else setting.sentence,
        "show_default": str(default) if default is not None else False,
        "callback": _checked(kind, setting.name),
    }
    if setting.kind is bool:
        name = flag.removeprefix("--")
        shown["show_default"] = name if default else f"no-{name}"
        return click.option(f"--{name}/--no-{name}", setting.name, **shown)
    form: Any = click.Choice(setting.choices) if setting.choices else setting.kind
    if setting.kind is int and kind is RuntimeConfig:
        form = click.IntRange(min=1)  # a number of rows
    return click.option(flag, setting.name, type=form, **shown)


def _checked(kind: type, name: str) -> Callable[..., Any]:
    """Returns a click callback that checks an option's value before models are loaded.

    The value is wrong if the dataclass ``kind`` raises an error for it as the field ``name``.
    """

    def check(_ctx: click.Context, _option: click.Parameter, value: Any) -> Any:
        if value is None:
            return None
        if value == "":
            raise click.BadParameter("is empty")
        try:
            kind(**{name: value})
        except InputError as error:
            raise click.BadParameter(str(error)) from error
        return value

    return check


def not_empty(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """A click callback that raises an error if the option's text is empty."""
    if value is not None and not value.strip():
        raise click.BadParameter("is empty")
    return value


# --- of the metrics ------------------------------------------------------------------------


def setting_options(entries: Sequence[Entry]) -> Option[Any]:
    """Makes the options for all settings of these metrics, as one decorator.

    If several metrics have a setting with the same name, one option sets it for all of them.
    """
    by_name: dict[str, tuple[type, Setting, list[str]]] = {}
    for entry in sorted(entries, key=lambda entry: bool(entry.bases)):
        for setting in entry.setting_fields():
            _, _, titles = by_name.setdefault(
                setting.name, (entry.settings_class(), setting, []))
            titles.append(entry.title)
    return all_options(*(setting_option(*one) for one in by_name.values()))


def _model_option(name: str) -> Option[Any]:
    users = ", ".join(metric.title for metric in METRICS.values() if name in metric.models)
    return click.option(
        f"--{name.replace('_', '-')}", metavar="MODEL", type=Read(path_type=str),
        callback=not_empty, help=f"Hub name or folder of a model for {users}.",
    )


SETTING_OPTIONS = setting_options(list(METRICS.values()))

MODEL_OPTIONS = all_options(
    click.option("--preset", default="bundled", show_default=True, callback=not_empty,
                 is_eager=True, help="Models and settings to use (q2 presets)."),
    *(_model_option(name) for name in models()),
    *(setting_option(RuntimeConfig, one) for one in settings_of(RuntimeConfig)),
)


def metric_names(
    ctx: click.Context, _option: click.Parameter, text: str | None
) -> list[str]:
    """A click callback that turns the text of ``--metrics``, such as "q2,scale", into names.

    The names are returned in the order of the registry. If the text is ``None``, they are the
    default metrics of the preset. A metric may also be "package.module:Class". Its module may be in
    the current folder, as for ``python -m``.
    """
    if text is None:
        return list(default_names(ctx.params["preset"]))
    if ":" in text and (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        names = check_names(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    if not names:
        raise click.BadParameter(f"no metric is named; the metrics are {', '.join(METRICS)}")
    return [name for name in METRICS if name in names]


def metrics_option(default: str | None = None, **more: Any) -> Option[Any]:
    """The option ``--metrics``. If ``default`` is ``None``, the default is the preset's metrics."""
    return click.option(
        "-m", "--metric", "--metrics", "metrics", default=default,
        show_default=default or ",".join(DEFAULT),
        callback=metric_names,
        help=f"Metrics to compute: {', '.join(METRICS)}, or package.module:Class.", **more,
    )


def load_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``load_metrics`` (models, settings) that the user gave as options.

    Also sets ``english.parser.LIGHT``, so that spaCy is imported faster, without unused parts. This
    is safe in the command ``q2``, because no other code in the process uses spaCy.
    """
    from q2_metric.models.english import parser as spacy_parser

    spacy_parser.LIGHT = True
    given = {key: options[key] for key in keywords() if options.get(key) is not None}
    if given.get("dtype") == "auto":
        from q2_metric.models.bundled.runtimes import settled

        # "auto" is resolved before models are loaded, because cache keys contain the result.
        replaced = [name for name in STAGES if name in given]
        own = preset(options["preset"]).reader.kind == "bundled" and not replaced
        given["dtype"] = settled("auto", given.get("device", "auto")) if own else "float32"
    return given


def load(names: Sequence[str], options: Mapping[str, Any]) -> list[Metric]:
    """Loads the named metrics with the models and settings of the command's options."""
    from q2_metric import metrics

    return metrics.load_metrics(names, options["preset"], **load_keywords(options))


# --- of the cache ----------------------------------------------------------------------------

CACHE_OPTIONS = all_options(
    click.option(
        "--cache", metavar="PATH", envvar="Q2_CACHE",
        type=Written(
            lambda path: [f"{path}-journal"], guard=None, dir_okay=False, path_type=Path),
        help="File that keeps scores for later runs.  [default: in the user's cache folder]",
    ),
    click.option(
        "--no-cache", is_flag=True, envvar="Q2_NO_CACHE",
        help="Use no cache, even if Q2_CACHE names a file. A file that --cache names is used.",
    ),
    click.option(
        "--cache-size", metavar="MB", type=click.IntRange(min=1), default=1000,
        show_default=True,
        help="Maximum size of the cache. When it is full, the least recently used scores are "
        "removed.",
    ),
)


def cache_file(options: Mapping[str, Any]) -> Path | None:
    """The path of the score cache that the command's options request; ``None`` for no cache."""
    from q2_metric.engine.cache import default_path

    named: Path | None = options["cache"]
    if options["no_cache"]:
        # Only --cache on the command line overrides --no-cache; Q2_CACHE does not.
        source = click.get_current_context().get_parameter_source("cache")
        return None if source is ParameterSource.ENVIRONMENT else named
    return named or default_path()


# --- of a text -------------------------------------------------------------------------------

TEXT_OPTIONS = all_options(
    click.option("--response", required=True, help="The response."),
    click.option("--knowledge", required=True, help="The text that should support the response."),
    click.option("--history", multiple=True,
                 help="An earlier turn of the dialogue; may be repeated, oldest turn first."),
    click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead."),
)

def format_option(files: str) -> Option[Any]:
    """The option ``--format``, for inputs whose path has no suffix, such as a pipe.

    ``files`` names the inputs in the help text.
    """
    return click.option(
        "--format", "form", type=click.Choice(FORMS),
        help=f"Format of {files}. Needed if the path has no suffix: <(…), a pipe, -.  "
        "[default: by suffix]",
    )


SIGNATURE_OPTION = click.option(
    "--signature", is_flag=True, help="Print signatures in full: all models and settings."
)

COLUMN_OPTIONS = all_options(
    click.option("--response", metavar="COL", help="Column of the response.  [default: by name]"),
    click.option(
        "--knowledge", "--context", "knowledge", metavar="COL",
        help="Column of the knowledge.  [default: by name]",
    ),
    click.option("--history", metavar="COL", help='Column of the history; "" for none.'),
    click.option("--question", metavar="COL",
                 help="Column of the question.  [default: by name]"),
    click.option("--id", "id_", metavar="COL", help="Column of the id.  [default: by name]"),
    click.option("--label", metavar="COL",
                 help="Column of the human label, for the page.  [default: by name]"),
)
