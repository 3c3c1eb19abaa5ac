"""``-s NAME=VALUE`` and preset files: they set every model and every setting of the metrics."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import click

from q2_metric.cli.commands import READ
from q2_metric.errors import InputError
from q2_metric.files import read_text
from q2_metric.metrics.registry import METRICS, entry
from q2_metric.models.presets import preset
from q2_metric.runtime_config import RuntimeConfig, Setting, settings_of


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
        """The values that are allowed, and the default."""
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


GIVEN = "q2_metric.assigned"
"""Key in ``ctx.meta`` of the names and values that ``-s`` gives."""
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


def check_used(ctx: click.Context) -> None:
    """Raises InputError if ``-s`` sets something that none of the command's metrics uses."""
    computed = {entry(name).title for name in ctx.params.get("metrics") or ()}
    known = assignables()
    for name in ctx.meta.get(GIVEN, {}):
        titles = known[name].titles  # none if it concerns how models run
        if computed and titles and computed.isdisjoint(titles):
            raise InputError(f"-s {name} would change nothing: it is for {', '.join(titles)}, "
                             "which this command does not compute")


class Assigned(click.Option):
    """The option ``-s``."""

    def hint(self, option: str) -> str:
        """What a user who typed an option that does not exist can type instead, or ""."""
        name = option.lstrip("-").replace("-", "_")
        if name in (known := assignables()):
            return f"A setting is given as -s {name}=VALUE"
        name = name.removeprefix("no_")
        return f"A setting is given as -s {name}=false" if name in known else ""


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


def read_preset(ctx: click.Context, _option: click.Parameter, text: str) -> str:
    """A click callback that reads a preset file (TOML), and returns the name of its base
    ``preset``. The file otherwise contains names and values of ``-s``, which tables may group."""
    if not text.strip():
        raise click.BadParameter("is empty")
    if not text.endswith(".toml"):
        return text
    try:
        fields = tomllib.loads(read_text(text))
    except (tomllib.TOMLDecodeError, InputError) as error:
        raise click.BadParameter(f"{text}: {error}" if text not in str(error) else str(error)
                                 ) from error
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= value if isinstance(value, dict) else {name: value}
    base = str(flat.pop("preset", "bundled"))
    ctx.meta[_PRESET_FILE] = {name: _text(value) for name, value in flat.items()}
    return base


_PRESET_FILE = "q2_metric.preset_file"
