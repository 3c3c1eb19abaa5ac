"""As many threads as the machine, the container and the user allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from q2_metric import processors
from q2_metric.models.bundled import models


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Four processors, and the files of a container without limits."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.setattr(processors, "CGROUP", tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return tmp_path


def test_threads_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for asked in ("", "2", "3,1", "9", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        found.append(models.threads())
    assert found == [4, 2, 3, 4, 4, 4]


@pytest.mark.parametrize(("said", "threads"), [
    ("max 100000", 4), ("200000 100000", 2), ("150000 100000", 2), ("20000 100000", 1),
    ("6400000 100000", 4), ("", 4), ("200000", 4), ("200000 0", 4)])
def test_a_containers_limit(said: str, threads: int, limits: Path) -> None:
    """With one thread for each of the host's 64 processors, all wait most of the time."""
    (limits / "cpu.max").write_text(said + "\n")
    assert models.threads() == threads


@pytest.mark.parametrize(("quota", "threads"), [("-1", 4), ("200000", 2), ("250000", 3)])
def test_a_containers_limit_on_an_older_system(quota: str, threads: int, limits: Path) -> None:
    (limits / "cpu").mkdir()
    (limits / "cpu/cpu.cfs_quota_us").write_text(quota + "\n")
    (limits / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert models.threads() == threads


def test_torch_keeps_to_the_containers_limit(limits: Path) -> None:
    torch = pytest.importorskip("torch")
    from q2_metric.models.hub.loading import limit_threads

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        limit_threads()
        assert torch.get_num_threads() == 3  # no limit is lower
        (limits / "cpu.max").write_text("200000 100000\n")
        limit_threads()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
