"""Connects to a Ray cluster within a time limit, and notices when the cluster dies.

A cluster that is started here listens only on the loopback interface, and only its user can read
its files. By default, Ray would listen on every interface and let all users read ``/tmp/ray``.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from q2_metric.errors import ClusterDied, ModelError, optional
from q2_metric.processors import processors

T = TypeVar("T")

STARTS = 3
"""Attempts to start a cluster here. On a busy machine, Ray gives up after 30 s."""

JOINS = 60
"""Seconds to wait until a running cluster accepts the connection."""

GONE = 30
"""Seconds without an answer until a cluster counts as dead.

After 60 s, or a few seconds after this machine's node has died, Ray ends the process without a
word."""

LOOKS = 0.5
"""Seconds between two checks whether a cluster still answers."""

_SILENT = {
    # Ray's native code logs many lines about lost nodes and tasks.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # Hides errors that Ray prints on standard output, where our results go.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
"""Silences Ray's log, unless the user set these. Ray also raises each error as an exception."""


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
    for name, value in _SILENT.items():
        os.environ.setdefault(name, value)
    ray, _ = (optional(module, "--engine ray", "ray", "ray") for module in ("ray", "ray.data"))
    if not ray.is_initialized():
        arguments: dict[str, Any] = {"address": cluster.address}
        own = cluster.address is None
        if own:
            # At least one processor for each actor and one for the reader.
            arguments = {
                "address": "local",
                "num_cpus": max(processors(), cluster.actors + 1),
                "include_dashboard": False,
                "_temp_dir": _folder(ray),
            }
        with _loopback() if own else nullcontext(), _no_chatter():
            _init(ray, cluster.address, arguments)
    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


def _folder(ray: Any) -> str:
    """Creates the folder of a cluster on this machine. At exit, both are removed."""
    # The folder holds sockets, whose paths must be short. TMPDIR may be too long.
    place = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.path.isdir("/tmp") else None)
    folder, process = tempfile.mkdtemp(prefix="q2-ray-", dir=place), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    # Ray lets all users read the folder that it creates. Nobody else can read the parent folder.
    return os.path.join(folder, "ray")


@contextmanager
def _loopback() -> Iterator[None]:
    """Makes Ray's servers listen only on the loopback interface, as on macOS and Windows."""
    constants = import_module("ray._private.ray_constants")
    given, several = os.environ.get(_SEVERAL), getattr(constants, "ENABLE_RAY_CLUSTER", None)
    os.environ[_SEVERAL] = "0"
    # Ray read the variable when it was imported, so this copy must change too.
    constants.ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = several  # type: ignore[attr-defined]
        if given is None:
            del os.environ[_SEVERAL]
        else:
            os.environ[_SEVERAL] = given


_SEVERAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With "0", no other machine can join. Ray reads it on every system, despite its name."""


@contextmanager
def _no_chatter() -> Iterator[None]:
    """Discards standard error, where Ray's native code would print that its log is off."""
    try:
        kept = os.dup(2)
    except OSError:  # standard error is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _init(ray: Any, address: str | None, settings: dict[str, Any]) -> None:
    """Runs ``ray.init`` with a time limit, because it retries for ever if no cluster answers."""
    where = "could not be started here" if address is None else f"cannot be reached at {address}"

    def init() -> None:
        try:
            ray.init(**settings, logging_level=logging.ERROR, log_to_driver=False)
        except BaseException as error:
            failed.append(error)

    failed: list[BaseException] = []
    if address is None:
        for _ in range(STARTS):
            failed.clear()
            init()
            if not failed or isinstance(failed[0], KeyboardInterrupt):
                break
            ray.shutdown()  # stops the processes of the cluster that did not start completely
    else:
        _check_open(address)
        joining = threading.Thread(target=init, daemon=True)
        joining.start()
        joining.join(JOINS)
        if joining.is_alive():
            raise ModelError(f"Ray {where}: no Ray cluster answered within {JOINS} s; {_ASKED}")
    if failed:
        if isinstance(failed[0], KeyboardInterrupt):
            raise failed[0]
        raise ModelError(f"Ray {where}: {cause(failed[0])}") from failed[0]


_ASKED = "is a cluster running there (ray start --head)?"


def _check_open(address: str) -> None:
    """Reports a wrong address at once. Without a port ("auto"), Ray itself finds the cluster."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ModelError(f"Ray cannot be reached at {address}: {port!r} is not a port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=JOINS).close()
    except OSError as error:
        raise ModelError(
            f"Ray cannot be reached at {address}: the address does not respond ({error}); {_ASKED}"
        ) from error


def cause(error: BaseException) -> str:
    """The line of the traceback that names an exception: what went wrong in the cluster."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return next(iter(named or lines), repr(error))


# --- a cluster at work -------------------------------------------------------------------


def watched(ray: Any, source: Callable[[], Iterable[T]]) -> Iterator[T]:
    """Yields the items of the iterable that ``source`` creates over a cluster's results.

    It runs in a thread of its own, because it would wait for ever if the whole cluster died.
    ClusterDied: the cluster has not answered for :data:`GONE` seconds, or this machine's node has
    died. BaseException: any error that the iterator raised."""
    address = ray.get_runtime_context().gcs_address
    results: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=1)
    over = threading.Event()

    def hand_over(item: T | None, error: BaseException | None = None) -> None:
        while not over.is_set():
            with suppress(queue.Full):
                results.put((item, error), timeout=0.1)
                return

    def pull() -> None:
        try:
            items = iter(source())
            while not over.is_set():
                hand_over(next(items))
        except BaseException as error:  # StopIteration at the end
            hand_over(None, error)

    health = _Health(ray)
    for work in (pull, lambda: health.watch(over)):
        threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            item, error = None, None
            with suppress(queue.Empty):
                item, error = results.get(timeout=LOOKS)
            if isinstance(error, StopIteration):
                return
            if item is not None:
                yield item
            elif problem := health.problem():
                raise ClusterDied(f"Ray's cluster at {address} has died: {problem}") from error
            elif error is not None:
                raise error
    finally:
        over.set()


class _Health:
    """Whether the cluster's head node answers and this machine's node accepts connections."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._heard = time.monotonic()
        self._here: tuple[str, int] | None = None

    def watch(self, over: threading.Event) -> None:
        """Asks the head node again and again. It runs in a thread, because it can block."""
        while not over.wait(LOOKS):
            with suppress(Exception):
                nodes = self._ray.nodes()
                self._heard = time.monotonic()
                if self._here is None:
                    own = self._ray.get_runtime_context().get_node_id()
                    (node,) = (node for node in nodes if node["NodeID"] == own)
                    here = node["NodeManagerAddress"], node["NodeManagerPort"]
                    socket.create_connection(here, timeout=LOOKS).close()
                    self._here = here  # from here it accepts connections

    def problem(self) -> str:
        """Why the cluster counts as dead; "" if it does not."""
        if time.monotonic() - self._heard > GONE:
            return f"no answer for {GONE} s"
        if self._here is not None:
            try:
                socket.create_connection(self._here, timeout=LOOKS).close()
            except ConnectionRefusedError:
                return "its node on this machine has ended"
            except OSError:
                pass  # it is only slow
        return ""
