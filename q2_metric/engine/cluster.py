"""Scores blocks of rows with actors of a Ray cluster (Ray Data).

A process of its own is connected to the cluster (:class:`Remote`). A Ray task on this machine reads
the files and sends blocks. Each actor has its own models. Scored blocks come back in order, and at
most a few blocks per actor are in memory at a time.

A cluster that is started here listens only on the loopback interface, and only its user can read
its files. By default, Ray would listen on every interface and let all users read ``/tmp/ray``."""

from __future__ import annotations

import logging
import os
import pickle
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any

from q2_metric.engine.identity import Identity
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.errors import ModelError, Q2Error, optional
from q2_metric.processors import processors
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.read import Row

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

RETRIES = 2
"""How often a block is sent to another actor after its actor died."""

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


class Remote:
    """Loads a job's metrics on a cluster, and scores its blocks there, through another process: Ray
    ends the process that is connected to a cluster without a word when the cluster dies.

    ``signatures`` and ``identities`` are those of :func:`prepared`, which also says which errors
    are raised. ModelError: no cluster answers within :data:`JOINS` seconds; the cluster died."""

    def __init__(self, job: Job, cluster: Cluster, warn: Callable[[str], None]) -> None:
        self._address, self._warn = cluster.address, warn
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_connected, args=(theirs, job, cluster), daemon=True)
        self._process.start()
        theirs.close()
        self._received(None if cluster.address is None else JOINS)
        self.signatures, self.identities = self._received()

    def scored(self, done: int) -> Iterator[tuple[list[OutputRow], int]]:
        """Scores the blocks (:func:`scored`). It can be called once."""
        with suppress(OSError):  # it has ended, as what it sent says
            self._pipe.send(done)
        while (found := self._received()) is not None:
            yield found
        self._process.join()

    def _received(self, seconds: float | None = None) -> Any:
        """The next value or error of the process. A text is a warning."""
        while True:
            if not self._pipe.poll(seconds):
                self._process.kill()
                raise ModelError(f"Ray cannot be reached at {self._address}: no Ray cluster "
                                 f"answered within {seconds} s; {RUNNING}")
            try:
                found = self._pipe.recv()
            except (EOFError, OSError):
                where = "on this machine" if self._address is None else f"at {self._address}"
                for folder in Path(_place()).glob(f"{_FOLDER}{self._process.pid}-*"):
                    shutil.rmtree(folder, ignore_errors=True)  # Ray let it remove nothing
                raise ModelError(f"Ray's cluster {where} has died") from None
            if isinstance(found, Q2Error):
                raise found
            if not isinstance(found, str):
                return found
            self._warn(found)


# --- in the process that is connected to the cluster -------------------------------------


