"""The models that ship in the package: a reader and an entailment model.

The weights are one safetensors file, its matrices in 8 bits a value. On a CPU they run on
ONNX Runtime in float32, without torch; with the extra ``torch`` also on a GPU. Both give the
same scores to 1e-3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import InputError, MissingExtra, ModelError
from q2_metric.models.bundled.encoding import Batch, Tokeniser, Window, collate, windows
from q2_metric.models.memory import is_out_of_memory
from q2_metric.models.verdicts import best_verdicts
from q2_metric.types import Answer, Verdict

WEIGHTS = Path(__file__).parent / "weights"
VERSION = "2"
"""Of the weights: part of every signature, raised with each retraining."""

WINDOW = 384
"""Tokens of a row; longer texts are read in windows that share ``STRIDE`` tokens."""
STRIDE = 128
LONGEST_ANSWER = 30
"""Tokens of an answer at most, as in SQuAD's evaluations."""
NULL_THRESHOLD = 0.0
"""How far the best span must beat no answer, in logits."""
BATCH_TOKENS = 512
"""Padded tokens of a batch where no batch size is given. On a CPU it should stay in its caches:
batches of 4096 tokens took 1.5 to 2 times as long a row as those of 256 to 1024."""
DEVICE_TOKENS = 65_536
"""The same on a GPU, which must be kept busy (not measured)."""

SLAB = 4096
"""Pairs that are tokenised and sorted together."""

T = TypeVar("T")
Runtime = Literal["auto", "onnx", "torch"]
Forward = Callable[[Batch], NDArray[np.float32]]


@lru_cache(maxsize=1)
def tokeniser() -> Tokeniser:
    """The one tokeniser of both models."""
    return Tokeniser(WEIGHTS / "tokenizer.json")


def _load(*prefixes: str) -> dict[str, NDArray[Any]]:
    """The weights whose names begin so, out of their 8 bits."""
    from safetensors import safe_open

    path = WEIGHTS / "bundled.safetensors"
    if not path.exists():
        raise ModelError(f"the bundled weights are missing ({path}): reinstall q2-metric")
    found = {}
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a dictionary)
            if name.startswith(prefixes) and not name.endswith(".scale"):
                value = file.get_tensor(name)
                if value.dtype == np.int8:
                    value = value * file.get_tensor(f"{name}.scale")
                found[name] = value
    return found


@lru_cache(maxsize=1)
def _words() -> NDArray[np.float16]:
    """The word embeddings of both networks: looked up, then cast, so half of the memory."""
    words: NDArray[np.float16] = _load("words.")["words.weight"].astype(np.float16)
    return words


