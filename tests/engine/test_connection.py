"""Addresses of clusters and clusters that die, without Ray."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import engine_jobs
import pytest

from q2_metric.engine import cluster
from q2_metric.engine.cluster import Cluster, Remote
from q2_metric.engine.job import Job
from q2_metric.errors import MissingExtra, ModelError
from q2_metric.rows.columns import Columns

# --- reaching a cluster ----------------------------------------------------------------------


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster.ALONE, "0")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'--engine ray needs .*q2-metric\[ray\]'):
        cluster.connect(Cluster())


def test_an_error_of_the_cluster_in_one_line() -> None:
    text = '\x1b[36mray::Actor.submit()\x1b[39m (pid=1)\n  File "x.py", line 1\nKeyError: "a"\nmore'
    assert cluster.cause(RuntimeError(text)) == 'KeyError: "a"'
    assert cluster.cause(RuntimeError("\nlost")) == "lost"


@pytest.mark.parametrize(("address", "words"), [
    ("127.0.0.1:1", r"the address does not respond \(.*refused\); is a cluster running there"),
    ("127.0.0.1:x", "'x' is not a port"), ("127.0.0.1:99999", "'99999' is not a port"),
    ("no-such-host.invalid:6379", "the address does not respond"),
])
def test_an_address_where_nobody_answers(address: str, words: str) -> None:
    with pytest.raises(ModelError, match=f"Ray cannot be reached at {address}: {words}"):
        cluster._init(None, address, {})


@pytest.mark.slow
def test_a_port_where_no_cluster_answers() -> None:
    """Ray itself would ask there without end, and say so line after line."""
    pytest.importorskip("ray", reason="needs the extra ray")
    code = """
import sys
from multiprocessing import active_children
from q2_metric.engine import cluster
from q2_metric.engine.job import Job
from q2_metric.errors import ModelError
from q2_metric.rows.columns import Columns
assert cluster.JOINS == 60
cluster.JOINS = 15
try:
    cluster.Remote(Job((), Columns(), ("knowledge_f1",)), cluster.Cluster(sys.argv[1]), print)
except ModelError as error:
    print(error)
[child] = active_children() or [None]
assert child is None or child.join() or child.exitcode == -9
"""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-c", code, address], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (
        f"Ray cannot be reached at {address}: no Ray cluster answered within 15 s; "
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
    cluster._init(slow, None, {})
    assert (slow.left, slow.stopped) == (-1, 2)
    with pytest.raises(ModelError, match="could not be started here: The current node timed out"):
        cluster._init(Failing(99), None, {})


def test_what_ray_prints_is_not_heard(tmp_path: Path) -> None:
    """Its own code writes to the descriptors; our results are on standard output."""
    code = """
import os, sys
from pathlib import Path
from types import SimpleNamespace
from q2_metric.engine import cluster
from q2_metric.errors import ModelError
def connect(_cluster):
    os.write(1, b"The raylet is dead")
    os.write(2, b"Set ray log level")
    raise ModelError("lost")
cluster.connect = connect
pipe = SimpleNamespace(send=lambda error: Path(sys.argv[1]).write_text(str(error)))
cluster._connected(pipe, None, None)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "sent")],
                          capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr, (tmp_path / "sent").read_text()) == ("", "", "lost")


# --- a cluster at work -----------------------------------------------------------------------


def remote(
    monkeypatch: pytest.MonkeyPatch, acts: Callable[..., None], told: list[str] | None = None
) -> Remote:
    """A connection to a cluster, whose process acts so instead."""
    monkeypatch.setattr(cluster, "_connected", acts)
    told = [] if told is None else told
    return Remote(Job((), Columns(), ("knowledge_f1",)), Cluster("10.0.0.1:6379"), told.append)


def test_a_slow_cluster_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    there = remote(monkeypatch, engine_jobs.slow)
    assert (there.signatures, there.identities) == ({"f1": "signed"}, {"f1": {}})
    assert list(there.scored(1)) == [1, 2]
    assert there._process.exitcode == 0


def test_a_warning_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    remote(monkeypatch, engine_jobs.slow, told)
    assert told == ["few GPUs"]


def test_a_dead_cluster_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray ends the process without a word. What it had given is there."""
    results = remote(monkeypatch, engine_jobs.dying).scored(0)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ModelError, match=r"Ray's cluster at 10\.0\.0\.1:6379 has died"):
        next(results)


def test_the_folder_of_a_cluster_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also if Ray ends the process, or if an error ends the command in the meantime."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(ModelError, match="has died"):
        list(remote(monkeypatch, engine_jobs.dying_with_its_folder).scored(0))
    assert not list(tmp_path.iterdir())
    assert list(remote(monkeypatch, engine_jobs.told_to_end_while_it_ends).scored(2)) == [2]
    assert not list(tmp_path.iterdir())


def test_errors_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtra, match=r"the reader needs .* \"q2-metric\[hub\]\""):
        remote(monkeypatch, engine_jobs.without_a_package)


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    """However that ends."""
    code = """
import sys
from pathlib import Path
from multiprocessing import get_context
import engine_jobs
get_context("spawn").Process(target=engine_jobs.endless, args=(sys.argv[1],)).start()
sys.stdin.read()
"""
    note = tmp_path / "process"
    here = str(Path(__file__).parents[1])
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(note)], stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])})
    while not note.exists():
        assert parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.communicate()
    while (tmp_path / "process").exists():  # it removes the note when it ends
        time.sleep(0.02)
