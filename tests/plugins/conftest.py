"""What every test of a framework starts with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def own_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    """ParlAI's scorers live as long as the process: another test's may be of fakes."""
    if scores := sys.modules.get("parlai_plugin.scores"):
        monkeypatch.setattr(scores, "_scorers", {})


@pytest.fixture(autouse=True)
def no_survey(monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval lists the machine's packages and compilers after each run: most of a short one."""
    if harness := sys.modules.get("lm_eval.evaluator"):
        monkeypatch.setattr(harness, "add_env_info", lambda results: None)
