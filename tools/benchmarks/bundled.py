"""Measures the speed of the bundled presets, and how much faster batches are than single items.

    python -m tools.benchmarks bundled [--preset bundled-small] [--rows N] [--turns T]
                                       [--dtype int8]

Scores annotated Wizard of Wikipedia responses with Q² and SCALE in one call. For comparison, the
same models also score a part of the responses as the reference implementations do: one response at
a time, and one item per model call. The two ways are timed in alternation. The result is the ratio
of their speeds. With ``--dtype``, both ways use this number format, and float32 is timed too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from q2_metric import Q2, Example, Scale
from q2_metric.models.bundled.models import ON_ONNX, BundledCascade
from q2_metric.models.bundled.stored import VERSIONS
from q2_metric.processors import processors
from tools.benchmarks.harness import (
    Clock,
    alternate,
    counted,
    each,
    import_seconds,
    onnx_rate,
    peak_memory_mb,
    process_seconds,
    responses,
    save,
    share_of_rate,
    slices,
    timed,
)

Scored = Callable[[Sequence[Example]], None]


class OneAtATime:
    """Wraps a model so that a method that takes a batch is called for one item at a time.

    ``method`` is the name of this method.
    """

    def __init__(self, model: Any, method: str) -> None:
        self._model = model
        self._call = getattr(model, method)
        self.name, self.network = model.name, getattr(model, "network", "")
        self.prompt = getattr(model, "prompt", "")
        self.offsets = getattr(model, "offsets", None)
        setattr(self, method, self._each)

    def _each(self, items: Sequence[Any]) -> list[Any]:
        return [self._call([item])[0] for item in items]


def changed(examples: Sequence[Example], mark: str) -> list[Example]:
    """Adds ``mark`` to all texts, so that no tokens and parses are found in a cache.

    ``mark`` is one of ``. ; !``, which do not change the amount of work. A question mark would,
    because questions claim nothing.
    """
    return [Example(f"{e.response} {mark}", f"{e.knowledge} {mark}") for e in examples]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=("bundled", "bundled-small"), default="bundled")
    parser.add_argument("--rows", type=int, default=1088)
    parser.add_argument("--loop-rows", type=int, default=160)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--dtype", choices=ON_ONNX, default="float32")
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    examples = responses(given.rows)
    q2, scale = _metrics(given.preset, given.dtype)
    together, alone = both(q2, scale), _alone(*_metrics(given.preset, given.dtype))
    together(changed(examples[:8], "; ;"))
    loops = slices(changed(examples[: given.loop_rows], "."), given.turns + 1)
    batches = [changed(part, ";") for part in slices(examples, given.turns)]
    ratio = alternate(each(alone, loops), each(together, batches))
    memory = peak_memory_mb()
    against_float32 = (None if given.dtype == "float32"
                       else _against_float32(given.preset, together, examples, given.turns))

    clock = Clock()
    passes = counted({"reader": q2.reader, "nli": q2.entailment, "scale": scale.backbone},
                     clock)
    seconds = {}
    for stage, owner, method in (("spans", q2.spans, "find"), ("questions", q2.questions,
                                 "generate"), ("personal", q2.personal, "personal")):
        seconds[stage] = Clock()
        setattr(owner, method, seconds[stage].wrap(getattr(owner, method)))
    rates = [onnx_rate(given.dtype)]
    total = timed(lambda: together(examples))
    rates.append(onnx_rate(given.dtype))
    twenty = Path(__file__).parents[2] / "examples" / "dialogues.jsonl"
    cold = ("-m", "q2_metric", "score", "--no-cache", "--preset", given.preset, "--dtype",
            given.dtype, str(twenty))
    save(given.preset if given.dtype == "float32" else f"{given.preset}-{given.dtype}", {
        "signatures": [q2.signature, scale.signature],
        "responses": len(examples),
        "threads": processors(),
        "against_the_loop": ratio,
        **({"against_float32": against_float32} if against_float32 else {}),
        "responses_per_second": round(len(examples) / total, 1),
        "share_outside_forward_passes": round(1 - clock.seconds / total, 3),
        "share_of_stages": {
            name: round(timed.seconds / total, 3) for name, timed in seconds.items()},
        "stages": {stage: timed.figures() for stage, timed in passes.items() if timed.tokens},
        "tokens": round(sum(passed.tokens for passed in passes.values()) / len(examples), 1),
        **share_of_rate(sum(passed.operations for passed in passes.values()), total, sum(rates) / 2,
                        given.dtype),
        "weights": VERSIONS,
        "import_seconds": round(import_seconds("q2_metric"), 3),
        "cold_score_of_twenty_seconds": round(
            process_seconds(*cold), 2),
        "cold_cpu_seconds": round(_children_cpu(
            lambda: process_seconds(*cold, times=1)), 2),
        "peak_memory_mb": memory,
    })


def _alone(q2: Q2, scale: Scale) -> Scored:
    """A function that scores one response at a time, with one item in each model call."""
    q2.reader = OneAtATime(q2.reader, "read")
    q2.entailment = OneAtATime(q2.entailment, "judge")
    cascade: Any = scale.backbone
    if isinstance(cascade, BundledCascade):
        cascade.first, cascade.second = (
            OneAtATime(model, "judge") for model in (cascade.first, cascade.second))
    else:
        scale.backbone = OneAtATime(cascade, "judge")
    looped = both(q2, scale)

    def alone(chosen: Sequence[Example]) -> None:
        for example in chosen:
            looped([example])

    return alone


def _against_float32(
    preset: str, together: Scored, examples: Sequence[Example], turns: int
) -> dict[str, float]:
    usual = both(*_metrics(preset, "float32"))
    usual(changed(examples[:8], "; ;"))
    parts = [changed(part, "!") for part in slices(examples, 2 * turns + 1)]
    return alternate(each(usual, parts[::2]), each(together, parts[1::2]))


def _metrics(preset: str, dtype: str) -> tuple[Q2, Scale]:
    return Q2.from_preset(preset, dtype=dtype), Scale.from_preset(preset, dtype=dtype)


def both(q2: Q2, scale: Scale) -> Scored:
    """A function that scores examples with Q² and then with SCALE."""
    def together(chosen: Sequence[Example]) -> None:
        q2.score(chosen)
        scale.score(chosen)

    return together


def _children_cpu(work: Callable[[], object]) -> float:
    """The processor seconds that the child processes of ``work`` use. (Wall-clock seconds would
    depend on what else the machine does.)"""
    import resource

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    work()
    return used() - before
