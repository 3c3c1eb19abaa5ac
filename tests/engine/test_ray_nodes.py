"""A Ray cluster of two nodes on this machine, of which one dies half-way."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import CountingJob
from test_ray import BLOCK, RIGHT, ROWS, rows_file, scores

from q2_metric.engine import cluster as on_ray
from q2_metric.engine.cluster import Cluster, fill
from q2_metric.engine.parts import Parts
from q2_metric.rows.columns import Columns


@pytest.fixture
def nodes() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    utils = pytest.importorskip("ray.cluster_utils")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    here = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    node = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    ray.shutdown()
    two = utils.Cluster(initialize_head=True, head_node_args=node)  # ports of its own
    try:
        two.add_node(**{name: node[name] for name in ("num_cpus", "object_store_memory")})
        two.wait_for_nodes()
        yield two
    finally:
        ray.shutdown()
        two.shutdown()


def test_a_node_that_dies_half_way(tmp_path: Path, nodes: Any) -> None:
    """Its blocks are scored on the other node."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "parts").mkdir()
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

    parts, finished = Parts(tmp_path / "parts"), list[int]()
    there = Cluster(address=nodes.address, actors=2)
    on_ray.connect(there)
    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        fill(given, parts, there, finished.append)
    finally:
        over.set()
        killer.join()
    assert killed.is_set()
    assert scores(given, parts) == RIGHT
    assert sum(finished) == ROWS
