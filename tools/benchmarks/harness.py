"""What the speed benchmarks share: timings in alternation, clocks on models, records in JSON.

The speed of a machine changes over time, for example because of other processes. So two programs
are timed in turns, each on a small slice of the work at a time. Each slice is compared only with
the slices of the other program before and after it.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from q2_metric import DataError, Example
from q2_metric.data.readers import read_annotated
from q2_metric.errors import installed
from q2_metric.models.bundled.models import BundledCascade, BundledReader
from q2_metric.models.bundled.stored import FILES, WEIGHTS, below
from q2_metric.processors import processors

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "speed"
"""The folder with the results in JSON. speed_page.py makes docs/results/speed.md from them."""

PACKAGES = ("q2-metric", "numpy", "spacy", "onnxruntime", "tokenizers", "torch", "transformers",
            "scale-score")

T = TypeVar("T")


def responses(count: int | None = None) -> list[Example]:
    """The first ``count`` annotated Wizard of Wikipedia responses, or all of them."""
    try:
        return [labelled.example for labelled in read_annotated()][:count]
    except DataError as error:
        sys.exit(f"benchmark: {error}")


# --- timing -------------------------------------------------------------------------------


def timed(work: Callable[[], object]) -> float:
    """The seconds that a call of ``work`` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def alternate(
    slow: Sequence[tuple[int, Callable[[], object]]],
    fast: Sequence[tuple[int, Callable[[], object]]],
) -> dict[str, Any]:
    """Times two programs in turns: slow, fast, slow, fast, …, slow.

    The speed of each fast slice is divided by the mean speed of the two slow slices around it.

    Args:
        slow, fast: the slices of each program: (number of items, function that does the work).

    Returns:
        The median items per second of both programs, and the median, lowest and highest ratio of
            their speeds.
    """
    if len(slow) != len(fast) + 1:
        raise ValueError("a slow slice must stand on both sides of each fast one")
    slow_rates, fast_rates = [], []
    for i, (count, work) in enumerate(slow):
        slow_rates.append(count / timed(work))
        if i < len(fast):
            fast_rates.append(fast[i][0] / timed(fast[i][1]))
    ratios = [
        2 * rate / (before + after)
        for rate, before, after in zip(fast_rates, slow_rates, slow_rates[1:], strict=False)
    ]
    return {
        "slow_per_second": round(statistics.median(slow_rates), 3),
        "fast_per_second": round(statistics.median(fast_rates), 3),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_least": round(min(ratios), 2),
        "ratio_greatest": round(max(ratios), 2),
        "turns": len(ratios),
    }


def slices(items: Sequence[T], count: int) -> list[Sequence[T]]:
    """Divides the items into ``count`` parts of about equal size and cost: part i gets the items i,
    i + count, i + 2 * count, …"""
    return [items[i::count] for i in range(count)]


def each(work: Callable[[Any], object], parts: Sequence[Sequence[Any]]) -> list[
        tuple[int, Callable[[], object]]]:
    """The slices of one program for :func:`alternate`: for each part, (number of items, function
    that calls ``work`` with the part)."""
    return [(len(part), partial(work, part)) for part in parts]


class Clock:
    """Counts calls of functions, and measures the time in which at least one of them runs.

    Calls may run at the same time in several threads. Nested calls count once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._lock = threading.Lock()
        self._running = 0
        self._since = 0.0
        self._own = threading.local()

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that does the same and adds its time to this clock."""

        def clocked(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._own, "runs", False):  # a nested call
                return function(*args, **kwargs)
            self._own.runs = True
            with self._lock:
                if self._running == 0:
                    self._since = time.perf_counter()
                self._running += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._own.runs = False
                with self._lock:
                    self._running -= 1
                    self.calls += 1
                    if self._running == 0:
                        self.seconds += time.perf_counter() - self._since

        return clocked

    def __call__(self, *models: Any) -> Clock:
        """Makes this clock time the forward passes of torch models, and of their encoders."""
        for model in models:
            model.forward = self.wrap(model.forward)
            if getattr(model.config, "is_encoder_decoder", False):
                encoder = model.get_encoder()
                encoder.forward = self.wrap(encoder.forward)
        return self


