"""The weights that ship, and the two runtimes that compute with them.

The weights are safetensors files, their matrices in 8 bits a value. On a CPU they run on
ONNX Runtime in float32 or in 8 bits, without torch; with the extra ``torch`` also on a GPU. Both
runtimes give the same scores to 1e-3.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, lru_cache
from operator import truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import BrokenModel, InputError, MissingExtra, ModelError
from q2_metric.models.batching import is_out_of_memory
from q2_metric.models.bundled import eight_bits
from q2_metric.models.bundled.encoding import Batch

if TYPE_CHECKING:
    from torch import nn

WEIGHTS = Path(__file__).parent / "weights"
VERSIONS = {"reader": "2", "entailment": "4", "wide": "2"}
"""Of each network's weights: part of every signature, raised with each retraining. The reader;
two entailment networks, of which the second is twice as wide."""
SHARED = "bundled.safetensors"
FILES = {"reader": SHARED, "entailment": SHARED, "wide": "wide.safetensors"}
"""Where the weights of each network are; word vectors that two of them share are in the first."""

DTYPES = ("float32", "int8", "bfloat16", "float16")
ON_ONNX = ("float32", "int8")
FASTER = 1.15
"""8 bits are taken by themselves where the network is so many times as fast in them."""
TURNS = 5
"""In which both are measured."""

LOOKED_UP = ("types.weight", "positions.weight", "distances.weight")
"""Tables, whose rows are looked up; other matrices multiply."""

Runtime = Literal["auto", "onnx", "torch"]
Forward = Callable[[Batch], NDArray[np.float32]]


def forward_of(
    network: str, runtime: Runtime, device: str, dtype: str, threads: int | None
) -> Forward:
    """What computes a network's logits for a batch.

    Args:
        network: one of :data:`VERSIONS`.
        runtime: "onnx" (CPU), "torch" (any device), or "auto": ONNX Runtime on a CPU in
            float32 or int8, else torch.
        device: "auto" (the CPU: the models are small), "cpu", "cuda", "mps".
        dtype: "float32"; on ONNX Runtime "int8"; on torch "bfloat16" or "float16".
        threads: of ONNX Runtime; the processors this process may use if ``None``.

    Raises:
        InputError: a combination that does not exist.
        MissingExtra: torch is needed and not installed.
        ModelError: the weights are missing.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)} or auto, not {dtype!r}")
    on_cpu = device in ("auto", "cpu")
    if dtype == "int8" and not (on_cpu and runtime != "torch"):
        raise InputError("int8 is for ONNX Runtime on a CPU; elsewhere use bfloat16 or float32")
    if runtime == "auto":
        runtime = "onnx" if on_cpu and dtype in ON_ONNX else "torch"
    if runtime == "onnx":
        if not on_cpu or dtype not in ON_ONNX:
            raise InputError(
                "the ONNX runtime of the bundled models is for CPUs, in float32 or int8")
        return _onnx(network, threads or processors(), dtype)
    from q2_metric.models.hub.loading import resolve_device

    return _torch(network, "cpu" if on_cpu else resolve_device(device), dtype)


def shipped(file: str) -> Path:
    """Where a file of :data:`WEIGHTS` is.

    Raises:
        ModelError: it is missing.
    """
    path = WEIGHTS / file
    if not path.exists():
        raise ModelError(f"the bundled weights are missing ({path}): reinstall q2-metric")
    return path