@lru_cache(maxsize=4)
def _onnx(prefix: str, threads: int) -> Forward:
    """The network on ONNX Runtime, on the CPU, in float32."""
    import onnxruntime

    names = ["words.weight"]
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(_words())]
    for name, value in _load(f"{prefix}.").items():
        value = value.astype(np.float32, copy=False)
        # A torch linear layer holds (out, in); ONNX multiplies by (in, out).
        if value.ndim == 2 and not name.endswith(("types.weight", "positions.weight")):
            value = np.ascontiguousarray(value.T)
        names.append(name)
        values.append(onnxruntime.OrtValue.ortvalue_from_numpy(value))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Batches differ in shape: a memory arena would keep the largest of each for ever.
    options.enable_cpu_mem_arena = False
    options.add_external_initializers(names, values)
    session = onnxruntime.InferenceSession(
        (WEIGHTS / f"{prefix}.onnx").read_bytes(), options, providers=["CPUExecutionProvider"]
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


@lru_cache(maxsize=4)
def _torch(prefix: str, device: str, dtype: str) -> Forward:
    """The network in PyTorch, on any device."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(f"device {device!r} with the bundled models", "torch",
                           "torch") from error
    from q2_metric.models.bundled.network import EntailmentNetwork, ReaderNetwork

    network = ReaderNetwork() if prefix == "reader" else EntailmentNetwork()
    heads = ("span", "dense", "classify")
    state = {}
    for name, value in _load(f"{prefix}.", "words.").items():
        short = name.removeprefix(f"{prefix}.")
        key = short if short.startswith(heads) else f"encoder.{short}"
        state[key] = torch.from_numpy(value.astype(np.float32))
    network.load_state_dict(state)
    network.to(device=device, dtype=getattr(torch, dtype)).eval()

    def forward(batch: Batch) -> NDArray[np.float32]:
        inputs = [batch.ids, batch.types, batch.lengths]
        if prefix == "entailment":
            inputs.append(batch.query)
        with torch.inference_mode():
            logits = network(*(torch.from_numpy(array).to(device) for array in inputs))
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result

    return forward


def _slabs(pairs: Sequence[T]) -> Iterator[Sequence[T]]:
    """The pairs in order, as many at a time as may be in memory as rows."""
    for at in range(0, len(pairs), SLAB):
        yield pairs[at : at + SLAB]


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Bundled:
    """Tokenising, batching by length, and the choice of a runtime."""

    prefix: str

    def __init__(
        self,
        runtime: Runtime = "auto",
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Args:
            runtime: "onnx" (CPU), "torch" (any device), or "auto": ONNX Runtime on a CPU
                in float32, else torch.
            device: "auto" (the CPU: the models are small), "cpu", "cuda", "mps".
            dtype: "float32", or on torch "bfloat16" or "float16".
            batch_size: rows of a batch; as many as fit ``batch_tokens`` if ``None``.
            threads: of ONNX Runtime; the processors this process may use if ``None``.

        Raises:
            InputError: a combination that does not exist.
            MissingExtra: torch is needed and not installed.
        """
        if dtype not in ("float32", "bfloat16", "float16"):
            raise InputError(f"dtype must be float32, bfloat16 or float16, not {dtype!r}")
        if batch_size is not None and batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {batch_size}")
        if device == "auto":
            device = "cpu"
        if runtime == "auto":
            runtime = "onnx" if device == "cpu" and dtype == "float32" else "torch"
        if runtime == "onnx" and (device != "cpu" or dtype != "float32"):
            raise InputError("the ONNX runtime of the bundled models is CPU and float32 only")
        self.batch_size = batch_size
        self.batch_tokens = BATCH_TOKENS if device == "cpu" else DEVICE_TOKENS
        if runtime == "onnx":
            self._forward = _onnx(self.prefix, threads or _processors())
        else:
            from q2_metric.models.hub.common import resolve_device

            self._forward = _torch(self.prefix, resolve_device(device), dtype)
        self.name = f"bundled-{self.prefix}-v{VERSION}"
        if dtype != "float32":
            self.name += f"-{dtype}"

    def _rows(self, query: str, text: str) -> list[Window]:
        return list(windows(tokeniser()(query), tokeniser()(text), WINDOW, STRIDE))

    def _run(self, rows: Sequence[Window]) -> list[NDArray[np.float32]]:
        """The logits of each row, in order; rows of similar length share a batch.

        A batch that does not fit into memory is halved and retried.
        """
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
        found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(rows)
        at, most = 0, len(rows)
        while at < len(order):
            size = min(most, self._fitting([len(rows[i].ids) for i in order[at : at + most]]))
            part = order[at : at + size]
            try:
                logits = self._forward(collate([rows[i] for i in part]))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if size == 1:
                    length = len(rows[part[0]].ids)
                    raise ModelError(
                        f"{self.name}: a single row of {length} tokens does not fit into memory"
                    ) from error
                most = size // 2
                continue
            if not np.isfinite(logits).all():
                raise ModelError(
                    f"{self.name}: gives numbers that are not finite; use bfloat16 or float32")
            for i, one in zip(part, logits, strict=True):
                found[i] = one
            at += size
        return found

    def _fitting(self, lengths: Sequence[int]) -> int:
        """How many of the rows, whose lengths rise, make the next batch."""
        if self.batch_size is not None:
            return min(self.batch_size, len(lengths))
        size = 1
        while size < len(lengths) and (size + 1) * lengths[size] <= self.batch_tokens:
            size += 1
        return size


class BundledReader(_Bundled):
    """Extractive question answering with no answer.

    The best span is the joint maximum over legal starts and ends; over several windows
    the best span competes with the least confident "no answer".
    """

    prefix = "reader"

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        """An answer for each (question, context), ``None`` where there is none."""
        return [answer for slab in _slabs(pairs) for answer in self._read(slab)]

    def _read(self, pairs: Sequence[tuple[str, str]]) -> list[Answer | None]:
        owners: list[int] = []
        rows: list[Window] = []
        for i, (question, context) in enumerate(pairs):
            for row in self._rows(question, context):
                if row.offsets and row.query_length:
                    owners.append(i)
                    rows.append(row)
        best: dict[int, tuple[float, int, int]] = {}
        null: dict[int, float] = {}
        for i, row, logits in zip(owners, rows, self._run(rows), strict=True):
            no_answer = float(logits[0].sum())
            null[i] = min(null.get(i, no_answer), no_answer)
            span = best_span(logits, row)
            if i not in best or span[0] > best[i][0]:
                best[i] = span
        found: list[Answer | None] = [None] * len(pairs)
        for i, (score, start, end) in best.items():
            if score - null[i] > NULL_THRESHOLD:
                found[i] = Answer(pairs[i][1][start:end], start, score - null[i])
        return found


def best_span(logits: NDArray[np.float32], row: Window) -> tuple[float, int, int]:
    """(logit sum, start, end in characters) of a row's best legal span."""
    length = len(row.offsets)
    part = logits[row.text_start : row.text_start + length]
    best, first, last = -np.inf, 0, 0
    # Over lengths rather than over a square of starts and ends: answers are short.
    for size in range(min(LONGEST_ANSWER, length)):
        joint = part[: length - size, 0] + part[size:, 1]
        at = int(joint.argmax())
        if joint[at] > best:
            best, first, last = float(joint[at]), at, at + size
    return best, row.offsets[first][0], row.offsets[last][1]


class BundledEntailment(_Bundled):
    """Three-way entailment; also SCALE's backbone.

    A premise longer than a window is judged by the window that entails most.
    """

    prefix = "entailment"
    prompt = ""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """A verdict for each (premise, hypothesis)."""
        return [verdict for slab in _slabs(pairs) for verdict in self._judge(slab)]

    def _judge(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        owners: list[int] = []
        rows: list[Window] = []
        for i, (premise, hypothesis) in enumerate(pairs):
            for row in self._rows(hypothesis, premise):
                owners.append(i)
                rows.append(row)
        verdicts = []
        for logits in self._run(rows):
            scores = np.exp(logits - logits.max())
            verdicts.append(Verdict(*(float(value) for value in scores / scores.sum())))
        return best_verdicts(owners, verdicts, len(pairs))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the text's word pieces."""
        return tokeniser()(text).offsets
