"""Finds a user's own package ``parlai_internal`` that hides the plug-in, and says what to add to
this package.

The plug-in's ``parlai_internal`` is a namespace package: Python joins modules from several folders.
But if the user has a regular package of this name (a folder with ``__init__.py``), Python uses only
the regular package, and ParlAI does not find the plug-in.
"""

import importlib
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

LINE = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)"
"""A line of Python for ``__init__.py``. It lets a regular package have modules in other folders."""

_PARTS = ("mutators", "scripts")
_MODULE = "q2_metric_parlai"


def problem() -> str | None:
    """A line that says which package hides the plug-in from ParlAI, and what to add to the package;
    ``None`` if ParlAI finds the plug-in."""
    if all(_is_found(f"parlai_internal.{part}.{_MODULE}") for part in _PARTS):
        return None
    try:
        own = importlib.import_module("parlai_internal").__file__
    except ImportError as error:
        return f"q2-metric: ParlAI cannot find the plug-in: {error}; install q2-metric again"
    if own is None:
        return "q2-metric: parlai_internal lacks the plug-in's modules; install q2-metric again"
    folder = Path(own).parent
    files = [folder / "__init__.py", *(folder / part / "__init__.py" for part in _PARTS)]
    to_change = [str(file) for file in files if file.is_file()
                 and LINE not in file.read_text(encoding="utf-8", errors="replace")]
    add = (f"this line to {' and '.join(to_change)}: {LINE}" if to_change else "a file "
           "mutators/q2.py with the line: import parlai_plugin; parlai_plugin.install()")
    return f"q2-metric: the package {folder} hides the plug-in from ParlAI; add {add}"


def _is_found(module: str) -> bool:
    with suppress(ImportError):
        return find_spec(module) is not None
    return False
