"""Packages that not every developer installs."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def agreement() -> pytest.MarkDecorator:
    """For files on agreement with people. The packages are looked up and not imported, because
    every process of a run reads every file."""
    lacking = [name for name in ("scipy", "sklearn") if find_spec(name) is None]
    return pytest.mark.skipif(bool(lacking), reason='needs "q2-metric[meta]"')


def needs(package: str) -> Any:
    """The package; the test is skipped where it is not."""
    return pytest.importorskip(
        package, reason=f"{package} is not installed: docs/frameworks.md says how")


_MISSING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def without(package: str, folder: Path) -> str:
    """A PYTHONPATH with which Python does not find the package. ``folder`` is its first entry."""
    (folder / "sitecustomize.py").write_text(_MISSING.format(package=package))
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
