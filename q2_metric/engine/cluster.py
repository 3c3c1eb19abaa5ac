"""Scores the missing blocks of a job with actors of a Ray cluster (Ray Data).

One task reads the files on the machine where the command runs, and streams their blocks. A pool of
actors, each with its own models, scores the blocks as they arrive. Finished blocks stream back and
are kept as parts. Neither the task nor the actors hold more than a few blocks per actor. If an
actor dies, another actor scores its block.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import Any

from q2_metric.engine.connection import Cluster, cause, connect, watched
from q2_metric.engine.identity import Identity
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.engine.parts import PartFiles, encoded
from q2_metric.errors import ModelError, Q2Error
from q2_metric.rows.fields import OutputRow
from q2_metric.rows.read import BadRow, Row
from q2_metric.types import Example, Passage

RETRIES = 2
"""How often a block is started again if its actor dies."""


def prepared(
    job: Job, cluster: Cluster, warn: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, Identity]]:
    """The metrics' signatures and identities. They are determined on the cluster, which has the
    models.

    Args:
        job: what is scored.
        cluster: where it is scored.
        warn: receives one line if the cluster cannot use the cache, and one line if GPUs are
            missing.

    Raises:
        Q2Error: loading the metrics failed.
        ModelError: a cluster that is started here has fewer GPUs than an actor needs.
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
    """Checks that an actor fits on a node. Otherwise Ray would wait silently and for ever.

    Args:
        nodes: nodes of the cluster, as ``ray.nodes()`` returns them.
        cluster: the requested settings.
        warn: receives the problem if the cluster was running before. Such a cluster may grow, so
            nothing is raised.

    Raises:
        ModelError: no node fits, and the cluster was started here, so it will not grow.
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
    """Scores the blocks that have no part yet, and keeps each block when it comes back.

    Returns:
        The number of scores that came from the cache, by file number.

    Args:
        job: what is scored.
        parts: parts of the run, including those that are already finished.
        cluster: where the actors run.
        progress: receives the number of rows that were just finished.

    Raises:
        ModelError: an actor cannot load its models, a model is broken, a block kills every
            actor that gets it, or the cluster has died.
    """
    ray = connect(cluster)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # each of our blocks is sent separately
    done = parts.done()
    looked_up = Counter[int]()
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    attempts = ray.remote(_Attempts).options(num_cpus=0, label_selector=here).remote()
    data = ray.data.read_datasource(
        _source(ray, job, done), num_cpus=0, label_selector=here, override_num_blocks=1
    ).map_batches(
        _Actor,
        fn_constructor_args=(job, attempts, os.getcwd(), _threads(ray, cluster)),
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
            warnings.filterwarnings("ignore", module="ray")  # warns of few blocks for many actors
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
"""The columns of the result of each block."""


# --- in the cluster ---------------------------------------------------------------------


def _source(ray: Any, job: Job, done: set[tuple[int, int]]) -> Any:
    """A Ray data source of the blocks that are not done."""
    import pyarrow as pa

    folder = os.getcwd()

    def read() -> Iterator[Any]:
        os.chdir(folder)  # file names may be relative to it
        for number, n, first, block in missing(job, done):
            columns = {"file": [number], "block": [n], "first": [first]}
            lines = pa.array([json.dumps(pack(block)).encode("ascii")], pa.large_binary())
            yield pa.table({**columns, "lines": lines})

    class Blocks(ray.data.Datasource):  # type: ignore[misc]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_arguments: object, **_keywords: object) -> list[Any]:
            unknown = ray.data.block.BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [ray.data.ReadTask(read, unknown)]

    return Blocks()


def _threads(ray: Any, cluster: Cluster) -> int:
    """The number of processors that each actor may use.

    All actors together use each processor once.
    """
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // cluster.actors)


def missing(job: Job, done: set[tuple[int, int]]) -> Iterator[tuple[int, int, int, list[Row]]]:
    """The blocks that are not done, each as (file, block, index of the block's first row, rows)."""
    for number, file in enumerate(job.files):
        first = 0
        for n, block in enumerate(job.blocks(file)):
            if (number, n) not in done:
                yield number, n, first, block
            first += len(block)


class _Attempts:
    """Counts how often each block was started, because Ray retries a block without limit."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[int, int]] = Counter()

    def begin(self, number: int, n: int) -> int:
        """Records that a block is started.

        Returns:
            How often the block was started, including this time.
        """
        self._begun[number, n] += 1
        return self._begun[number, n]


class _Actor:
    """Loads the job's metrics once and scores blocks."""

    def __init__(self, job: Job, attempts: Any, folder: str, threads: int) -> None:
        self.job, self._attempts = job, attempts
        os.environ["OMP_NUM_THREADS"] = str(threads)  # Ray sets 1 even for few actors
        with suppress(OSError):  # the folder may not exist on this machine
            os.chdir(folder)  # model names may be relative to it
        self._loaded: LoadedJob | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        columns = (batch[name] for name in ("file", "block", "first", "lines"))
        ((number, n, first, packed),) = zip(*columns, strict=True)
        number, n, first = int(number), int(n), int(first)
        block = unpack(json.loads(bytes(packed)))
        lines, problem, before = b"", "", self._looked_up()
        try:
            lines = encoded(self._score(number, n, first, block))
        except Q2Error as error:
            # Returned as a value: Ray would wrap an exception and retry a block that fails again.
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


def pack(block: list[Row]) -> list[list[Any]]:
    """Rows as JSON values; :func:`unpack` reads them back."""
    return [[isinstance(row, BadRow), asdict(row)] for row in block]


def unpack(packed: list[list[Any]]) -> list[Row]:
    """The rows that :func:`pack` converted."""
    return [
        BadRow(**fields) if bad else Example(**{
            **fields, "history": tuple(fields["history"]),
            "passages": tuple(Passage(**passage) for passage in fields["passages"]),
        })
        for bad, fields in packed
    ]
