"""The fuzzers of ``make fuzz``, for a moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets import TARGETS, damaged


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_end_well_or_with_an_error_of_ours(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    target, whole = TARGETS[name]
    target(data.draw(damaged(whole)), tmp_path)
