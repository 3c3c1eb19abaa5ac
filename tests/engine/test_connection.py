"""Addresses of clusters and clusters that die, without Ray."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from q2_metric.engine import connection
from q2_metric.engine.connection import Cluster, watched
from q2_metric.errors import MissingExtra, ModelError

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The frame with which a server of HTTP/2 begins."""


@contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """The address of something that answers everybody so, or takes everybody in and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        links: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    link, _ = listening.accept()
                except OSError:
                    return
                links.append(link)
                if answer is not None:
                    link.recv(33)
                    link.sendall(answer)
                    link.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        for link in links:
            link.close()


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
    started = time.monotonic()
    with pytest.raises(ModelError, match=f"Ray cannot be reached at {address}: {words}"):
        connection._answers(address)
    assert time.monotonic() - started < connection.ANSWERS + 10


def test_a_port_that_takes_us_in_and_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself had waited there for minutes."""
    assert connection.ANSWERS == 20
    monkeypatch.setattr(connection, "ANSWERS", 0.2)
    words = r"no answer within 0\.2 s; is a cluster running there"
    with server(None) as address, pytest.raises(ModelError, match=words):
        connection._init(None, address, {})


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\0\0"])
def test_what_answers_is_no_cluster(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(answer) as address:
        with pytest.raises(ModelError, match="the address is not a Ray cluster"):
            connection._answers(address)
        monkeypatch.setenv("RAY_USE_TLS", "1")  # then it does not greet so
        connection._answers(address)


def test_a_server_of_grpc_may_be_a_cluster() -> None:
    with server(SETTINGS) as address:
        connection._answers(address)
        connection._answers(f"ray://{address}")
    connection._answers("auto")


def test_an_address_that_never_comes_to_the_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something speaks gRPC there, and is no cluster."""
    class Silent:
        @staticmethod
        def init(**_settings: object) -> None:
            time.sleep(30)

    monkeypatch.setattr(connection, "JOINS", 0.1)
    words = r"no cluster answered within 0\.1 s"
    with server(SETTINGS) as address, pytest.raises(ModelError, match=words):
        connection._init(Silent, address, {})


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


def ray_at(address: str) -> Any:
    return SimpleNamespace(get_runtime_context=lambda: SimpleNamespace(gcs_address=address))


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
    with server(SETTINGS) as address:
        assert list(watched(ray_at(address), slowly(1))) == [0, 1, 2]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("silent", [True, False])
def test_a_dead_cluster_is_noticed(silent: bool) -> None:
    """What it had given is there; nobody waits for the rest."""
    with server(None) as address:
        there = address if silent else "127.0.0.1:1"
        results = watched(ray_at(there), slowly(60))
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ModelError, match=f"cluster at {there} has died: no answer"):
            next(results)


def test_errors_come_through() -> None:
    def give() -> Iterator[int]:
        yield 1
        raise KeyError("lost")

    results = watched(ray_at("x"), give)
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

    with closing(watched(ray_at("x"), give)) as results:
        assert next(results) == 0
    assert closed.wait(10)
