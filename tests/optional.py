"""Frameworks that not every developer installs."""

from __future__ import annotations

from typing import Any

import pytest


def needs(package: str) -> Any:
    """The package; the test is skipped where it is not."""
    return pytest.importorskip(
        package, reason=f"{package} is not installed: docs/frameworks.md says how")