@contextmanager
def counting_flops() -> Iterator[Callable[[], float]]:
    """A context that counts the floating-point operations of torch's matrix products and attention.

    Yields a function that returns the number so far.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        yield counter.get_total_flops


def torch_rate(dtype: str = "float32", size: int = 1536) -> float:
    """The speed of a large matrix product in torch on the CPU, in operations per second."""
    import torch

    a, b = (torch.randn(size, size, dtype=getattr(torch, dtype)) for _ in range(2))
    return _rate(lambda: a @ b, size)


def onnx_rate(dtype: str = "float32", size: int = 1536) -> float:
    """The speed of a large matrix product in ONNX Runtime, in operations per second.

    ``dtype`` is "float32" or "int8" (products of 8-bit numbers).
    """
    return _rate(onnx_product(dtype, size, size, size), size)


def onnx_product(dtype: str, rows: int, depth: int, columns: int) -> Callable[[], object]:
    """Returns a function that computes a matrix product of these sizes in ONNX Runtime.

    ``dtype`` is "float32" or "int8".
    """
    import onnxruntime
    from onnx import TensorProto, helper

    left, right, out, op, kinds = {
        "float32": (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT, "MatMul",
                    (np.float32, np.float32)),
        "int8": (TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, "MatMulInteger",
                 (np.uint8, np.int8)),
    }[dtype]
    rng = np.random.default_rng(0)
    fed = rng.integers(0, 256, (rows, depth)).astype(kinds[0])
    weight = rng.integers(-64, 65, (depth, columns)).astype(kinds[1])
    graph = helper.make_graph(
        [helper.make_node(op, ["a", "b"], ["c"])], "product",
        [helper.make_tensor_value_info("a", left, [rows, depth])],
        [helper.make_tensor_value_info("c", out, [rows, columns])],
        [helper.make_tensor("b", right, [depth, columns], weight.tobytes(), raw=True)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = processors()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"a": fed})


def _rate(product: Callable[[], object], size: int, turns: int = 9) -> float:
    """The median speed of a square matrix product over ``turns`` calls, in operations per second.

    A first call before them is not timed.
    """
    product()
    return 2 * size**3 / statistics.median(timed(product) for _ in range(turns))


# --- the bundled networks -----------------------------------------------------------------


def counted(models: Mapping[str, Any], clock: Clock) -> dict[str, Counted]:
    """Makes bundled models count what they compute. Returns the counters, by name of the model.

    Args:
        models: the models by name. Both models of a cascade are counted.
        clock: also times their forward passes.
    """
    found = {}
    for name, given in models.items():
        cascade = isinstance(given, BundledCascade)
        for model in (given.first, given.second) if cascade else (given,):
            key = f"{name}, {model.network}" if cascade else name
            found[key] = model._forward = Counted(model._forward, clock, model.network)
            if isinstance(model, BundledReader) and model._exact:
                found[f"{key}, ties"] = model._exact = Counted(model._exact, clock, model.network)
    return found


class Usage:
    """Counts what the batches of a torch model compute from now on. ``padded`` counts the tokens
    with padding."""

    def __init__(self, batches: Any) -> None:
        self.calls = self.rows = self.tokens = self.padded = 0
        self._batch, batches._batch = batches._batch, self

    def __call__(self, rows: Any, call: Callable[[Any], Any]) -> Any:
        results = self._batch(rows, call)
        lengths = [len(row["input_ids"]) for row in rows]
        self.calls += 1
        self.rows += len(rows)
        self.tokens += sum(lengths)
        self.padded += len(rows) * max(lengths)
        return results

    @property
    def padding(self) -> float:
        """The share of padding among the computed tokens, in [0, 1)."""
        return 1 - self.tokens / self.padded if self.padded else 0.0


class Counted:
    """The forward function of a bundled network that counts calls, rows, tokens and operations.

    Operations on padding are not counted. A token needs two operations for each weight of the
    layers, and those of the attention. Layers that read query and text apart read each only once.
    """

    def __init__(self, forward: Callable[[Any], Any], clock: Clock, network: str) -> None:
        self._forward = clock.wrap(forward)
        self._network, self._below = network, below(network)
        self.calls = self.rows = self.tokens = self.padded = self.operations = 0
        self._lock = threading.Lock()
        self._known = set[bytes]()

    def __call__(self, batch: Any) -> Any:
        hypotheses = batch.query.sum(1).astype(int).tolist()
        needed = sum(
            operations(self._network, length,
                       length if self._network == "reader" else 1 + hypothesis)
            for length, hypothesis in zip(batch.lengths.tolist(), hypotheses, strict=True))
        parts = {part.tobytes(): len(part) for ids, length, hypothesis in zip(
                     batch.ids, batch.lengths, hypotheses, strict=True)
                 for part in (ids[: hypothesis + 2], ids[hypothesis + 2 : length])
                 } if self._below else {}
        with self._lock:  # batches run at the same time
            needed += sum(operations_below(self._network, length)
                          for part, length in parts.items() if part not in self._known)
            self._known |= parts.keys()
            self.calls += 1
            self.rows += len(batch.lengths)
            self.tokens += int(batch.lengths.sum())
            self.padded += batch.ids.size
            self.operations += needed
        return self._forward(batch)

    def figures(self) -> dict[str, Any]:
        return {"calls": self.calls, "rows": self.rows, "tokens": self.tokens,
                "padding": round(1 - self.tokens / max(1, self.padded), 3)}


def operations(network: str, length: int, read: int) -> int:
    """The number of operations of a bundled network for a row of ``length`` tokens, without layers
    that read query and text apart.

    The head of the network reads only the first ``read`` tokens. So the last layer uses the other
    tokens only as keys and values.
    """
    layers, *sizes = _sizes(network, f"{network}.layers.")
    return (layers - 1) * _of_layer(*sizes, length, length) + _of_layer(*sizes, length, read)


def operations_below(network: str, length: int) -> int:
    """The number of operations of the layers that read ``length`` tokens of a query or text."""
    layers, *sizes = _sizes(network, f"{below(network)}.layers.")
    return layers * _of_layer(*sizes, length, length)


def _of_layer(hidden: int, inner: int, length: int, read: int) -> int:
    keys, rest = 2 * hidden**2, 2 * hidden**2 + 2 * hidden * inner
    return 2 * (length * keys + read * rest) + 4 * length * read * hidden


@lru_cache
def _sizes(network: str, prefix: str) -> tuple[int, int, int]:
    """(number, width, inner width) of a bundled network's layers whose names begin with ``prefix``,
    read from its weights."""
    from safetensors import safe_open

    with safe_open(WEIGHTS / FILES[network], framework="numpy") as file:
        ups = [name for name in file.keys()  # noqa: SIM118 (not a dictionary)
               if name.startswith(prefix) and name.endswith(".up.weight")]
        hidden, inner = file.get_slice(ups[0]).get_shape()
    return len(ups), hidden, inner


def share_of_rate(needed: float, seconds: float, rate: float, dtype: str) -> dict[str, Any]:
    """Entries for a record of speed: how many operations the work needed, and which share of the
    CPU's matrix throughput it reached.

    Args:
        needed: number of operations.
        seconds: time that the work took.
        rate: operations per second of a large matrix product on the same machine.
        dtype: number format of the work.
    """
    return {
        "number_format": dtype,
        "seconds": round(seconds, 2),
        "gflops": round(needed / 1e9),
        "matmul_gflops_per_second": round(rate / 1e9),
        "share_of_matmul_rate": round(needed / seconds / rate, 3),
    }


# --- the machine and the record --------------------------------------------------------


def machine() -> dict[str, Any]:
    """Facts about the machine: processor, instruction sets, load, versions of the software, date.
    """
    model, flags = platform.processor() or platform.machine(), ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = dict(
            line.split(":", 1) for line in cpuinfo.read_text().splitlines() if ":" in line)
        fields = {key.strip(): value.strip() for key, value in lines.items()}
        model, flags = fields.get("model name", model), fields.get("flags", "")
    known = [name for name in ("avx2", "avx512f", "avx512_vnni", "amx_bf16", "amx_int8")
             if name in flags.split()]
    versions = {name: there for name in PACKAGES if (there := installed(name))}
    if "q2-metric" not in versions:
        from q2_metric import __version__

        versions["q2-metric"] = __version__
    return {"processor": model, "instructions": known, "processors": processors(),
            "load": round(os.getloadavg()[0], 1), "python": platform.python_version(),
            "versions": versions, "date": time.strftime("%Y-%m-%d")}


def peak_memory_mb() -> int:
    """The peak memory of this process so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)


def process_seconds(*arguments: str, times: int = 3) -> float:
    """The seconds that a new Python process with these arguments takes: the shortest of ``times``
    runs."""
    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    return min(timed(run) for _ in range(times))


def import_seconds(module: str, times: int = 5) -> float:
    """The seconds in which a new Python process imports a module: the shortest of ``times`` runs.
    """
    def run() -> float:
        done = subprocess.run([sys.executable, "-X", "importtime", "-c", f"import {module}"],
                              check=True, capture_output=True, text=True)
        (line,) = (line for line in done.stderr.splitlines() if line.endswith(f"| {module}"))
        return int(line.split("|")[1]) / 1e6  # microseconds, including all modules that it imports

    return min(run() for _ in range(times))


def save(name: str, figures: dict[str, Any]) -> None:
    """Prints the figures, and saves them with facts about the machine as ``RESULTS/NAME.json``."""
    record = {"command": " ".join(["python", *sys.argv]), "machine": machine(), **figures}
    text = json.dumps(record, indent=1, ensure_ascii=False)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(text)
