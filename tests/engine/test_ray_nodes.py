"""A Ray cluster of two nodes on this machine, of which one dies half-way, or both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import CountingJob
from test_ray import BLOCK, RIGHT, ROWS, blocks_in, found, rows_file

from q2_metric.engine.cluster import Cluster, connect
from q2_metric.rows.columns import Columns

NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    utils = pytest.importorskip("ray.cluster_utils")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Machines that run tests are busy.
    os.environ["RAY_raylet_start_wait_time_s"] = "120"  # noqa: SIM112
    here = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    head = {"include_dashboard": False, "no_monitor": True, "include_log_monitor": False}
    # Ray itself asks every 3 s; after five questions without an answer a node is dead.
    often = {"_system_config": {"health_check_period_ms": 300}}
    ray.shutdown()
    two = utils.Cluster(initialize_head=True, head_node_args=NODE | head | often)
    try:
        yield two
    finally:
        ray.shutdown()
        two.shutdown()


def test_a_node_that_dies_half_way(tmp_path: Path, nodes: Any) -> None:
    """Its blocks are scored on the other node."""
    nodes.add_node(**NODE)
    notes = tmp_path / "notes"
    notes.mkdir()
    given = CountingJob(
        files=(rows_file(tmp_path / "rows.jsonl", ROWS),), columns=Columns(),
        metrics=("knowledge_f1",),
        block=BLOCK, notes=notes, seconds=0.5,
    )
    over, killed = threading.Event(), threading.Event()

    def kill_one() -> None:
        while not over.wait(0.02):
            at_work = {path.name.split("-")[0] for path in notes.glob("[0-9]*")}
            if len(at_work) == 2:  # an actor on each node
                (second,) = nodes.worker_nodes
                nodes.remove_node(second, allow_graceful=False)
                killed.set()
                return

    there = Cluster(address=nodes.address, actors=2)
    connect(there)
    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        assert found(given, there) == RIGHT
    finally:
        over.set()
        killer.join()
    assert killed.is_set()


def test_a_cluster_that_dies_whole(tmp_path: Path, nodes: Any) -> None:
    """The command says so in one line and with its code, and goes on without it."""
    import ray

    ray.shutdown()  # the previous test joined the head
    nodes.add_node(**NODE)
    out, rows = tmp_path / "out.jsonl", 3000
    address = nodes.address  # without its head it has none
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(
        json.dumps({"response": f"Row {i} has {i % 7} hills, said Ann on day {i % 31}.",
                    "knowledge": f"Row {i} has {i % 5} hills, said Bob." * 3}) + "\n"
        for i in range(rows)
    ))
    words = ["score", str(file), "--metrics", "knowledge_f1,knowledge_bleu", "--no-cache", "--json"]
    command = [*words, "--out", str(out)]
    driver = subprocess.Popen(
        [sys.executable, "-m", "q2_metric", *command, "--engine", "ray", "--address", address],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    while blocks_in(out) < 3:
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.005)
    for node in [*nodes.worker_nodes, nodes.head_node]:
        nodes.remove_node(node, allow_graceful=False)
    said, complained = driver.communicate(timeout=120)
    assert (driver.returncode, said, complained) == (
        3, "", f"q2: error: Ray's cluster at {address} has died; {out}.unfinished keeps what is "
        "finished: the same command resumes from there\n"
    )
    assert not out.exists()
    here = subprocess.run(
        [sys.executable, "-m", "q2_metric", *command], capture_output=True, text=True, check=True)
    assert "resuming: " in here.stderr
    alone = tmp_path / "alone.jsonl"
    subprocess.run([sys.executable, "-m", "q2_metric", *words, "--out", str(alone)],
                   capture_output=True, check=True)
    assert out.read_bytes() == alone.read_bytes()
    assert len(out.read_bytes().splitlines()) == rows
