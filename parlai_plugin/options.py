"""Adds the options ``--q2-…`` and the presets ``-o q2/…`` to ParlAI."""

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, PAPERS, keywords, models
from q2_metric.models.presets import PRESETS
from q2_metric.runtime_config import RuntimeConfig, Setting, settings_of
from q2_metric.scoring import NO_CLAIM, NoClaim

OPT_FILES = Path(__file__).parent / "presets"


def presets() -> list[str]:
    """The names of this package's presets for ``-o``, such as "q2/memnet"."""
    return sorted(f"q2/{path.stem}" for path in OPT_FILES.glob("*.opt"))


def load_init(original: Callable[..., Any], cls: Any, optfile: str) -> Any:
    """A wrapper of ParlAI's ``Opt.load_init``, so that ``-o`` also accepts the presets ``q2/…``.
    Raises InputError if there is no preset of this name, and FileNotFoundError if there is no such
    option file."""
    preset = OPT_FILES / f"{optfile.removeprefix('q2/')}.opt"
    if optfile in presets() and not Path(optfile).exists():
        return cls.load(str(preset))
    try:
        return original(cls, optfile)
    except (TypeError, NotImplementedError, FileNotFoundError) as error:
        if optfile.startswith("q2/"):
            raise InputError(f"-o: there is no preset {optfile}; the presets are "
                             f"{' and '.join(presets())}") from None
        if isinstance(error, FileNotFoundError):
            raise
        # ParlAI looks for the preset in parlai_internal by pkg_resources, which fails in a
        # namespace package.
        raise FileNotFoundError(f"-o: there is no file and no opt preset {optfile!r}") from None


def load_opts(original: Callable[..., Any], parser: Any, opt: Mapping[str, Any]) -> Any:
    """A wrapper of ``ParlaiParser._load_opts``. Raises InputError if the model does not exist, or
    lacks an option that the preset sets: ParlAI's own RuntimeError would not name the model."""
    try:
        return original(parser, opt)
    except RuntimeError as error:
        preset, model = str(opt.get("init_opt")), opt.get("model_file")
        if preset not in presets() or not model:
            raise
        if not (Path(model).is_file() or Path(f"{model}.opt").is_file()):
            raise InputError(f"-mf: there is no model file {model}") from None
        option = str(error).rpartition(" ")[2]
        raise InputError(
            f"-mf: the model {model} has no option {option!r}, which -o {preset} sets; leave out "
            "-o, or name a model that writes text") from None


def add_options(parser: Any, *, scoring: bool = True) -> None:
    """Adds the options ``--q2-…`` to ParlAI's parser; without ``scoring``, only those for the
    knowledge. A second call does nothing."""
    if "--q2-knowledge" in parser._option_string_actions:
        return
    group = parser.add_argument_group(f"q2-metric (--metrics {','.join(PAPERS)})")
    group.add_argument(
        "--q2-knowledge", choices=["gold", "all"], default="gold",
        help="Knowledge with which responses are compared: what the human chose, or all that the "
        "human was shown.")
    group.add_argument(
        "--q2-knowledge-field", type=str, default=None,
        help="Field of the task's messages that contains the knowledge. Needed if the task is not "
        "a known one.")
    if not scoring:
        return
    group.add_argument(
        "--q2-preset", type=str, default="bundled",
        help=f"Preset of the models and settings: {', '.join(PRESETS)}.")
    group.add_argument(
        "--q2-no-claim", choices=get_args(NoClaim), default=NO_CLAIM,
        help="How responses that claim nothing (\"lol\") or are empty count in means: as 0 (zero), "
        "or not at all (exclude).")
    group.add_argument(
        "--q2-strict", type="bool", default=False,
        help="Stop if a metric fails. By default, the run continues without the metric's numbers.")
    for name in models():
        group.add_argument(f"--q2-{name.replace('_', '-')}", type=str, default=None,
                           help="Hub name or folder of a model that replaces the preset's.")
    by_name: dict[str, Setting] = {}
    for setting in chain(settings_of(RuntimeConfig),
                         *(metric.setting_fields() for metric in METRICS.values())):
        by_name.setdefault(setting.name, setting)
    for setting in by_name.values():
        kind: Any = "bool" if setting.kind is bool else setting.kind
        group.add_argument(
            f"--q2-{setting.name.replace('_', '-')}", type=kind, choices=setting.choices or None,
            default=None, help=setting.sentence.replace("%", "%%"))


def keywords_of(opt: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``scoring.load`` that the user gave as options ``--q2-…``."""
    return {name: opt[f"q2_{name}"] for name in ("preset", *keywords())
            if opt.get(f"q2_{name}") is not None}