def each_weight(owner: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The weights of a network, or the shared "words", by name and one at a time, out of their
    8 bits.

    Raises:
        ModelError: the weights are missing.
    """
    for name, value, scale in _each_stored(owner):
        yield name, _whole(value, scale)


def _whole(value: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[Any]:
    """A weight out of its 8 bits, if it is in them."""
    return value if scale is None else value * scale


def _each_stored(owner: str) -> Iterator[tuple[str, NDArray[Any], NDArray[np.float32] | None]]:
    """As :func:`each_weight`; those in 8 bits as they are, with a scale for each row."""
    from safetensors import safe_open

    with safe_open(shipped(FILES.get(owner, SHARED)), framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a dictionary)
            if name.startswith(f"{owner}.") and not name.endswith(".scale"):
                value = file.get_tensor(name)
                in_bits = value.dtype == np.int8
                yield name, value, file.get_tensor(f"{name}.scale") if in_bits else None


@lru_cache(maxsize=1)
def _words() -> NDArray[np.float16]:
    """The word embeddings that networks share: looked up, then cast, so half of the memory."""
    [(_, value, scale)] = _each_stored("words")
    return _halved(value, scale)


def _halved(value: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float16]:
    """A weight out of its 8 bits in 16, without the 32 between."""
    half = np.empty(value.shape, np.float16)
    np.multiply(value, np.float32(1) if scale is None else scale, out=half, casting="unsafe")
    return half


def settled(dtype: str, device: str = "auto", threads: int | None = None) -> str:
    """The number format that "auto" stands for; another stands for itself.

    On a CPU that is "int8" where a short measurement finds it faster, else "float32".

    Raises:
        ModelError: the weights are missing.
    """
    if dtype != "auto":
        return dtype
    on_cpu = device in ("auto", "cpu")
    return _faster(threads or processors()) if on_cpu else "float32"


@lru_cache(maxsize=2)
def _faster(threads: int) -> str:
    """The number format in which the entailment network runs faster on this machine."""
    rows, width = 8, 64
    batch = Batch(
        np.ones((rows, width), np.int64), np.zeros((rows, width), np.int64),
        np.full(rows, width, np.int32), np.ones((rows, width), np.float32))
    took: dict[str, list[float]] = {}
    # Of the two, 8 bits stay open: where they are chosen, they are used, else they are small.
    forwards = {"float32": _open("entailment", threads, "float32"),
                "int8": _onnx("entailment", threads, "int8")}
    for turn in range(1 + TURNS):
        for dtype, forward in forwards.items():
            started = time.perf_counter()
            forward(batch)
            if turn:  # the first one also makes room
                took.setdefault(dtype, []).append(time.perf_counter() - started)
    ratio = statistics.median(map(truediv, took["float32"], took["int8"]))
    return "int8" if ratio >= FASTER else "float32"


@cache
def _opener() -> ThreadPoolExecutor:
    """Opens networks one after the other: two at a time are twice the memory."""
    return ThreadPoolExecutor(1, thread_name_prefix="q2-open")


@lru_cache(maxsize=len(VERSIONS) * 2)
def _onnx(prefix: str, threads: int, dtype: str) -> Forward:
    """As :func:`_open`, once in a process and, in float32, in the background: the first batch
    waits for it, and until then the caller may load what else it needs (spaCy takes as long).

    Raises:
        ModelError: a file is missing; the first batch raises :class:`BrokenModel` where a file is
            damaged or memory does not suffice, and the network is opened anew when asked for.
    """
    for file in (FILES[prefix], SHARED, _graph(prefix, dtype)):
        shipped(file)
    opened = _opener().submit(_open, prefix, threads, dtype)
    if dtype == "int8":
        # Beside spaCy it took 130 MB more at its peak and saved a quarter of a second.
        wait([opened])

    def forward(batch: Batch) -> NDArray[np.float32]:
        try:
            run = opened.result()
        except Exception as error:
            _onnx.cache_clear()
            why = "out of memory" if is_out_of_memory(error) else error
            raise BrokenModel(f"the bundled {prefix} network cannot be opened: {why}") from error
        return run(batch)

    return forward


def wait_until_open() -> None:
    """Waits for all networks that were asked for, opened or not."""
    _opener().submit(int).result()  # the last in the queue


def _forget() -> None:
    """In a process that was forked: the thread that opens networks is in the other one."""
    _opener.cache_clear()
    _onnx.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _open(prefix: str, threads: int, dtype: str) -> Forward:
    """The network on ONNX Runtime, on the CPU."""
    # Its wheels for Linux upload usage events, unless told not to before they are imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    names, values = [], []
    for name, value in _initializers(prefix, dtype):
        names.append(name)
        values.append(onnxruntime.OrtValue.ortvalue_from_numpy(value))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Batches differ in shape: a memory arena would keep the largest of each for ever.
    options.enable_cpu_mem_arena = False
    # Weights come out of their 8 bits once, when the graph is read, and not in every pass.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.add_external_initializers(names, values)
    session = onnxruntime.InferenceSession(
        shipped(_graph(prefix, dtype)).read_bytes(), options, providers=["CPUExecutionProvider"]
    )
    inputs = {node.name for node in session.get_inputs()}

    def forward(batch: Batch) -> NDArray[np.float32]:
        feed: dict[str, NDArray[Any]] = {
            "ids": batch.ids,
            "types": batch.types,
            "mask": (np.arange(batch.ids.shape[1]) < batch.lengths[:, None]).astype(np.int32),
            "query": batch.query,
        }
        fed = {name: value for name, value in feed.items() if name in inputs}
        logits: NDArray[np.float32] = session.run(["logits"], fed)[0]
        return logits

    return forward


def _graph(prefix: str, dtype: str) -> str:
    """The file of a network's graph."""
    return f"{prefix}.onnx" if dtype == "float32" else f"{prefix}.{dtype}.onnx"


def _initializers(prefix: str, dtype: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """What a network's graph is filled with, one at a time: together they are much memory."""
    ranges = eight_bits.load_ranges(WEIGHTS / FILES[prefix], prefix) if dtype == "int8" else None
    has_words = False
    for name, value, scale in _each_stored(prefix):
        if name == f"{prefix}.words.weight":
            has_words = True
            yield "words.weight", _halved(value, scale)
        elif ranges is not None and eight_bits.is_product(name):
            yield from eight_bits.initializers(name, _whole(value, scale), ranges)
        elif scale is not None and not name.endswith(LOOKED_UP):
            # A torch linear layer holds (out, in); ONNX multiplies by (in, out).
            yield name, np.ascontiguousarray(value.T)
            yield f"{name}.scale", scale[:, 0]
        else:
            yield name, _whole(value, scale).astype(np.float32, copy=False)
    if not has_words:
        yield "words.weight", _words()


def load_network(network: nn.Module, prefix: str) -> None:
    """Puts the weights into a network of :mod:`q2_metric.models.bundled.network`.

    Args:
        prefix: one of :data:`VERSIONS`.

    Raises:
        ModelError: the weights are missing.
    """
    import torch

    heads = ("span", "dense", "classify")
    state = {}
    for name, value in each_weight(prefix):
        short = name.removeprefix(f"{prefix}.")
        key = short if short.startswith(heads) else f"encoder.{short}"
        state[key] = torch.from_numpy(value.astype(np.float32))
    if "encoder.words.weight" not in state:
        [(_, words)] = each_weight("words")
        state["encoder.words.weight"] = torch.from_numpy(words.astype(np.float32))
    network.load_state_dict(state)


@lru_cache(maxsize=len(VERSIONS) * 2)
def _torch(prefix: str, device: str, dtype: str) -> Forward:
    """The network in PyTorch, on any device."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(f"device {device!r} with the bundled models", "torch",
                           "torch") from error
    from q2_metric.models.bundled.network import made

    network = made(prefix)
    load_network(network, prefix)
    network.to(device=device, dtype=getattr(torch, dtype)).eval()

    def forward(batch: Batch) -> NDArray[np.float32]:
        inputs = [batch.ids, batch.types, batch.lengths]
        if prefix != "reader":
            inputs.append(batch.query)
        with torch.inference_mode():
            logits = network(*(torch.from_numpy(array).to(device) for array in inputs))
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result

    return forward


def processors() -> int:
    """Processors that this process may use; no more than OMP_NUM_THREADS, where that is set."""
    may = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(may, int(asked)) if asked.isdecimal() and int(asked) else may
