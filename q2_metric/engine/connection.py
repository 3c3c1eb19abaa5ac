"""Connects this process to a Ray cluster.

A cluster that is started here listens only on the loopback interface, and only its user can read
its files. By default, Ray would listen on every interface and let all users read ``/tmp/ray``.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import tempfile
from dataclasses import dataclass
from multiprocessing.util import Finalize
from typing import Any

from q2_metric.errors import ModelError, optional
from q2_metric.processors import processors

STARTS = 3
"""Attempts to start a cluster here. On a busy machine, Ray gives up after 30 s."""

JOINS = 60
"""Seconds to wait until a running cluster accepts the connection. Ray itself would never stop."""

ALONE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With "0" before Ray is imported, no other machine can join. It works on every system."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a Ray cluster ("auto", "10.0.0.1:6379"; ``None`` starts one on this machine),
    the number of processes (``actors``, each with its own models), and the GPUs per process."""

    address: str | None = None
    actors: int = 1
    gpus: float = 0


def connect(cluster: Cluster) -> Any:
    """Connects to the cluster and returns the module ``ray`` (MissingExtra: it is not installed;
    ModelError: the cluster cannot be reached)."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Seconds without an answer until Ray ends this process.
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "30")
    own = cluster.address is None
    if own:
        os.environ[ALONE] = "0"
    ray, _ = (optional(module, "--engine ray", "ray", "ray") for module in ("ray", "ray.data"))
    if not ray.is_initialized():
        arguments: dict[str, Any] = {"address": cluster.address}
        if own:
            # At least one processor for each actor and one for the reader.
            arguments = {
                "address": "local",
                "num_cpus": max(processors(), cluster.actors + 1),
                "include_dashboard": False,
                "_temp_dir": _folder(ray),
            }
        _init(ray, cluster.address, arguments)
    return ray


def _folder(ray: Any) -> str:
    """Creates the folder of a cluster on this machine. At exit, both are removed."""
    # The folder holds sockets, whose paths must be short. TMPDIR may be too long.
    place = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.path.isdir("/tmp") else None)
    folder = tempfile.mkdtemp(prefix="q2-ray-", dir=place)

    def remove() -> None:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)

    Finalize(None, remove, exitpriority=0)
    # Ray lets all users read the folder that it creates. Nobody else can read the parent folder.
    return os.path.join(folder, "ray")


def _init(ray: Any, address: str | None, settings: dict[str, Any]) -> None:
    where = "could not be started here" if address is None else f"cannot be reached at {address}"
    _check_open(address)
    for left in reversed(range(STARTS if address is None else 1)):
        try:
            ray.init(**settings, logging_level=logging.ERROR, log_to_driver=False)
            return
        except Exception as error:
            ray.shutdown()  # stops the processes of a cluster that did not start completely
            if not left:
                raise ModelError(f"Ray {where}: {cause(error)}") from error


RUNNING = "is a cluster running there (ray start --head)?"


def _check_open(address: str | None) -> None:
    """Reports a wrong address at once. Without a port ("auto"), Ray itself finds the cluster."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ModelError(f"Ray cannot be reached at {address}: {port!r} is not a port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=JOINS).close()
    except OSError as error:
        raise ModelError(f"Ray cannot be reached at {address}: the address does not respond "
                         f"({error}); {RUNNING}") from error


def cause(error: BaseException) -> str:
    """The line of the traceback that names an exception: what went wrong in the cluster."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return next(iter(named or lines), repr(error))
