"""Forked, spawned and served processes beside metrics; a hang is a failure, by a time limit."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from forking import in_fork

from q2_metric import forks
from q2_metric.engine.cache import Cache
from q2_metric.memory import LruCache

TESTS = Path(__file__).parents[1]
SECONDS = 240
"""After which a process counts as hanging; each takes a twentieth of it where nothing else runs."""

METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.parametrize("method", METHODS)
def test_pools_before_during_and_after_scoring(method: str) -> None:
    """With the metrics alive, released, and while they are opened; children score the same."""
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    run = subprocess.Popen(
        [sys.executable, str(TESTS / "forking.py"), method], text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path})
    try:
        said, _ = run.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        pytest.fail(f"it hangs: {run.communicate()[0]}")
    assert run.returncode == 0, said
    assert said.splitlines()[-1] == "done", said


def held(lock: object) -> tuple[threading.Thread, threading.Event]:
    """A thread that holds a lock until the event is set."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:  # type: ignore[attr-defined]
            taken.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    return thread, over


def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held() -> None:
    memory: LruCache[str, int] = LruCache(4, 100)
    memory.put("a", 1, 1)

    def use() -> None:
        assert memory.get("a") is None  # it may have been half changed
        memory.put("b", 2, 1)
        assert memory.get("b") == 2

    thread, over = held(memory._lock)
    try:
        in_fork(use)
    finally:
        over.set()
        thread.join()
    assert memory.get("a") == 1

    def inherit() -> None:
        assert memory.get("a") == 1

    in_fork(inherit)


def test_a_fork_waits_for_what_another_thread_is_loading() -> None:
    """An import that it began could never be finished in the child."""
    begun, asked, ended = threading.Event(), threading.Event(), threading.Event()

    def load() -> None:
        with forks.held_off():
            begun.set()
            asked.wait(60)
            sum(range(1_000_000))
            ended.set()

    def check() -> None:
        assert ended.is_set()
        with forks.held_off():
            pass

    thread = threading.Thread(target=load)
    thread.start()
    begun.wait()
    os.register_at_fork(before=asked.set)  # runs before the hook of the module
    in_fork(check)
    thread.join()


def test_threads_load_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=10)

    def load() -> None:
        with forks.held_off():
            both.wait()

    thread = threading.Thread(target=load)
    thread.start()
    load()
    thread.join()


def test_a_child_leaves_its_parents_cache_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put({"a": 1})

    def use() -> None:
        assert cache.get(["a"]) == {}
        cache.put({"b": 2})
        cache.close()

    in_fork(use)
    assert cache.get(["a", "b"]) == {"a": 1}
    cache.put({"c": 3})
    cache.close()
    assert Cache(tmp_path / "cache").get(["a", "c"]) == {"a": 1, "c": 3}


def test_a_child_judges_while_a_thread_of_its_parent_did(monkeypatch: pytest.MonkeyPatch) -> None:
    from fakes import FakeClaims

    from q2_metric import Example, metrics
    from q2_metric.scoring.judge import Judge

    monkeypatch.setattr(metrics, "load_metrics", lambda *_, **__: [FakeClaims("q2")])
    judge = Judge("q2")
    thread, over = held(judge._lock)
    try:
        in_fork(lambda: judge([Example("Rome has 7 hills.", "It has 7.")]))
    finally:
        over.set()
        thread.join()


def test_a_child_computes_with_torch_after_its_parent_did() -> None:
    """OpenMP's other threads are in the parent; a process of its own, as tests have one thread."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", TORCH], text=True, capture_output=True, timeout=SECONDS,
        env={**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": str(TESTS.parent)})
    assert done.returncode == 0, done.stderr


TORCH = """
import faulthandler, os, sys
import torch
from q2_metric import Example, Scale

rows = [Example("It opened in 1901.", "The tower opened in 1889. " * 20)] * 16
scale = Scale.from_preset("bundled-small", dtype="bfloat16")
assert torch.get_num_threads() == 2
expected = [score.value for score in scale.score(rows)]
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    found = [score.value for score in scale.score(rows)]
    os._exit(found != expected)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
