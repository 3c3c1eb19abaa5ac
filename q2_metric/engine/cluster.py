"""Scores the blocks of rows that are not scored yet with actors of a Ray cluster (Ray Data).

One Ray task reads the files on the machine where the command runs, and sends their blocks. A pool
of actors, each with its own models, scores the blocks as they arrive. The command writes each
scored block to a file as soon as the block comes back. At most a few blocks per actor are in memory
at the same time. If an actor dies, another actor scores its block.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from q2_metric.engine.connection import Cluster, cause, connect, watched
from q2_metric.engine.identity import Identity
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.engine.parts import PartFiles, encoded
from q2_metric.errors import ModelError, Q2Error
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.read import Row

RETRIES = 2
"""How often a block is sent to another actor after its actor died."""


def prepared(
    job: Job, cluster: Cluster, warn: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, Identity]]:
    """Loads the job's metrics once on the cluster, because the models are there.

    Returns:
        The signatures (lines that record models and settings) by metric, and by metric everything
        that determines its scores (``engine/identity.py``).

    Args:
        job: files, metrics and settings.
        cluster: the cluster that will score the job.
        warn: is called with one line if the cluster cannot use the cache, and with one line if no
            machine of the cluster has enough GPUs.

    Raises:
        Q2Error: loading the metrics failed.
        ModelError: the cluster was started here, and the machine has fewer GPUs than an actor
            needs.
    """
    ray = connect(cluster)
    check_gpus(ray.nodes(), cluster, warn)

    folder = os.getcwd()

    def find() -> tuple[dict[str, str], dict[str, Identity], list[str]] | Q2Error:
        warnings: list[str] = []
        with suppress(OSError):
            os.chdir(folder)
        try:
            store = job.store(warnings.append)
            return job.load(store).signatures, job.identities(store), warnings
        except Q2Error as error:
            return error

    try:
        remote = ray.remote(find).options(num_cpus=1, num_gpus=cluster.gpus)
        (answer,) = watched(ray, lambda: iter([ray.get(remote.remote())]))
    except ray.exceptions.RayError as error:
        raise ModelError(f"Ray could not load the models: {cause(error)}") from error
    if isinstance(answer, Q2Error):
        raise answer
    signatures, identities, warnings = answer
    for line in warnings:
        warn(line)
    return signatures, identities


def check_gpus(
    nodes: Sequence[Mapping[str, Any]], cluster: Cluster, warn: Callable[[str], None]
) -> None:
    """Checks that at least one node has as many GPUs as an actor needs. Otherwise Ray would wait
    for ever without a message.

    Args:
        nodes: nodes of the cluster, as ``ray.nodes()`` returns them.
        cluster: the requested cluster, with the number of GPUs per actor.
        warn: is called with the problem if the cluster was already running. A larger node may still
            join such a cluster, so no error is raised.

    Raises:
        ModelError: no node has enough GPUs, and the cluster was started by this process, so no node
            will join.
    """
    most = max((node["Resources"].get("GPU", 0) for node in nodes if node["Alive"]), default=0)
    if most >= cluster.gpus:
        return
    words = f"--gpus-per-actor is {cluster.gpus:g}, and Ray finds {most:g} GPUs"
    if cluster.address is None:
        raise ModelError(f"{words} on this machine; give 0 to score on its CPU")
    warn(f"{words} on the largest machine of the cluster; waiting for a larger one to join")


def fill(
    job: Job, parts: PartFiles, cluster: Cluster, progress: Callable[[int], None]
) -> Counter[int]:
    """Scores on the cluster the blocks that ``parts`` lacks, and writes each block to ``parts``
    when the block comes back.

    Returns:
        By the index of the file in ``job.files``: the number of scores that came from the cache.

    Args:
        job: files, metrics and settings.
        parts: the finished blocks of the run, in a folder.
        cluster: the cluster that scores.
        progress: is called with the number of rows that were just finished.

    Raises:
        ModelError: an actor cannot load its models, a model is broken, a block kills every
            actor that gets it, or the cluster has died.
    """
    ray = connect(cluster)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # Ray then sends each of our blocks separately
    done = parts.done()
    looked_up = Counter[int]()
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    # All actors together use each processor once.
    threads = max(1, int(ray.cluster_resources().get("CPU", 1)) // cluster.actors)
    attempts = ray.remote(_Attempts).options(num_cpus=0, label_selector=here).remote()
    data = ray.data.read_datasource(
        _source(ray, job, done), num_cpus=0, label_selector=here, override_num_blocks=1
    ).map_batches(
        _Actor,
        fn_constructor_args=(job, attempts, os.getcwd(), threads),
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=cluster.actors),
        num_cpus=1,
        num_gpus=cluster.gpus,
    )

    def batches() -> Iterator[Any]:
        return iter(data.iter_batches(batch_size=None, prefetch_batches=0, batch_format="numpy"))

    try:
        with warnings.catch_warnings():
            # Ray warns if there are fewer blocks than actors.
            warnings.filterwarnings("ignore", module="ray")
            for batch in watched(ray, batches):
                columns = (batch[name] for name in _COLUMNS)
                for number, n, size, kept, lines, problem in zip(*columns, strict=True):
                    if problem:
                        raise ModelError(problem)
                    looked_up[int(number)] += int(kept)
                    parts.write(int(number), int(n), bytes(lines))
                    progress(int(size))
    except ray.exceptions.RayError as error:
        raise ModelError(f"Ray could not score on: {cause(error)}") from error
    return looked_up


_COLUMNS = ("file", "block", "rows", "looked_up", "lines", "problem")
"""The columns of the one-row table that an actor returns for each block."""


# --- in the cluster ---------------------------------------------------------------------


def _source(ray: Any, job: Job, done: set[tuple[int, int]]) -> Any:
    """A Ray data source that reads the job's files and yields each block that is not done.

    ``done`` contains (file index, block index) of each finished block.
    """
    import pyarrow as pa

    folder = os.getcwd()

    def read() -> Iterator[Any]:
        os.chdir(folder)  # file names may be relative to this folder
        for number, n, first, block in missing(job, done):
            columns = {"file": [number], "block": [n], "first": [first]}
            yield pa.table({**columns, "rows": pa.array([pickle.dumps(block)], pa.large_binary())})

    class Blocks(ray.data.Datasource):  # type: ignore[misc]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_arguments: object, **_keywords: object) -> list[Any]:
            unknown = ray.data.block.BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [ray.data.ReadTask(read, unknown)]

    return Blocks()


def missing(job: Job, done: set[tuple[int, int]]) -> Iterator[tuple[int, int, int, list[Row]]]:
    """Yields (file index, block index, index of the block's first row, rows) of each block that is
    not done.

    ``done`` contains (file index, block index) of each finished block.
    """
    for number, file in enumerate(job.files):
        first = 0
        for n, block in enumerate(job.blocks(file)):
            if (number, n) not in done:
                yield number, n, first, block
            first += len(block)


class _Attempts:
    """Counts how often the scoring of each block was started. Without this count, a block that
    kills its actor would be retried for ever."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[int, int]] = Counter()

    def begin(self, number: int, n: int) -> int:
        """Records that the scoring of a block starts.

        Args:
            number: index of the file.
            n: index of the block in the file.

        Returns:
            How often the block was started, including this time.
        """
        self._begun[number, n] += 1
        return self._begun[number, n]


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

        columns = (batch[name] for name in ("file", "block", "first", "rows"))
        ((number, n, first, rows),) = zip(*columns, strict=True)
        number, n, first = int(number), int(n), int(first)
        block: list[Row] = pickle.loads(rows)
        lines, problem, before = b"", "", self._looked_up()
        try:
            lines = encoded(self._score(number, n, first, block))
        except Q2Error as error:
            # The error is returned as a value, because Ray would retry a block that raises an
            # error, and the block would fail again.
            problem = str(error)
        return {
            "file": np.array([number]),
            "block": np.array([n]),
            "rows": np.array([len(block)]),
            "looked_up": np.array([self._looked_up() - before]),
            "lines": np.array([lines], dtype=object),
            "problem": np.array([problem], dtype=object),
        }

    def _looked_up(self) -> int:
        return 0 if self._loaded is None else self._loaded.looked_up

    def _score(self, number: int, n: int, first: int, block: list[Row]) -> list[OutputRow]:
        ray: Any = import_module("ray")
        file = self.job.files[number]
        if ray.get(self._attempts.begin.remote(number, n)) > 1 + RETRIES:
            raise ModelError(
                f"{file}, rows {first + 1} to {first + len(block)}: "
                f"{1 + RETRIES} processes died while scoring them (out of memory?)"
            )
        if self._loaded is None:
            self._loaded = self.job.load()
        return self.job.score(self._loaded, file, first, block)
