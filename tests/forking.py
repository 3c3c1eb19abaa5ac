"""A function in a forked child; and pools of processes around scoring, as a program.

The program, ``python forking.py fork|spawn|forkserver``, is a process of its own, so that a test
can end it where it hangs; the last line that it printed says where that was.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from q2_metric import Q2, Example, Scale
from q2_metric.models.bundled import on_onnx

ROWS = [Example("It opened in 1901.", "The tower opened in 1889."),
        Example("Rome has seven hills.", "Rome was built on 7 hills.")]
kept: list[Any] = []
"""The parent's metrics, which a forked child inherits."""


def in_fork(function: Callable[[], object]) -> None:
    """Runs it in a forked child, which must end well and in time."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes are not forked here")
    child = multiprocessing.get_context("fork").Process(target=function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child.start()
    child.join(120)
    child.kill()
    assert child.exitcode == 0


def plain(number: int) -> int:
    """What never touches a metric."""
    return number + 1


def values(metrics: list[Any]) -> list[Any]:
    return [score.value for metric in metrics for score in metric.score(ROWS)]


def inherited(_: int) -> list[Any]:
    return values(kept)


def released(_: int) -> bool:
    """The child lets go of all that it inherited."""
    kept.clear()
    on_onnx.forward_of.cache_clear()
    gc.collect()
    return True


def loaded(_: int) -> list[Any]:
    return values([load(Q2), load(Scale)])


def load(kind: type[Any]) -> Any:
    return kind.from_preset("bundled-small")


def pools(method: str, when: str, expected: list[Any] | None = None) -> None:
    """Children that do not score and, where ``expected`` is given, children that do."""
    context = multiprocessing.get_context(method)
    print(f"{method}, {when}", flush=True)
    with context.Pool(2 if method == "fork" else 1) as pool:
        assert pool.map(plain, [1, 2]) == [2, 3]
        if expected is None:
            return
        print(f"{method}, {when}: children that score", flush=True)
        asked = [(values, list(kept))] if kept else [(loaded, 0)]
        asked += [(inherited, 0), (released, 0), (loaded, 0)] if method == "fork" and kept else []
        for function, argument in asked:
            found = pool.apply(function, (argument,))
            assert found is True or found == expected, (function, found, expected)


def child_that_ends_as_a_program_does() -> None:
    """It runs Python's whole shutdown, unlike the children of ``multiprocessing``."""
    print("os.fork", flush=True)
    child = os.fork()
    if child == 0:
        released(0)
        sys.exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def main(method: str) -> None:
    pools(method, "before anything was loaded")
    kept.append(load(Q2))
    pools(method, "while networks are opened")
    kept.append(load(Scale))
    expected = values(kept)
    assert None not in expected
    pools(method, "after scoring", expected)
    over, begun = threading.Event(), threading.Event()

    def score() -> None:
        while not over.is_set():
            values(kept)
            begun.set()

    thread = threading.Thread(target=score)
    thread.start()
    begun.wait()
    try:
        pools(method, "while another thread scores", expected if method == "fork" else None)
        if method == "fork":
            child_that_ends_as_a_program_does()
    finally:
        over.set()
    thread.join()
    released(0)
    pools(method, "after the metrics were released", expected if method == "fork" else None)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
