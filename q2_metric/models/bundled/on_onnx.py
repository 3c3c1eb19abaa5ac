"""Runs the bundled networks on ONNX Runtime, on a CPU, in float32 or 8 bits, without torch."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from q2_metric import forks
from q2_metric.errors import MachineFault, machine_fault
from q2_metric.models.bundled import stored
from q2_metric.models.bundled.encoding import Batch, Forward


class _Opener:
    """Loads networks in a thread. Only one is loaded at a time, which needs less memory."""

    def __init__(self) -> None:
        self.in_child()
        forks.tell(self)

    def in_child(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="q2-open")

    def open(self, prefix: str, threads: int, dtype: str) -> Future[Forward]:
        return self.thread.submit(lambda: open_network(prefix, threads, dtype))


_opener = _Opener()


@lru_cache(maxsize=len(stored.VERSIONS) * 2)
def forward_of(prefix: str, threads: int, dtype: str) -> Forward:
    """Loads a network like :func:`open_network`, but once per process and in the background. If
    this fails, the first batch raises MachineFault, and the next call tries again. ModelError: a
    file is missing."""
    for file in (stored.FILES[prefix], stored.SHARED, _graph(prefix, dtype)):
        stored.shipped(file)
    return _InBackground(prefix, threads, dtype)


class _InBackground:
    """A network whose first batch waits until it is loaded."""

    def __init__(self, prefix: str, threads: int, dtype: str) -> None:
        self._prefix, self._asked = prefix, (prefix, threads, dtype)
        self._opened: Future[Forward] | None = _opener.open(*self._asked)
        forks.tell(self)

    def in_child(self) -> None:
        """A forked child cannot use the parent's network."""
        self._opened = None

    def __call__(self, batch: Batch) -> NDArray[np.float32]:
        opened = self._opened = self._opened or _opener.open(*self._asked)
        try:
            forward = opened.result()
        except Exception as error:
            forward_of.cache_clear()
            raise MachineFault(f"the bundled {self._prefix} network cannot be opened: "
                               f"{machine_fault(error) or error}") from error
        return forward(batch)


def wait_until_open() -> None:
    """Waits until each requested network is loaded or has failed to load."""
    _opener.thread.submit(int).result()  # this job is last in the queue


def open_network(prefix: str, threads: int, dtype: str) -> Forward:
    """Loads a network (a key of :data:`VERSIONS`), with ``threads`` threads for one batch."""
    # ONNX Runtime's Linux wheels upload usage events unless this is switched off before the import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with forks.held_off():
        import onnxruntime

        weights = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value)
                   for name, value in stored.tensors(prefix)
                   if dtype == "int8" or not name.endswith(".zero")}
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised, and need not be printed too
        options.intra_op_num_threads = threads
        # Batches differ in shape, and a memory arena would keep the largest buffers for ever.
        options.enable_cpu_mem_arena = False
        # Weights are converted from 8 bits once, when the graph is read, and not in every pass.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        options.add_external_initializers(list(weights), list(weights.values()))
        graph = stored.intact(_graph(prefix, dtype)).read_bytes()
        session = forks.keep_in_child(onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]))
    inputs = {node.name for node in session.get_inputs()}

    def forward(batch: Batch) -> NDArray[np.float32]:
        mask = (np.arange(batch.ids.shape[1]) < batch.lengths[:, None]).astype(np.int32)
        feed = {"ids": batch.ids, "types": batch.types, "mask": mask, "query": batch.query}
        logits: NDArray[np.float32] = session.run(
            ["logits"], {name: feed[name] for name in inputs})[0]
        return logits

    return forward


def _graph(prefix: str, dtype: str) -> str:
    return f"{prefix}.onnx" if dtype == "float32" else f"{prefix}.{dtype}.onnx"
