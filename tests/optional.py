"""Packages that not every developer installs."""

from __future__ import annotations

from importlib.util import find_spec
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
