"""Options that several commands share.

``-s NAME=VALUE`` and preset files set every model and every setting of the metrics.
"""

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from q2_metric import metrics
from q2_metric.cli.commands import READ, Written
from q2_metric.engine.cache import default_path
from q2_metric.english.parse import parser as spacy_parser
from q2_metric.errors import InputError
from q2_metric.files import read_text
from q2_metric.metrics.registry import DEFAULT, METRICS, check_names, entry, keywords
from q2_metric.models.presets import preset
from q2_metric.rows.formats import FORMS
from q2_metric.runtime_config import RuntimeConfig, Setting, settings_of
from q2_metric.types import Metric


@dataclass(frozen=True, slots=True)
class Assignable:
    """The model of a stage (without a ``setting``), or a setting, and the metrics that use it.
    Without ``titles``, it concerns how models run. The dataclass ``kind`` checks the value."""

    name: str
    titles: list[str]
    setting: Setting | None = None
    kind: type | None = None

    @property
    def words(self) -> str:
        return self.setting.sentence if self.setting else "Hub name or folder of a model."

    @property
    def values(self) -> str:
        if self.setting is None:
            return "MODEL"
        one = self.setting
        allowed = "|".join(one.choices) or {bool: "true|false", int: "N", float: "X"}.get(
            one.kind, "TEXT")
        defaults = {"": one.metadata.get("default", one.default),
                    f"{preset().name}: ": _OWN.get(one.name)}
        shown = [f"{of}{_text(own)}" for of, own in defaults.items() if own is not None]
        return f"{allowed}  [{'; '.join(shown)}]" if shown else allowed

    def value(self, text: str) -> Any:
        """Converts the text of a value. Raises InputError if the value is not allowed."""
        if not text.strip():
            raise InputError(f"{self.name} is empty")
        if self.setting is None or self.kind is None:
            return text
        try:
            value = _CONVERTED.get(self.setting.kind, str)(text)
        except (KeyError, ValueError):
            value = text
        self.setting.check(value)
        self.kind(**{self.name: value})
        return value


_OWN = {**preset().q2_settings, **preset().scale_settings}
"""Settings whose values in the default preset differ from the papers'."""
_CONVERTED: Mapping[type, Callable[[str], Any]] = {
    bool: lambda text: {"true": True, "false": False}[text.lower()], int: int, float: float}


def assignables() -> dict[str, Assignable]:
    """All that can be set, by name, except :data:`OPTIONS`."""
    found: dict[str, Assignable] = {}
    for metric in sorted(METRICS.values(), key=lambda metric: bool(metric.bases)):
        own = [Assignable(name, []) for name in metric.models]
        own += [Assignable(one.name, [], one, metric.settings_class())
                for one in metric.setting_fields()]
        for one in own:
            found.setdefault(one.name, one).titles.append(metric.title)
    return found | {setting.name: Assignable(setting.name, [], setting, RuntimeConfig)
                    for setting in settings_of(RuntimeConfig) if setting.name not in OPTIONS}


GIVEN, _PRESET_FILE = "q2_metric.assigned", "q2_metric.preset_file"
"""Keys in ``ctx.meta`` of the names and values that ``-s`` gives, and that a preset file gives."""
OPTIONS = ("device", "dtype")
"""These are options of their own."""


def assign(ctx: click.Context, option: click.Parameter, pairs: Iterable[str]) -> None:
    """A click callback that adds all models and settings of the metrics to the command's
    parameters, with ``None`` for those that the user did not give."""
    known = assignables()
    values: dict[str, Any] = dict.fromkeys(known)
    try:
        ctx.meta[GIVEN] = dict(map(_pair, pairs))
        given = ctx.meta.get(_PRESET_FILE, {}) | ctx.meta[GIVEN]
        for name, text in given.items():
            if name not in known:
                raise InputError(_no_such(name, known))
            values[name] = known[name].value(text)
    except InputError as error:
        raise click.BadParameter(str(error), ctx, option) from error
    ctx.params.update(values)
    ctx.meta[READ] = [value for name, value in values.items()
                      if value is not None and known[name].setting is None]


class Assigned(click.Option):
    def hint(self, option: str) -> str:
        """What a user who typed an option that does not exist can type instead, or ""."""
        name = option.lstrip("-").replace("-", "_")
        known, off = assignables(), name.removeprefix("no_")
        value = f"{name}=VALUE" if name in known else f"{off}=false" if off in known else ""
        return value and f"A setting is given as -s {value}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not of the form NAME=VALUE")
    return name.strip().replace("-", "_"), value


def _no_such(name: str, known: Iterable[str]) -> str:
    if name in OPTIONS:
        return f"{name} is an option of its own: --{name} VALUE"
    near = get_close_matches(name, known, n=1)
    return (f"there is no model or setting {name!r}; "
            f"{f'did you mean {near[0]}? ' if near else ''}q2 presets --settings lists them")


def completed(_ctx: click.Context, _option: click.Parameter, text: str) -> list[str]:
    """The beginnings of ``-s`` that the shell offers: names, then the values of a setting."""
    name, equals, _ = text.partition("=")
    found = assignables()
    if not equals:
        return [f"{one}=" for one in found if one.startswith(name.replace("-", "_"))]
    if name not in found or (setting := found[name].setting) is None:
        return []
    choices = ("true", "false") if setting.kind is bool else setting.choices
    return [f"{name}={one}" for one in choices if f"{name}={one}".startswith(text)]


def _filled(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise click.BadParameter("is empty")
    return value


def read_preset(ctx: click.Context, option: click.Parameter, text: str) -> str:
    """A click callback that reads a preset file (TOML), and returns the name of its base
    ``preset``. The file otherwise contains names and values of ``-s``, which tables may group."""
    _filled(ctx, option, text)
    if not text.endswith(".toml"):
        return text
    try:
        fields = tomllib.loads(read_text(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{text}: {error}") from error
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= value if isinstance(value, dict) else {name: value}
    base = str(flat.pop("preset", "bundled"))
    ctx.meta[_PRESET_FILE] = {name: _text(value) for name, value in flat.items()}
    return base


Option = Callable[[Any], Any]


def all_options(*options: Option) -> Option:
    """Combines several options into one decorator. ``--help`` shows them in the given order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


MODEL_OPTIONS = all_options(
    click.option("--preset", metavar="NAME|FILE", default="bundled",
                 callback=read_preset, is_eager=True,
                 help="Models and settings to use (q2 presets), or a .toml file of them."),
    click.option("-s", "--set", "assigned", cls=Assigned, metavar="NAME=VALUE", multiple=True,
                 expose_value=False, callback=assign, shell_complete=completed,
                 help="Set a model or setting (q2 presets --settings); may be repeated."),
    *(click.option(f"--{setting.name}", show_default=str(setting.default), callback=_filled,
                   help=setting.sentence)
      for setting in settings_of(RuntimeConfig) if setting.name in OPTIONS),
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
    """The arguments of ``load_metrics`` that the user gave as options. InputError: ``-s`` sets
    something that none of the command's metrics uses. Also sets ``english.parser.LIGHT``, so that
    spaCy is imported faster, without parts that nothing else in the process of ``q2`` uses."""
    spacy_parser.LIGHT = True
    ctx, known = click.get_current_context(), assignables()
    computed = {entry(name).title for name in ctx.params.get("metrics") or ()}
    for name in ctx.meta.get(GIVEN, {}):
        titles = known[name].titles  # none if it concerns how models run
        if computed and titles and computed.isdisjoint(titles):
            raise InputError(f"-s {name} would change nothing: it is for {', '.join(titles)}, "
                             "which this command does not compute")
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
