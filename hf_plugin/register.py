"""Makes the literal ``evaluate.load("q2")`` find the module of this package.

``evaluate`` looks on the Hub and then in its cache of modules, where the newest script of a
name counts. One line that imports our class is put there. Nothing else knows the layout of
that cache; no heavy package is imported here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from q2_metric.errors import InputError, MissingExtra

NAMES = ("q2", "scale")
"""The modules."""

OPT_OUT = "Q2_NO_REGISTER"
"""Environment variable: with any value, ``import q2_metric`` writes nothing."""


def path(name: str) -> str:
    """The folder of a module: ``evaluate.load(q2_metric.path("q2"))`` needs no registration.

    Args:
        name: "q2" or "scale".

    Raises:
        InputError: another name.
    """
    if name not in NAMES:
        raise InputError(f"there is no evaluate module {name!r}; there are {', '.join(NAMES)}")
    return str(Path(__file__).parent / "scripts" / name)


def cache_folder() -> Path:
    """Where ``evaluate`` keeps modules that it has loaded."""
    config = sys.modules.get("evaluate.config")
    if config is not None:
        modules = config.HF_MODULES_CACHE
    else:
        home = os.environ.get("XDG_CACHE_HOME", "~/.cache")
        home = os.environ.get("HF_HOME", os.path.join(home, "huggingface"))
        modules = os.environ.get("HF_MODULES_CACHE", os.path.join(home, "modules"))
    return Path(os.path.expanduser(modules)) / "evaluate_modules"


def register() -> list[Path]:
    """Writes the scripts into the cache, where they are not yet the newest of their name.

    Returns:
        The scripts, one for each of :data:`NAMES`.

    Raises:
        MissingExtra: evaluate is not installed.
        InputError: the cache cannot be written.
    """
    if find_spec("evaluate") is None:
        raise MissingExtra('evaluate.load("q2")', "evaluate", "evaluate")
    try:
        return [_place(name) for name in NAMES]
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be written: {error.strerror}; set HF_MODULES_CACHE to a "
            "folder that can, or load by evaluate.load(q2_metric.path(\"q2\"))"
        ) from error


def register_quietly() -> None:
    """:func:`register` for ``import q2_metric``: where it cannot be done, nothing is said."""
    if OPT_OUT not in os.environ:
        # ValueError: find_spec of a module that something put into sys.modules without a spec.
        with contextlib.suppress(MissingExtra, InputError, ValueError):
            register()


def _place(name: str) -> Path:
    script = (Path(path(name)) / f"{name}.py").read_bytes()
    root = cache_folder()
    folder = root / "metrics" / f"evaluate-metric--{name}"
    target = folder / hashlib.sha256(script).hexdigest() / f"{name}.py"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        for package in (root, root / "metrics", folder, target.parent):
            (package / "__init__.py").touch()
        unfinished = target.with_name(f"{name}.{os.getpid()}.tmp")
        unfinished.write_bytes(script)
        os.replace(unfinished, target)
    newest = max(folder.glob(f"*/{name}.py"), key=lambda file: file.stat().st_mtime)
    if newest != target:  # an older release's, or a script of that name from elsewhere
        os.utime(target)
    return target
