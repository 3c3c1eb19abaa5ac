"""What every test of a framework starts with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def own_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    """ParlAI's scorers live as long as the process: another test's may be of fakes."""
    if scores := sys.modules.get("parlai_plugin.scores"):
        monkeypatch.setattr(scores, "_scorers", {})
