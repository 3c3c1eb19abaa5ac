"""Addresses of clusters and clusters that die, without Ray."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from q2_metric.engine import connection
from q2_metric.engine.connection import Cluster, watched
from q2_metric.errors import MissingExtra, ModelError

# --- reaching a cluster ----------------------------------------------------------------------


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'--engine ray needs .*q2-metric\[ray\]'):
        connection.connect(Cluster())


def test_an_error_of_the_cluster_in_one_line() -> None:
    text = '\x1b[36mray::Actor.submit()\x1b[39m (pid=1)\n  File "x.py", line 1\nKeyError: "a"\nmore'
    assert connection.cause(RuntimeError(text)) == 'KeyError: "a"'
    assert connection.cause(RuntimeError("\nlost")) == "lost"


@pytest.mark.parametrize(("address", "words"), [
    ("127.0.0.1:1", r"the address does not respond \(.*refused\); is a cluster running there"),
    ("127.0.0.1:x", "'x' is not a port"), ("127.0.0.1:99999", "'99999' is not a port"),
    ("no-such-host.invalid:6379", "the address does not respond"),
])
def test_an_address_where_nobody_answers(address: str, words: str) -> None:
    with pytest.raises(ModelError, match=f"Ray cannot be reached at {address}: {words}"):
        connection._init(None, address, {})


@pytest.mark.slow
def test_a_port_where_no_cluster_answers() -> None:
    """Ray itself would ask there without end, and say so line after line."""
    pytest.importorskip("ray", reason="needs the extra ray")
    code = """
import sys
from q2_metric.engine import connection
from q2_metric.errors import ModelError
assert connection.JOINS == 60
connection.JOINS = 1
try:
    connection.connect(connection.Cluster(sys.argv[1]))
except ModelError as error:
    print(error)
"""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-c", code, address], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (
        f"Ray cannot be reached at {address}: no Ray cluster answered within 1 s; "
        "is a cluster running there (ray start --head)?\n", "")


def test_a_cluster_that_cannot_be_started() -> None:
    """Ray gives up on itself where the machine is busy; it is asked to start again."""
    class Failing:
        def __init__(self, times: int) -> None:
            self.left, self.stopped = times, 0

        def init(self, **_settings: object) -> None:
            self.left -= 1
            if self.left >= 0:
                raise Exception("The current node timed out during startup.\nmore")

        def shutdown(self) -> None:
            self.stopped += 1

    slow = Failing(2)
    connection._init(slow, None, {})
    assert (slow.left, slow.stopped) == (-1, 2)
    with pytest.raises(ModelError, match="could not be started here: The current node timed out"):
        connection._init(Failing(99), None, {})


def test_chatter_is_not_heard(capfd: pytest.CaptureFixture[str]) -> None:
    """Of Ray's own code, which writes to the descriptor."""
    with connection._no_chatter():
        connection.os.write(2, b"Set ray log level\n")
    connection.os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


# --- a cluster at work -----------------------------------------------------------------------


def ray_that(nodes: Callable[[], object] = list) -> Any:
    """Ray, connected to a cluster that answers so when its nodes are asked for."""
    context = SimpleNamespace(gcs_address="10.0.0.1:6379", get_node_id=lambda: "a")
    return SimpleNamespace(get_runtime_context=lambda: context, nodes=nodes)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GONE", 0.3)
    monkeypatch.setattr(connection, "LOOKS", 0.05)


def slowly(seconds: float) -> Callable[[], Iterator[int]]:
    def give() -> Iterator[int]:
        for i in range(3):
            time.sleep(seconds if i == 2 else 0)
            yield i

    return give


@pytest.mark.usefixtures("quick")
def test_a_slow_cluster_lives() -> None:
    assert list(watched(ray_that(), slowly(1))) == [0, 1, 2]


def refuse() -> None:
    raise ConnectionError


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("nodes", [threading.Event().wait, refuse], ids=["silent", "refuses"])
def test_a_dead_cluster_is_noticed(nodes: Callable[[], object]) -> None:
    """What it had given is there; nobody waits for the rest."""
    results = watched(ray_that(nodes), slowly(60))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ModelError, match=r"cluster at 10\.0\.0\.1:6379 has died: no answer for"):
        next(results)


def test_a_dead_node_is_noticed_at_once() -> None:
    """The head node still answers, but Ray would soon end this process without a word."""
    with socket.create_server(("127.0.0.1", 0)) as node:
        host, port = node.getsockname()
        here = {"NodeID": "a", "NodeManagerAddress": host, "NodeManagerPort": port}
        results = watched(ray_that(lambda: [here]), slowly(60))
        assert [next(results), next(results)] == [0, 1]
        node.settimeout(10)
        node.accept()
    with pytest.raises(ModelError, match="has died: its node on this machine has ended"):
        next(results)


def test_errors_come_through() -> None:
    def give() -> Iterator[int]:
        yield 1
        raise KeyError("lost")

    results = watched(ray_that(), give)
    assert next(results) == 1
    with pytest.raises(KeyError, match="lost"):
        next(results)


def test_who_stops_asking_ends_the_work() -> None:
    """The iterator is closed, so that its actors go."""
    closed = threading.Event()

    def give() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.set()

    with closing(watched(ray_that(), give)) as results:
        assert next(results) == 0
    assert closed.wait(10)
