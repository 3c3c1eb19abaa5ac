"""Makes ``evaluate.load("q2")`` (Hugging Face) find the metrics of this package.

``evaluate`` looks for a script on the Hub, then in a cache folder, where it uses the newest of that
name. Ours are one line that imports our class. This module imports no heavy package."""

import contextlib
import hashlib
import os
import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import InputError, MissingExtra

NAMES = ("q2", "scale", "groundedness")

OPT_OUT = "Q2_NO_REGISTER"
"""If this environment variable is set, ``import q2_metric`` writes no script."""

_OURS = re.compile(rb"^from (?:q2_metric|hf_plugin)\.", re.MULTILINE)
"""Scripts of older checkouts import from ``hf_plugin``."""


def path(name: str) -> str:
    """The folder with a metric's script, which ``evaluate.load`` also takes without the cache.
    Raises InputError if there is no script for this name."""
    if name not in NAMES:
        raise InputError(f"there is no evaluate module {name!r}; the modules are "
                         f"{', '.join(NAMES)}")
    return str(Path(__file__).parent / "integrations" / "evaluate" / "scripts" / name)


def cache_folder() -> Path:
    """The cache folder in which ``evaluate`` keeps the scripts of metrics."""
    config = sys.modules.get("evaluate.config")
    if config is not None:
        modules = config.HF_MODULES_CACHE
    else:
        home = os.environ.get("XDG_CACHE_HOME", "~/.cache")
        home = os.environ.get("HF_HOME", os.path.join(home, "huggingface"))
        modules = os.environ.get("HF_MODULES_CACHE", os.path.join(home, "modules"))
    return Path(os.path.expanduser(modules)) / "evaluate_modules"


class TakenError(InputError):
    """The cache of ``evaluate`` already contains another metric with one of our names."""


def register() -> list[Path]:
    """Writes our scripts into the cache of ``evaluate``, and returns their paths. MissingExtra:
    evaluate is not installed. TakenError: another metric already has one of the names; the other
    scripts are written. InputError: the cache cannot be written."""
    if find_spec("evaluate") is None:
        raise MissingExtra('evaluate.load("q2")', "evaluate", "evaluate")
    scripts, taken = [], []
    for name in NAMES:
        if other := _of_others(name):
            taken.append(f'evaluate.load("{name}") loads another metric ({other}); use '
                         f'evaluate.load(q2_metric.path("{name}")) for ours, or remove that file')
        else:
            scripts.append(_written(name))
    if taken:
        raise TakenError("; ".join(taken))
    return scripts


def register_quietly() -> None:
    """Calls :func:`register`, and raises no error. A taken name gives a warning, but not in the
    command ``q2``, which does not use ``evaluate``."""
    if OPT_OUT in os.environ:
        return
    try:
        register()
    except TakenError as error:
        if not _is_command():
            warnings.warn(
                f"{error} ({OPT_OUT}=1 turns this warning off)", UserWarning, stacklevel=3)
    # find_spec raises ValueError for a module in sys.modules that has no spec.
    except (MissingExtra, InputError, ValueError):
        pass


def _is_command() -> bool:
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # python sets "-m" while it imports the package
        return sys.orig_argv[sys.orig_argv.index("-m") + 1] == "q2_metric"
    return Path(program).stem == "q2"


def folder_of(name: str) -> Path:
    return cache_folder() / "metrics" / f"evaluate-metric--{name}"


def _of_others(name: str) -> Path | None:
    for script in sorted(folder_of(name).glob(f"*/{name}.py")):
        with contextlib.suppress(OSError):
            text = script.read_bytes().strip(b"\0 \r\n\t")  # a full disk leaves an empty file
            if text and not _OURS.search(text) and script != _target(name):
                return script
    return None


def script_of(name: str) -> bytes:
    return (Path(path(name)) / f"{name}.py").read_bytes()


def _target(name: str) -> Path:
    """The folder is a digest of our script, so a file there is ours even if it is damaged."""
    return folder_of(name) / hashlib.sha256(script_of(name)).hexdigest() / f"{name}.py"


def _written(name: str) -> Path:
    script, target, folder = script_of(name), _target(name), folder_of(name)
    try:
        if not target.is_file() or target.read_bytes() != script:
            from q2_metric.files import replacing

            target.parent.mkdir(parents=True, exist_ok=True)
            for package in (folder.parent.parent, folder.parent, folder, target.parent):
                (package / "__init__.py").touch()
            with replacing(target, public=True) as unfinished:
                unfinished.write_bytes(script)
        newest = max(folder.glob(f"*/{name}.py"), key=lambda file: file.stat().st_mtime)
        if newest != target:  # the newest script is from an older release
            os.utime(target)
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be written: {error.strerror}; set HF_MODULES_CACHE to a "
            "writable folder, or load by path: evaluate.load(q2_metric.path(\"q2\"))") from error
    return target
