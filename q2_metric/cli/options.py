"""Options that commands share, made from the registry of metrics and from their settings.

Each setting gets its option automatically: type, default and description come from the field of
the settings dataclass. Options have no default of their own: a metric fills in what is not given.
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
    """Combines several options into one decorator, in the order of the help text."""

    def decorate(command: Wrapped) -> Wrapped:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# --- from dataclasses ----------------------------------------------------------------------


_OWN = {**preset().q2_settings, **preset().scale_settings}
"""Settings of the default preset that differ from the papers."""


def setting_option(kind: type, setting: Setting, titles: Sequence[str] = ()) -> Option[Any]:
    """The option for a field of a settings dataclass.

    A field's metadata may name the option (``option``) and the shown default (``default``). If the
    default preset has another value, the help shows it too.

    Args:
        kind: the dataclass.
        setting: its field.
        titles: titles of the metrics that use it.
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
    """A callback that lets the dataclass check a value, before anything is loaded."""

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
    """A callback that refuses an empty text."""
    if value is not None and not value.strip():
        raise click.BadParameter("is empty")
    return value


# --- of the metrics ------------------------------------------------------------------------


def setting_options(entries: Sequence[Entry]) -> Option[Any]:
    """The options of these metrics' settings. A field that several metrics have has one option."""
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
    """Names of metrics, in the order of the registry; for ``None``, the preset's default metrics.

    A module of "package.module:Class" may be in the current folder, as for ``python -m``.
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
    """``--metrics``. Without ``default``, the preset's default metrics."""
    return click.option(
        "-m", "--metric", "--metrics", "metrics", default=default,
        show_default=default or ",".join(DEFAULT),
        callback=metric_names,
        help=f"Metrics to compute: {', '.join(METRICS)}, or package.module:Class.", **more,
    )


def load_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``load_metrics`` that were given as options of the command.

    It also sets ``english.parser.LIGHT``, because this process is ours.
    """
    from q2_metric.models.english import parser as spacy_parser

    spacy_parser.LIGHT = True
    given = {key: options[key] for key in keywords() if options.get(key) is not None}
    if given.get("dtype") == "auto":
        from q2_metric.models.bundled.runtimes import settled

        # Settled here, before models are loaded: caches and resumed runs depend on it.
        replaced = [name for name in STAGES if name in given]
        own = preset(options["preset"]).reader.kind == "bundled" and not replaced
        given["dtype"] = settled("auto", given.get("device", "auto")) if own else "float32"
    return given


def load(names: Sequence[str], options: Mapping[str, Any]) -> list[Metric]:
    """The metrics for the command's options."""
    from q2_metric import metrics

    return metrics.load_metrics(names, options["preset"], **load_keywords(options))


# --- of the cache ----------------------------------------------------------------------------

CACHE_OPTIONS = all_options(
    click.option(
        "--cache", metavar="PATH", envvar="Q2_CACHE",
        type=Written(
            lambda path: [f"{path}-journal"], guard=None, dir_okay=False, path_type=Path),
        help="File that keeps scores for the next run.  [default: in the user's cache]",
    ),
    click.option(
        "--no-cache", is_flag=True, envvar="Q2_NO_CACHE",
        help="Use no cache. A file named by Q2_CACHE is ignored; one named by --cache is used.",
    ),
    click.option(
        "--cache-size", metavar="MB", type=click.IntRange(min=1), default=1000,
        show_default=True,
        help="When the cache is full, the least recently used entries are removed.",
    ),
)


def cache_file(options: Mapping[str, Any]) -> Path | None:
    """The file of the score cache by the command's options; ``None`` without a cache."""
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
    click.option("--knowledge", required=True, help="The text it should be grounded in."),
    click.option("--history", multiple=True, help="An earlier turn; repeat it, oldest first."),
    click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead."),
)

def format_option(files: str) -> Option[Any]:
    """``--format``, which input without a suffix needs, such as ``<(…)``."""
    return click.option(
        "--format", "form", type=click.Choice(FORMS),
        help=f"Format of {files}, needed without a suffix: <(…), a pipe, -.  [default: by suffix]",
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
