"""The fuzzers of ``make fuzz``, for a moment."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets import LINES, TARGETS, damaged

from q2_metric.engine.cache import _SEAL
from q2_metric.engine.unfinished import Unfinished


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_end_well_or_with_an_error_of_ours(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    target, whole = TARGETS[name]
    target(data.draw(damaged(whole)), tmp_path)


# --- each check fails where it should ----------------------------------------------------


class Unsealed(str):
    """What a cache without seals takes for a value: any JSON."""

    def __new__(cls, _key: str, text: str) -> Unsealed:
        return super().__new__(cls, "0" * _SEAL + text)

    def __eq__(self, _stored: object) -> bool:
        with suppress(ValueError):
            json.loads(self[_SEAL:])
            return True
        return False

    __hash__ = str.__hash__


def forgetful(kept: Unfinished, *_: object) -> dict[str, object]:
    """A start that clears what it cannot read."""
    os.ftruncate(kept._descriptor, 0)
    return {}


@pytest.mark.parametrize(("name", "where", "fault"), [
    ("cached", "q2_metric.engine.cache._sealed", Unsealed),
    ("cached", "q2_metric.engine.cache.Cache.get", lambda *_: {}),
    ("unfinished", "q2_metric.engine.unfinished._check_sum", lambda *_: "0" * 64),
    ("unfinished", "q2_metric.engine.unfinished.Unfinished._begun", forgetful),
    ("calibrations", "q2_metric.metrics.calibration.Calibration.apply", lambda _, value: value),
    ("readers", "targets.output_row", lambda *_: {}["id"]),
])
def test_a_planted_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str, fault: Any
) -> None:
    target, whole = TARGETS[name]
    pieces = [*whole, *(str(number).encode() for number in range(200)), LINES.replace(b"5", b"6")]
    monkeypatch.setattr(where, fault)

    def all_of_them() -> None:
        for data in pieces:
            target(data, tmp_path)

    with pytest.raises((AssertionError, KeyError)):
        all_of_them()