def _connected(pipe: Connection[Any, Any], job: Job, cluster: Cluster) -> None:
    """Answers a :class:`Remote` in a process of its own."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C; the other process ends this one
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # Ray prints there
        os.dup2(nowhere, stream)
    try:
        connect(cluster)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # Ray's handler would wait
        pipe.send(None)
        pipe.send(prepared(job, cluster, pipe.send))
        for found in scored(job, cluster, pipe.recv()):
            pipe.send(found)
        pipe.send(None)
    except Q2Error as error:
        pipe.send(error)
    except Exception as error:
        with suppress(Exception):
            import_module("ray").nodes()  # ends this process if the cluster has died
        pipe.send(ModelError(f"Ray could not score on: {cause(error)}"))


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def prepared(
    job: Job, cluster: Cluster, warn: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, Identity]]:
    """Loads the job's metrics once on the cluster, because the models are there. Returns, by
    metric, the signature and the identity (``engine/identity.py``). Q2Error: loading failed, or a
    cluster that was started here has too few GPUs."""
    ray = connect(cluster)
    folder = os.getcwd()

    def find() -> tuple[dict[str, str], dict[str, Identity], list[str]] | Q2Error:
        told: list[str] = []
        with suppress(OSError):
            os.chdir(folder)
        try:
            return job.load(told.append).signatures, job.identities(), told
        except Q2Error as error:
            return error

    check_gpus(ray.nodes(), cluster, warn)
    answer = ray.get(ray.remote(find).options(num_cpus=1, num_gpus=cluster.gpus).remote())
    if isinstance(answer, Q2Error):
        raise answer
    signatures, identities, told = answer
    for line in told:
        warn(line)
    return signatures, identities


def check_gpus(
    nodes: Sequence[Mapping[str, Any]], cluster: Cluster, warn: Callable[[str], None]
) -> None:
    """Raises ModelError if no node has enough GPUs for an actor; Ray would wait for ever.
    In a running cluster, it only warns, because a larger node may still join."""
    most = max((node["Resources"].get("GPU", 0) for node in nodes if node["Alive"]), default=0)
    if most >= cluster.gpus:
        return
    words = f"--gpus-per-actor is {cluster.gpus:g}, and Ray finds {most:g} GPUs"
    if cluster.address is None:
        raise ModelError(f"{words} on this machine; give 0 to score on its CPU")
    warn(f"{words} on the largest machine of the cluster; waiting for a larger one to join")


def scored(job: Job, cluster: Cluster, done: int) -> Iterator[tuple[list[OutputRow], int]]:
    """Scores the job's blocks on the cluster, except for the first ``done`` blocks. Yields, for
    each block, in order: its output rows, and how many scores came from the cache. ModelError: an
    actor cannot load its models, a model is broken, or a block kills every actor that gets it."""
    ray = connect(cluster)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # Ray then sends each of our blocks separately
    context.execution_options.preserve_order = True

    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    # All actors together use each processor once.
    threads = max(1, int(ray.cluster_resources().get("CPU", 1)) // cluster.actors)
    attempts = ray.remote(_Attempts).options(num_cpus=0, label_selector=here).remote()
    batches = ray.data.from_items([None]).map_batches(
        _reader(job, done), num_cpus=0, label_selector=here).map_batches(
            _Actor, fn_constructor_args=(job, attempts, os.getcwd(), threads), batch_size=1,
            batch_format="numpy", compute=ray.data.ActorPoolStrategy(size=cluster.actors),
            num_cpus=1, num_gpus=cluster.gpus
        ).iter_batches(batch_size=None, prefetch_batches=0, batch_format="numpy")
    for batch in batches:
        for found in map(pickle.loads, batch["scored"]):
            if isinstance(found, str):
                raise ModelError(found)
            yield found


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
            arguments = {"address": "local", "num_cpus": max(processors(), cluster.actors + 1),
                         "include_dashboard": False, "_temp_dir": _folder(ray)}
        _init(ray, cluster.address, arguments)
    return ray


_FOLDER = "q2-ray-"


def _place() -> str:
    # The folder holds sockets, whose paths must be short. TMPDIR may be too long.
    return os.environ.get("RAY_TMPDIR") or (
        "/tmp" if os.path.isdir("/tmp") else tempfile.gettempdir())


def _folder(ray: Any) -> str:
    """Creates the folder of a cluster on this machine. At exit, both are removed."""
    folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-", dir=_place())

    def remove() -> None:
        if parent_process():  # which ends this process now if it ends with its error
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
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


# --- in the cluster ---------------------------------------------------------------------


def _reader(job: Job, done: int) -> Callable[[Any], Iterator[Any]]:
    import pyarrow as pa

    folder = os.getcwd()

    def read(_batch: object) -> Iterator[Any]:
        os.chdir(folder)  # file names may be relative to this folder
        for block in islice(all_blocks(job), done, None):
            yield pa.table({"block": pa.array([pickle.dumps(block)], pa.large_binary())})

    return read


def all_blocks(job: Job) -> Iterator[tuple[str, int, list[Row]]]:
    """Yields (file, index of the block's first row, rows) of each block of a job."""
    for file in job.files:
        first = 0
        for block in job.blocks(file):
            yield file, first, block
            first += len(block)


class _Attempts:
    """Counts the starts of each block: one that kills its actor must not be retried for ever."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[str, int]] = Counter()

    def begin(self, file: str, first: int) -> int:
        self._begun[file, first] += 1
        return self._begun[file, first]


class _Actor:
    """A Ray actor. It loads the job's metrics once, and then scores one block per call."""

    def __init__(self, job: Job, attempts: Any, folder: str, threads: int) -> None:
        self.job, self._attempts = job, attempts
        os.environ["OMP_NUM_THREADS"] = str(threads)  # Ray sets 1 even for few actors
        with suppress(OSError):  # the folder may not exist on this machine
            os.chdir(folder)  # model names may be relative to this folder
        self._loaded: LoadedJob | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        file, first, block = pickle.loads(batch["block"][0])
        scored: tuple[list[OutputRow], int] | str
        try:
            if import_module("ray").get(self._attempts.begin.remote(file, first)) > 1 + RETRIES:
                raise ModelError(f"{file}, rows {first + 1} to {first + len(block)}: {1 + RETRIES} "
                                 "processes died while scoring them (out of memory?)")
            if self._loaded is None:
                self._loaded = self.job.load()
            scored = self.job.score(self._loaded, file, first, block)
        except Q2Error as error:
            # The error is returned as a value, because Ray would retry a block that raises an
            # error, and the block would fail again.
            scored = str(error)
        return {"scored": np.array([pickle.dumps(scored)], dtype=object)}
