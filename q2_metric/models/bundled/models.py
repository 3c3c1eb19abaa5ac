"""The models that ship in the package, a reader and an entailment model, and their runtimes."""

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from q2_metric.errors import InputError, ModelError, optional
from q2_metric.models.batching import Budget, device_tokens, in_batches
from q2_metric.models.bundled import encoding, on_onnx
from q2_metric.models.bundled.encoding import Forward, QueryWindow, Tokenizer
from q2_metric.models.bundled.stored import VERSIONS, intact
from q2_metric.models.spans import Best, Pairs, Window, best_span, best_verdicts, decide
from q2_metric.processors import processors
from q2_metric.types import Answer, Verdict

WINDOW = 384
"""Maximum tokens of a row. A longer text is read in windows that share ``STRIDE`` tokens."""
STRIDE = 128
LONGEST_ANSWER = 30
"""Maximum tokens of an answer, as in SQuAD's evaluations."""
TIE = 0.5
"""An answer whose 8-bit logits lead by less over the second-best is read again in float32: 8 bits
change only answers near a tie (docs/results/speed.md)."""
BATCH_TOKENS = 256
"""Padded tokens of a batch on a CPU, whose caches it should fit. With 512 tokens, the wide network
took 1.05 to 1.2 times as long per row; with 4096, all networks took 1.5 to 2 times as long."""

SHARE = 0.35
"""The weight of the first network in the mean of two, where Q² compares answers."""
SURE = (0.05, 0.95)
"""The second network judges what the first leaves open: pairs whose P(entailment) is between these
bounds (docs/results/training.md)."""

Floats = NDArray[np.float32]

SLAB = 4096
"""Pairs of texts that are tokenised and sorted by length together, to limit memory."""

DTYPES = ("float32", "int8", "bfloat16", "float16")
ON_ONNX = ("float32", "int8")
"""ONNX Runtime runs these on a CPU. Torch runs everything else."""

MOST_AT_ONCE = 8
"""Maximum number of batches that run at the same time. Each of them needs its own memory."""


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    return Tokenizer(intact("tokenizer.json"))


def forward_of(network: str, device: str, dtype: str) -> tuple[Forward, int]:
    """A function that computes a network's logits for a batch, and how many batches may run at the
    same time. Both runtimes agree to 1e-3. The device "auto" is the CPU: the models are small.
    InputError: device and ``dtype`` (of :data:`DTYPES`) do not fit. MissingExtra: torch is needed
    and not installed. ModelError: the weights are missing."""
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)} or auto, not {dtype!r}")
    on_cpu = device in ("auto", "cpu")
    if on_cpu and dtype in ON_ONNX:
        at_once, each = shared(threads())
        return on_onnx.forward_of(network, each, dtype), at_once
    if dtype == "int8":
        raise InputError("int8 is for ONNX Runtime on a CPU; elsewhere use bfloat16 or float32")
    optional("torch", f"device {device!r} with the bundled models", "torch", "torch")
    from q2_metric.models.bundled import network as on_torch
    from q2_metric.models.hub.loading import resolve_device

    return on_torch.forward_of(network, "cpu" if on_cpu else resolve_device(device), dtype), 1


