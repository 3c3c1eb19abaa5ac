"""Scoring on Ray: the same output as here, one load an actor, and actors that die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from engine_jobs import CountingJob

from q2_metric.engine.cluster import ALONE, Cluster, Remote, check_gpus, connect, prepared, scored
from q2_metric.engine.job import Job
from q2_metric.engine.unfinished import unfinished_path
from q2_metric.errors import ModelError
from q2_metric.rows.columns import Columns

ROWS = 40
BLOCK = 4


def rows_file(path: Path, rows: int) -> str:
    path.write_text("".join(
        json.dumps({"id": f"r{i}", "response": f"number {i}", "knowledge": "k"}) + "\n"
        for i in range(rows)
    ))
    return str(path)


def job(folder: Path, **settings: object) -> CountingJob:
    notes = folder / "notes"
    notes.mkdir()
    file = rows_file(folder / "rows.jsonl", ROWS)
    return CountingJob(
        files=(file,), columns=Columns(), metrics=("knowledge_f1",), block=BLOCK, notes=notes,
        **settings,  # type: ignore[arg-type]
    )


RIGHT = [i / 1000 for i in range(ROWS)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    here = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    two = Cluster(actors=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ALONE, "0")
        connect(two)
        yield two
        ray.shutdown()


def descendants(process: int) -> set[int]:
    found = {process}
    children = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in children.splitlines()]
    while new := {child for child, parent in pairs if parent in found} - found:
        found |= new
    return found


def alive(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def listening(processes: set[int]) -> set[str]:
    """The addresses on which they listen, as /proc/net has them."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                sockets[f"socket:[{fields[9]}]"] = fields[1].rpartition(":")[0]
    found = set()
    for process in processes:
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{process}/fd"):
                with contextlib.suppress(OSError):
                    found.add(sockets.get(os.readlink(f"/proc/{process}/fd/{descriptor}"), ""))
    return found - {""}


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_a_cluster_that_is_started_here_is_ours_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody on the network can reach it, and nobody on the machine can read its files. At the end
    both are gone."""
    pytest.importorskip("ray", reason="needs the extra ray")
    file = rows_file(tmp_path / "rows.jsonl", ROWS)
    with TemporaryDirectory(dir="/tmp") as place:
        monkeypatch.setenv("RAY_TMPDIR", place)
        remote = Remote(Job((file,), Columns(), ("knowledge_f1",)), Cluster(), print)
        places = listening(descendants(remote._process.pid or 0))
        assert places
        assert places <= LOOPBACK
        [folder] = Path(place).iterdir()
        assert folder.name.startswith("q2-ray-")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert sum(len(rows) for rows, _ in remote.scored(0)) == ROWS
        assert not folder.exists()
    assert os.environ.get(ALONE) is None, "for clusters of others"


def test_gpus_that_are_not_there_are_not_waited_for(tmp_path: Path, cluster: Cluster) -> None:
    with pytest.raises(ModelError, match=r"--gpus-per-actor is 999, and Ray finds . GPUs on this"):
        prepared(job(tmp_path), Cluster(gpus=999), lambda line: None)


def test_a_cluster_that_was_joined_may_grow() -> None:
    def node(alive: bool, **resources: float) -> dict[str, object]:
        return {"Alive": alive, "Resources": resources}

    told: list[str] = []
    nodes = [node(True, CPU=4), node(True, CPU=4, GPU=2), node(False, GPU=8)]
    check_gpus(nodes, Cluster("auto", gpus=2), told.append)
    check_gpus(nodes, Cluster("auto"), told.append)
    assert not told
    check_gpus(nodes, Cluster("auto", gpus=4), told.append)
    assert "Ray finds 2 GPUs on the largest machine of the cluster; waiting" in told[0]


def test_the_folder_of_a_cluster_goes_at_the_end(tmp_path: Path) -> None:
    code = """
from types import SimpleNamespace
from q2_metric.engine import cluster
print(cluster._folder(SimpleNamespace(shutdown=lambda: print("shut down"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "RAY_TMPDIR": str(tmp_path)})
    folder, stopped = done.stdout.splitlines()
    assert Path(folder).parent.parent == tmp_path
    assert stopped == "shut down"
    assert [*tmp_path.iterdir()] == []


def found(given: CountingJob, cluster: Cluster, done: int = 0) -> list[float]:
    """The scores of the rows, in the order in which they come back."""
    return [row["knowledge_f1"] for rows, _ in scored(given, cluster, done) for row in rows]


def test_an_actor_is_killed_and_its_block_scored_again(tmp_path: Path, cluster: Cluster) -> None:
    given = job(tmp_path, seconds=0.1)
    killed: list[int] = []

    over = threading.Event()

    def kill_one() -> None:
        while not over.wait(0.02):
            blocks = [path.name for path in given.notes.iterdir() if path.name[0].isdigit()]
            if len(blocks) >= 3:
                killed.append(int(blocks[-1].split("-")[0]))
                os.kill(killed[0], signal.SIGKILL)
                return

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert found(given, cluster, done=1) == RIGHT[BLOCK:], "only what is missing is scored"
    over.set()
    killer.join()
    assert killed
    loads = {path.name for path in given.notes.glob("load-*")}
    assert 2 <= len(loads) <= 3, "one load for each of two actors, one for a new one"


def test_a_block_that_kills_its_actors(tmp_path: Path, cluster: Cluster) -> None:
    given = job(tmp_path, deadly="number 21", deaths=99)
    with pytest.raises(ModelError, match="rows 21 to 24: 3 processes died"):
        found(given, cluster)


def blocks_in(out: Path) -> int:
    """How many blocks a run has finished; about, as it goes on."""
    with contextlib.suppress(FileNotFoundError):
        return sum(line[:1] != b"{" for line in unfinished_path(out).read_bytes().splitlines()[1:])
    return 0


def test_here_or_on_ray_the_output_is_the_same(tmp_path: Path) -> None:
    """From the command line; the driver is killed on the way, and the run goes on here."""
    pytest.importorskip("ray", reason="needs the extra ray")
    texts = [
        f"Row {i} has {i % 7} hills and {i % 11} rivers, said Ann on day {i % 31}."
        for i in range(3000)
    ]
    rows = [{"response": text, "knowledge": " ".join(texts[i : i + 3])}
            for i, text in enumerate(texts)]
    rows[17]["response"] = 7
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = "knowledge_f1,knowledge_bleu"
    q2 = [sys.executable, "-m", "q2_metric", "score", str(path), "--metrics", names]

    def finish(out: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*q2, "--out", str(tmp_path / out), "--json", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    here = finish("here.jsonl")
    assert here.returncode == 1
    driver = subprocess.Popen(
        [*q2, "--out", str(tmp_path / "there.jsonl"), "--engine", "ray", "--actors", "2"],
        stderr=subprocess.PIPE,
    )
    while blocks_in(tmp_path / "there.jsonl") < 3:
        assert driver.poll() is None, driver.stderr and driver.stderr.read()
        time.sleep(0.005)
    children = descendants(driver.pid) - {driver.pid}
    driver.kill()
    driver.wait()
    assert any(map(alive, children))
    while any(map(alive, children)):  # the cluster ends with the command
        time.sleep(0.1)
    assert not (tmp_path / "there.jsonl").exists()
    there = finish("there.jsonl")
    assert "resuming" in there.stderr
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    (mine,), (other,) = (json.loads(done.stdout)["files"] for done in (here, there))
    assert (mine["scores"], mine["failed"]) == (other["scores"], other["failed"])
