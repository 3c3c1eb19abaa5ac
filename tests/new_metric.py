"""A metric that the package does not have, in a module of its own, and its registry entry."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from q2_metric.metrics.registry import METRICS, Entry

CHRF = '''
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF

from q2_metric.metrics.settings import settings_and_runtime
from q2_metric.metrics.signature import signature
from q2_metric.types import Score


@dataclass(frozen=True)
class Settings:
    order: int = 6


class ChrF:
    name = "chrf"

    def __init__(self, settings=None):
        self.settings = settings or Settings()
        self.signature = signature(self.name, {"order": self.settings.order})

    @classmethod
    def from_preset(cls, preset="bundled", **keywords):
        return cls(settings_and_runtime(Settings, keywords)[0])

    def score(self, examples):
        chrf = CHRF(char_order=self.settings.order)
        return [
            Score(e, chrf.sentence_score(e.response, [e.knowledge]).score / 100) for e in examples
        ]
'''


def add_chrf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """Registers chrF until the end of the test."""
    (folder / "metric_of_a_user.py").write_text(CHRF)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "metric_of_a_user", raising=False)
    new = Entry("chrf", "chrF", "metric_of_a_user:ChrF", settings="metric_of_a_user:Settings",
                any_text=True)
    monkeypatch.setitem(METRICS, "chrf", new)
    return new