def shared(threads: int) -> tuple[int, int]:
    """The number of batches that run at the same time, and of threads for each batch. Two batches
    on one thread each are 1.6 times as fast as one batch on two threads, with equal scores.

    >>> shared(2), shared(20)
    ((2, 1), (6, 3))
    """
    each = -(-threads // MOST_AT_ONCE)
    return threads // each, each


def threads() -> int:
    """The number of threads for all batches: one for each processor, at most OMP_NUM_THREADS."""
    may, asked = processors(), os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(may, int(asked)) if asked.isdecimal() and int(asked) else may


class _Bundled:
    """Runs a bundled network (a name from ``stored.VERSIONS``) on batches of rows of similar
    length. For ``device``, ``dtype`` and errors see ``forward_of``; the dtype "auto" means
    "int8" on a CPU, otherwise "float32". Without ``batch_size``, a batch has as many rows as fit in
    :data:`BATCH_TOKENS`."""

    network: str

    def __init__(
        self, device: str = "auto", dtype: str = "float32", batch_size: int | None = None,
        network: str = "",
    ) -> None:
        self.network = network or self.network
        on_cpu = device in ("auto", "cpu")
        if dtype == "auto":
            dtype = "int8" if on_cpu else "float32"
        self._asked = (device, dtype, batch_size, self.network)
        self._forward, self._at_once = forward_of(self.network, device, dtype)
        self.budget = Budget(BATCH_TOKENS if on_cpu else device_tokens(device), batch_size)
        if dtype == "int8":
            # Rounding to 8 bits amplifies a change in a value's last bit, and padding changes the
            # last bit.
            self.budget.step = encoding.MULTIPLE
        self.dtype, self.name = dtype, _name(dtype, self.network)

    def __reduce__(self) -> tuple[Any, ...]:
        """The copy opens the network if its process has not opened it yet."""
        return type(self), self._asked

    def _read_rows(
        self, pairs: Pairs, forward: Forward
    ) -> Iterator[tuple[int, QueryWindow, Floats]]:
        """(index of its pair, row, logits) for each row of (query, text) pairs."""
        for at in range(0, len(pairs), SLAB):
            owned = self._rows(pairs[at : at + SLAB])
            logits = self._run([row for _, row in owned], forward)
            for (i, row), outputs in zip(owned, logits, strict=True):
                yield at + i, row, outputs

    def _rows(self, pairs: Pairs) -> list[tuple[int, QueryWindow]]:
        return [(i, row) for i, (query, text) in enumerate(pairs)
                for row in encoding.windows(
                    tokenizer()(query), tokenizer()(text), WINDOW, STRIDE)]

    def _run(self, rows: Sequence[QueryWindow], forward: Forward) -> list[Floats]:
        return in_batches(
            [len(row.ids) for row in rows],
            lambda places: self._logits([rows[i] for i in places], forward), self.budget,
            name=self.name, at_once=self._at_once)

    def _logits(self, rows: Sequence[QueryWindow], forward: Forward) -> list[Floats]:
        logits = forward(encoding.collate(rows))
        if not np.isfinite(logits).all():
            raise ModelError(
                f"{self.name}: its outputs are not finite numbers; use bfloat16 or float32")
        return list(logits)


def _name(dtype: str, *networks: str) -> str:
    """The model's name in signatures."""
    versions = "+".join(f"{network}-v{VERSIONS[network]}" for network in networks)
    return f"bundled-{versions}" + ("" if dtype == "float32" else f"-{dtype}")


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    chances: Floats = shifted / shifted.sum(-1, keepdims=True)
    return chances


class BundledReader(_Bundled):
    """Answers questions from a text (see :func:`~q2_metric.models.spans.decide`)."""

    network = "reader"

    @cached_property
    def _exact(self) -> Forward | None:
        """In 8 bits, what reads answers near a tie (:data:`TIE`); opened when it is needed."""
        return forward_of(self.network, "cpu", "float32")[0] if self.dtype == "int8" else None

    def _rows(self, pairs: Pairs) -> list[tuple[int, QueryWindow]]:
        return [(i, row) for i, row in super()._rows(pairs) if row.offsets and row.query_length]

    def read(self, pairs: Pairs) -> list[Answer | None]:
        reads = self._decided(pairs, self._forward)
        close = [i for i, (_, lead) in enumerate(reads) if lead < TIE]
        if close and self._exact:
            again = self._decided([pairs[i] for i in close], self._exact)
            for i, read in zip(close, again, strict=True):
                reads[i] = read
        return [answer for answer, _ in reads]

    def _decided(self, pairs: Pairs, forward: Forward) -> list[tuple[Answer | None, float]]:
        """Each answer (``None`` for "no answer"), and its lead over the second-best, in logits."""
        spans: dict[int, list[Window]] = defaultdict(list)
        for i, row, logits in self._read_rows(pairs, forward):
            spans[i].append((*answer_span(logits, row), float(logits[0].sum())))
        return [decide(text, spans[i]) if i in spans else (None, math.inf)
                for i, (_, text) in enumerate(pairs)]


def answer_span(logits: Floats, row: QueryWindow) -> tuple[Best, int, int]:
    """The best answer span of a row, and its character range, from the logits (tokens, 2)."""
    part = logits[row.text_start : row.text_start + len(row.offsets)]
    best = best_span(part[:, 0], part[:, 1], LONGEST_ANSWER)
    return best, row.offsets[best.first][0], row.offsets[best.last][1]


class BundledEntailment(_Bundled):
    """A three-way entailment model, for Q²'s NLI and as SCALE's backbone. A premise longer than a
    window gets the verdict of the window with the highest P(entailment)."""

    network = "entailment"
    prompt = ""

    def judge(self, pairs: Pairs) -> list[Verdict]:
        turned = [(hypothesis, premise) for premise, hypothesis in pairs]
        return best_verdicts((i, Verdict(*map(float, _softmax(logits))))
                             for i, _, logits in self._read_rows(turned, self._forward))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return tokenizer()(text).offsets


class BundledCascade:
    """Two entailment models. The second judges what the first leaves open (:data:`SURE`), and then
    the weighted mean of both counts."""

    prompt = ""

    def __init__(self, first: BundledEntailment, second: BundledEntailment) -> None:
        self.first, self.second = first, second
        self.name = _name(first.dtype, first.network, second.network)

    def judge(self, pairs: Pairs) -> list[Verdict]:
        return self.review(pairs, self.first.judge(pairs), SHARE)

    def review(self, pairs: Pairs, verdicts: Sequence[Verdict], share: float) -> list[Verdict]:
        """The verdicts of both models. The first gave ``verdicts``, and its weight is ``share``."""
        found = list(verdicts)
        left = [i for i, one in enumerate(found) if SURE[0] <= one.entailment <= SURE[1]]
        again = self.second.judge([pairs[i] for i in left])
        for i, one in zip(left, again, strict=True):
            found[i] = found[i].mean(one, share)
        return found

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self.first.offsets(text)
