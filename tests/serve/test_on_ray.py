"""The API on Ray Serve: two replicas on two worker nodes of a cluster, of which one node dies."""

from __future__ import annotations

import http.client
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from test_api import ROW, ask

from q2_metric.errors import InputError

KEY = {"Authorization": "Bearer secret"}
ROWS = [ROW, {"response": "It opened in 1901.", "knowledge": ROW["knowledge"]}, {"response": "x"}]
CLIENTS, REQUESTS, MOST_REPEATED = 4, 120, 40


@pytest.fixture(scope="module")
def serve() -> Any:
    pytest.importorskip("ray", reason="needs the extra ray-serve")
    pytest.importorskip("grpc_reflection", reason="needs the extra ray-serve")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Machines that run tests are busy.
    os.environ["RAY_raylet_start_wait_time_s"] = "120"  # noqa: SIM112
    os.environ["RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S"] = "60"
    return pytest.importorskip("ray.serve")


@pytest.fixture
def nodes(serve: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that only passes requests on, and two workers with room for one replica each."""
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
    ray.shutdown()
    small = {"object_store_memory": 100_000_000}
    three = Cluster(initialize_head=True, head_node_args={
        "num_cpus": 0, "include_dashboard": False, "no_monitor": True,
        "include_log_monitor": False, **small})
    try:
        for _ in range(2):
            three.add_node(wait=False, num_cpus=1, **small)
        three.wait_for_nodes()
        ray.init(address=three.address, log_to_driver=False, logging_level="ERROR")
        yield three
    finally:
        serve.shutdown()
        ray.shutdown()
        three.shutdown()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_worker_node_dies(serve: Any, nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request is answered, and rightly. The clients repeat at most the requests that the
    node was working on or that Ray Serve sent to it before it knew."""
    from q2_metric.serve.on_ray import app

    monkeypatch.setenv("Q2_API_KEY", "secret")
    port = free_port()
    serve.start(proxy_location="HeadOnly", http_options={"port": port})
    serve.run(app({"metrics": "groundedness", "replicas": "2"}))
    status, right, _ = ask(port, "POST", "/v1/score", {"rows": ROWS}, KEY)
    supported, wrong, bad = right["results"]
    assert status == 200
    assert wrong["groundedness"] < 0.3 < 0.7 < supported["groundedness"]
    assert "rows[2]" in bad["error"]
    assert ask(port, "POST", "/v1/score", ROW)[0] == 401
    assert ask(port, "GET", "/v1/health")[1]["status"] == "ok"

    first = Event()

    def answered(number: int) -> int:
        """How many tries the request needed."""
        if number == REQUESTS // 3:
            first.set()
        for tries in range(1, 50):
            with suppress(OSError, http.client.HTTPException):
                status, reply, _ = ask(port, "POST", "/v1/score", {"rows": ROWS}, KEY)
                if status == 200:
                    assert reply == right
                    return tries
                assert status in (500, 503), reply
            time.sleep(0.2)
        raise AssertionError(f"request {number} has no answer")

    with ThreadPoolExecutor(CLIENTS) as clients:
        tries = clients.map(answered, range(REQUESTS))
        assert first.wait(60)
        nodes.remove_node(min(nodes.worker_nodes, key=id), allow_graceful=False)
        repeated = sum(tries) - REQUESTS
    print(f"{REQUESTS} requests, {repeated} repeated")
    assert repeated <= MOST_REPEATED
    assert {ask(port, "POST", "/v1/score", ROW, KEY)[0] for _ in range(10)} == {200}


def test_what_cannot_be_deployed(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from q2_metric.serve.on_ray import app

    with pytest.raises(InputError, match="Set Q2_API_KEY"):
        app({})
    monkeypatch.setenv("Q2_API_KEY", "secret")
    for replicas in ("0", "two", 1.5):
        with pytest.raises(InputError, match="replicas must be a number above 0"):
            app({"replicas": replicas})
