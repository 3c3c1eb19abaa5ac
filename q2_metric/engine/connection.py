"""Connects to a Ray cluster within a time limit, and notices when the cluster dies.

A cluster that is started here listens on the loopback interface alone, and its folder can be read
by its owner alone. Ray itself listens on every interface and keeps ``/tmp/ray`` open to all.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from q2_metric.errors import MissingExtra, ModelError

T = TypeVar("T")

STARTS = 3
"""Times that a cluster is started here: on a busy machine Ray gives up on itself after 30 s."""

JOINS = 60
"""Seconds in which a cluster must take us in."""

GONE = 30
"""Seconds without an answer after which a cluster is dead. Ray itself waits for 60 and then ends
the process without a word."""

LOOKS = 2
"""Seconds between two looks at a cluster that is at work."""

_SILENT = {
    # What its own code has to say about lost nodes and tasks, line after line.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # Errors that it prints on standard output, where our results go.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
"""Ray's variables, which count unless they are set; what matters, it raises too."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where and on how many actors to score.

    Attributes:
        address: of a running cluster ("auto", "10.0.0.1:6379"); ``None`` starts one here.
        actors: processes that score, each with its own models.
        gpus: GPUs of an actor; a part where several share one.
    """

    address: str | None = None
    actors: int = 1
    gpus: float = 0


def connect(cluster: Cluster) -> Any:
    """Ray, connected to the cluster, silent, and without its usage reports.

    Raises:
        MissingExtra: Ray is not installed.
        ModelError: the cluster cannot be reached.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    for name, value in _SILENT.items():
        os.environ.setdefault(name, value)
    try:
        ray: Any = import_module("ray")
        import_module("ray.data")
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray", "ray") from error
    if not ray.is_initialized():
        here: dict[str, Any] = {"address": cluster.address}
        own = cluster.address is None
        if own:
            # The actors' processors and one for the reader, were there fewer.
            here = {
                "address": "local",
                "num_cpus": max(os.cpu_count() or 1, cluster.actors + 1),
                "include_dashboard": False,
                "_temp_dir": _folder(ray),
            }
        with _loopback() if own else nullcontext(), _no_chatter():
            _init(ray, cluster.address, here)
    for name in ("ray.data", "ray"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


def _folder(ray: Any) -> str:
    """A new folder for the files of a cluster that is started here, which goes at the end."""
    # Sockets are in it, whose paths must be short: TMPDIR may be long.
    place = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.path.isdir("/tmp") else None)
    folder, process = tempfile.mkdtemp(prefix="q2-ray-", dir=place), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return os.path.join(folder, "ray")  # Ray opens its folder to all; nobody comes to this one


@contextmanager
def _loopback() -> Iterator[None]:
    """What Ray starts listens on the loopback interface alone, as it does by itself on macOS and
    Windows, where it starts no cluster of several machines."""
    constants = import_module("ray._private.ray_constants")
    given, several = os.environ.get(_SEVERAL), getattr(constants, "ENABLE_RAY_CLUSTER", None)
    os.environ[_SEVERAL] = "0"
    constants.ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]  # read when Ray was imported
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = several  # type: ignore[attr-defined]
        if given is None:
            del os.environ[_SEVERAL]
        else:
            os.environ[_SEVERAL] = given


_SEVERAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Whether what is started may be joined by other machines; Ray reads it on every system."""


@contextmanager
def _no_chatter() -> Iterator[None]:
    """Standard error leads nowhere: Ray's own code writes there that it is told to be silent."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
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
    """Runs ``ray.init`` with a time limit; by itself it asks for ever if no cluster answers.

    Raises:
        ModelError: no cluster could be started, or the address has none.
    """
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
            ray.shutdown()  # of what did start
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
    """Checks that somebody listens at HOST:PORT, so that a wrong address is told at once.

    Other addresses, as "auto", Ray looks up.

    Raises:
        ModelError: the address does not respond.
    """
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
    """The line of a traceback from the cluster that names the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return next(iter(named or lines), repr(error))


# --- a cluster at work -------------------------------------------------------------------


def watched(ray: Any, source: Callable[[], Iterator[T]]) -> Iterator[T]:
    """What an iterator over results of the cluster gives, as long as the cluster lives.

    The iterator is run in a thread of its own: where the whole cluster dies, it never returns.

    Args:
        ray: connected.
        source: makes the iterator.

    Raises:
        ModelError: the cluster has not answered for :data:`GONE` seconds.
        BaseException: what the iterator raises.
    """
    address = ray.get_runtime_context().gcs_address
    found: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=1)
    over = threading.Event()
    heard = [time.monotonic()]

    def hand_over(item: T | None, error: BaseException | None = None) -> None:
        while not over.is_set():
            with suppress(queue.Full):
                found.put((item, error), timeout=0.1)
                return

    def pull() -> None:
        try:
            for item in source():
                hand_over(item)
                if over.is_set():
                    return
            hand_over(None, StopIteration())
        except BaseException as error:
            hand_over(None, error)

    threading.Thread(target=pull, daemon=True).start()
    threading.Thread(target=_look, args=(ray, heard, over), daemon=True).start()
    try:
        while True:
            item, error = _next(found, heard, address)
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # without an error it is one
    finally:
        over.set()


def _look(ray: Any, heard: list[float], over: threading.Event) -> None:
    """Keeps in ``heard`` when the cluster's head has last answered."""
    while not over.wait(LOOKS):
        with suppress(Exception):
            ray.nodes()
            heard[-1] = time.monotonic()


def _next(found: queue.Queue[T], heard: Sequence[float], address: str) -> T:
    """The next of a queue, as long as the cluster that fills it answers.

    Raises:
        ModelError: the cluster has not answered for :data:`GONE` seconds.
    """
    while True:
        try:
            return found.get(timeout=LOOKS)
        except queue.Empty:
            if time.monotonic() - heard[-1] > GONE:
                raise ModelError(
                    f"Ray's cluster at {address} has died: no answer for {GONE} s"
                ) from None
