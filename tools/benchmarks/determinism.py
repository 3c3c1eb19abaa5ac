"""Measures how much a score depends on the other rows of a batch and on threads.

    python -m tools.benchmarks determinism [--rows 300] [--json FILE]

Scores annotated Wizard of Wikipedia responses (``Q2_DATA_DIR`` or ``q2 data download wow_q2``) with
the bundled models in blocks of 256 rows. Then the scores are computed again in other ways
(:data:`WAYS`) and compared: in shuffled order, one row at a time, from a cache, in two threads at
once, with one or two threads inside ONNX Runtime, and so on.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

from q2_metric.data.readers import read_annotated
from q2_metric.engine.cache import Cache
from q2_metric.engine.cached import CachedMetric
from q2_metric.metrics import load_metrics
from q2_metric.models.bundled import models, on_onnx
from q2_metric.types import Example, Metric

Values = list[float | None]
Way = Callable[[Metric, Sequence[Example]], Values]


def values(metric: Metric, examples: Sequence[Example]) -> Values:
    """The scores of the examples, computed in blocks of 256 as in ``q2 score``."""
    return [score.value for start in range(0, len(examples), 256)
            for score in metric.score(examples[start : start + 256])]


def shuffled(metric: Metric, examples: Sequence[Example]) -> Values:
    order = list(range(len(examples)))
    random.Random(0).shuffle(order)
    found = dict(zip(order, values(metric, [examples[i] for i in order]), strict=True))
    return [found[i] for i in range(len(examples))]


def alone(metric: Metric, examples: Sequence[Example]) -> Values:
    return [value for example in examples for value in values(metric, [example])]


def cached(metric: Metric, examples: Sequence[Example]) -> Values:
    """The scores from a cache that was filled by scoring one row at a time."""
    with tempfile.TemporaryDirectory() as folder:
        kept = CachedMetric(metric.name, lambda: metric, Cache(Path(folder) / "cache"))
        alone(kept, examples)
        return values(kept, examples)


def threads(metric: Metric, examples: Sequence[Example]) -> Values:
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(values, metric, examples) for _ in range(2))
        assert first.result() == second.result()
        return first.result()


def otherwise(threads: int = 2, *, optimised: bool = True) -> Way:
    """Returns a function that scores with other settings of ONNX Runtime.

    Args:
        threads: number of threads inside ONNX Runtime.
        optimised: whether ONNX Runtime optimises the graph of the network.
    """
    def score(metric: Metric, examples: Sequence[Example]) -> Values:
        import onnxruntime  # after the metric is loaded, which turns telemetry off

        def options() -> Any:
            made = real()
            if not optimised:
                made.graph_optimization_level = level.ORT_DISABLE_ALL
            return made

        real, level = onnxruntime.SessionOptions, onnxruntime.GraphOptimizationLevel
        on_onnx.forward_of.cache_clear()
        with (
            patch.object(models, "processors", lambda: threads),
            patch.object(onnxruntime, "SessionOptions", options),
        ):
            (other,) = load_metrics([metric.name])
            on_onnx.wait_until_open()
        on_onnx.forward_of.cache_clear()
        return values(other, examples)

    return score


WAYS: dict[str, Way] = {
    "again": values, "shuffled": shuffled, "alone": alone, "cached": cached, "threads": threads,
    "one thread": otherwise(1), "two threads": otherwise(2),
    "graph as it is": otherwise(optimised=False),
}
"""The ways to compute the scores again, by name."""


def differences(one: Values, other: Values) -> dict[str, Any]:
    pairs = list(zip(one, other, strict=True))
    return {
        "differ": sum(a != b for a, b in pairs),
        "scored_or_not": sum((a is None) != (b is None) for a, b in pairs),
        "largest": max(abs(a - b) for a, b in pairs if a is not None and b is not None),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--metrics", default="q2,scale,groundedness")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    examples = [row.example for row in read_annotated()][: given.rows]
    found: dict[str, Any] = {"rows": len(examples)}
    for metric in load_metrics(given.metrics.split(",")):
        first = values(metric, examples)
        for way in given.ways.split(","):
            found[f"{metric.name} {way}"] = differences(first, WAYS[way](metric, examples))
            print(metric.name, way, found[f"{metric.name} {way}"], flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
