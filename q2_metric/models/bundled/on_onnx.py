"""Runs the bundled networks on ONNX Runtime, on a CPU, in float32 or 8 bits, without torch."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric import forks
from q2_metric.errors import MachineFault, machine_fault
from q2_metric.memory import LruCache
from q2_metric.models.bundled import stored
from q2_metric.models.bundled.encoding import SEP, TEXT_START, Batch, Forward, padded
from q2_metric.text.alignment import QUERY, TEXT

KEPT = 32_768
"""Maximum number of tokens whose states are kept (48 MB)."""

Feed = dict[str, NDArray[Any]]
Run = Callable[[Feed], NDArray[np.float32]]
_Part = tuple[bool, bytes]
"""Whether it is a text (otherwise a query), and its ids as bytes."""


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
    graphs = [_graph(name, dtype) for name in (prefix, stored.below(prefix)) if name]
    for file in (stored.FILES[prefix], stored.SHARED, *graphs):
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
    run = _session(prefix, threads, dtype)
    below = stored.below(prefix)
    states = _States(_session(below, threads, dtype)) if below else None

    def forward(batch: Batch) -> NDArray[np.float32]:
        feed: Feed = {"ids": batch.ids, "types": batch.types, "query": batch.query,
                      "mask": _mask(batch.lengths, batch.ids.shape[1])}
        if states:
            feed["states"] = states.of(batch)
        return run(feed)

    return forward


class _States:
    """The outputs of layers that read query and text apart. Each query and each text is read once,
    and its states are kept until newer ones need the room."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: LruCache[_Part, NDArray[np.float32]] = LruCache(KEPT, KEPT)

    def of(self, batch: Batch) -> NDArray[np.float32]:
        """The states of a batch: (batch, length, hidden), with zeros for padding."""
        starts = (batch.ids == SEP).argmax(1) + 1
        places = [(row, part) for row, (start, end) in enumerate(
                      zip(starts, batch.lengths, strict=True))
                  for part in (slice(0, start), slice(start, end))]
        parts = [(part.start > 0, batch.ids[row, part].tobytes()) for row, part in places]
        known = {part: states for part in set(parts)
                 if (states := self._kept.get(part)) is not None}
        known |= self._read([part for part in dict.fromkeys(parts) if part not in known])
        width = known[parts[0]].shape[-1]
        found = np.zeros((*batch.ids.shape, width), np.float32)
        for (row, place), part in zip(places, parts, strict=True):
            found[row, place] = known[part]
        return found

    def _read(self, parts: Sequence[_Part]) -> dict[_Part, NDArray[np.float32]]:
        """The states of new parts. Those of one kind and a similar length share a batch."""
        groups: dict[tuple[bool, int], list[tuple[_Part, NDArray[np.int64]]]] = defaultdict(list)
        for part in parts:
            tokens = np.frombuffer(part[1], np.int64)
            groups[part[0], padded(len(tokens))].append((part, tokens))
        found = {}
        for (is_text, length), some in groups.items():
            ids, types = np.zeros((2, len(some), length), np.int64)
            lengths = np.array([len(tokens) for _, tokens in some])
            for row, (_, tokens) in enumerate(some):
                ids[row, : len(tokens)] = tokens
                types[row, 1 : len(tokens) - 1] = TEXT if is_text else QUERY
            states = self._run({
                "ids": ids, "types": types, "mask": _mask(lengths, length),
                "places": np.arange(length) + (TEXT_START if is_text else 0)})
            for (part, tokens), one in zip(some, states, strict=True):
                found[part] = one[: len(tokens)].copy()
                self._kept.put(part, found[part], len(tokens))
        return found


def _mask(lengths: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    """1 on the tokens of each row and 0 on its padding: (batch, length)."""
    return (np.arange(length) < lengths[:, None]).astype(np.int32)


def _session(graph: str, threads: int, dtype: str) -> Run:
    """Opens a graph. The result computes its only output."""
    # ONNX Runtime's Linux wheels upload usage events unless this is switched off before the import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    with forks.held_off():
        import onnxruntime

        weights = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value)
                   for name, value in stored.tensors(graph)
                   if dtype == "int8" or not name.endswith(".zero")}
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised, and need not be printed too
        options.intra_op_num_threads = threads
        # Batches differ in shape, and a memory arena would keep the largest buffers for ever.
        options.enable_cpu_mem_arena = False
        # Weights are converted from 8 bits once, when the graph is read, and not in every pass.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        options.add_external_initializers(list(weights), list(weights.values()))
        session = forks.keep_in_child(onnxruntime.InferenceSession(
            stored.intact(_graph(graph, dtype)).read_bytes(), options,
            providers=["CPUExecutionProvider"]))
    inputs = {node.name for node in session.get_inputs()}

    def run(feed: Feed) -> NDArray[np.float32]:
        outputs: NDArray[np.float32] = session.run(
            None, {name: feed[name] for name in inputs})[0]
        return outputs

    return run


def _graph(prefix: str, dtype: str) -> str:
    return f"{prefix}.onnx" if dtype == "float32" else f"{prefix}.{dtype}.onnx"
