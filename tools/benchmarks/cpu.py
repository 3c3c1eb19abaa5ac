"""Measures how settings of the bundled models on a CPU change speed, scores and agreement.

    python -m tools.benchmarks cpu [--rows N] [--turns T] [--choices NAME,...]
                                   [--agreement SET[:ROWS],...]

The NLI model judges the knowledge and responses of annotated Wizard of Wikipedia rows. The settings
are the number format, the number of threads, whether batches are sorted by length, and the batch
size in tokens. Each setting is timed in alternation with the default settings (float32). With
``--agreement``, the ROC-AUC against human labels is measured with float32 and with 8 bits, on
development sets in the folder that ``Q2_DATA_DIR`` names.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from sklearn.metrics import roc_auc_score

from q2_metric.data.readers import dev_files, read_annotated, read_dev
from q2_metric.english.parse import parser as spacy_parser
from q2_metric.models.batching import Budget
from q2_metric.models.bundled import models as bundled
from q2_metric.models.bundled.encoding import collate
from q2_metric.models.bundled.models import BundledEntailment
from q2_metric.processors import processors
from tools.benchmarks import harness

Pairs = list[tuple[str, str]]
LAYER = ((384, 1152), (384, 384), (384, 1536), (1536, 384))
"""The shapes of the weight matrices in a layer of the bundled networks."""
FORMATS = ("int8", "bfloat16")
"""Number formats besides float32. ONNX Runtime computes in the first, torch in the second."""


class Unsorted(BundledEntailment):
    """The NLI model with batches in the original order of the rows, not sorted by length."""

    def _run(self, rows: Any, forward: Any = None) -> list[Any]:
        size = 64
        return [
            logits
            for at in range(0, len(rows), size)
            for logits in (forward or self._forward)(collate(rows[at : at + size]))
        ]


def scores(model: BundledEntailment, pairs: Pairs) -> list[float]:
    return [verdict.entailment for verdict in model.judge(pairs)]


def apart(values: list[float], usual: list[float]) -> dict[str, float]:
    """How much the scores ``values`` differ from the scores ``usual`` of the default settings."""
    differences = np.abs(np.subtract(values, usual))
    return {
        "largest_difference": float(f"{differences.max():.2g}"),
        "mean_difference": float(f"{differences.mean():.2g}"),
        "correlation": round(float(np.corrcoef(values, usual)[0, 1]), 5),
    }


def products(turns: int) -> dict[str, Any]:
    """Times the matrix products of one layer over a batch, in float32 and in 8 bits.

    Both formats are timed in alternation, 8 bits ``turns`` times.
    """
    def work(dtype: str) -> Any:
        ready = [harness.onnx_product(dtype, bundled.BATCH_TOKENS, *shape) for shape in LAYER]
        return lambda: [product() for _ in range(8) for product in ready]

    slow, fast = work("float32"), work("int8")
    slow(), fast()
    return harness.alternate([(1, slow)] * (turns + 1), [(1, fast)] * turns)


def agreement(
    models: dict[str, BundledEntailment], name: str, rows: int | None
) -> dict[str, Any]:
    """The ROC-AUC of each model on a development set, and how its scores differ from those of the
    model "float32".

    Args:
        models: the models, by number format.
        name: name of the development set.
        rows: maximum number of rows; ``None`` for all.
    """
    found = read_dev(dev_files()[name], rows)
    pairs = [(row.example.knowledge, row.example.response) for row in found]
    truth = [row.consistent for row in found]
    values = {dtype: scores(model, pairs) for dtype, model in models.items()}
    usual = values["float32"]
    return {"rows": len(found), **{
        dtype: {"auc": round(100 * float(roc_auc_score(truth, scores)), 2), **apart(scores, usual)}
        for dtype, scores in values.items()}}


def choices(names: list[str]) -> dict[str, tuple[BundledEntailment, int]]:
    """By name of a setting: (model, maximum number of padded tokens in a batch).

    ``names`` are the settings to include; empty for all.
    """
    usual = bundled.BATCH_TOKENS
    made: dict[str, Any] = {
        **{dtype: lambda dtype=dtype: (BundledEntailment(dtype=dtype), usual)
           for dtype in FORMATS},
        "unsorted": lambda: (Unsorted(), usual),
        "one row a batch": lambda: (BundledEntailment(batch_size=1), usual),
        "one thread": lambda: (_on_one_thread(), usual),
        **{f"{tokens} tokens a batch": lambda tokens=tokens: (BundledEntailment(), tokens)
           for tokens in (256, 1024, 4096)},
    }
    return {name: make() for name, make in made.items() if not names or name in names}


def _on_one_thread() -> BundledEntailment:
    with mock.patch.object(bundled, "processors", return_value=1):
        return BundledEntailment()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--choices", default="", help="names of the settings; empty for all")
    parser.add_argument("--agreement", default="",
                        help="names of development sets, each with its number of rows")
    given = parser.parse_args()
    pairs = [(e.knowledge, e.response) for e in harness.responses(given.rows)]
    truth = [labelled.consistent for labelled in read_annotated()][: given.rows]
    default = BundledEntailment()
    usual = scores(default, pairs)
    parts = harness.slices(pairs, given.turns + 1)
    made = choices(list(filter(None, given.choices.split(","))))
    found: dict[str, Any] = {}
    for name, (model, tokens) in made.items():
        def run(part: Any, model: Any = model, tokens: int = tokens) -> list[float]:
            budget = Budget(tokens, model.budget.rows, step=model.budget.step)
            with mock.patch.object(model, "budget", budget):
                return scores(model, list(part))

        values = run(pairs)
        ratio = harness.alternate(
            harness.each(partial(scores, default), parts), harness.each(run, parts[1:]))
        found[name] = {**ratio, **apart(values, usual),
                       "auc": round(float(roc_auc_score(truth, values)), 4)}
        print(name, found[name], flush=True)
    formats = {"float32": default,
               **{name: model for name, (model, _) in made.items() if name == "int8"}}
    sets = [sample.partition(":") for sample in filter(None, given.agreement.split(","))]
    harness.save("cpu", {
        "pairs": len(pairs), "threads": processors(),
        "default_tokens": bundled.BATCH_TOKENS,
        "default_auc": round(float(roc_auc_score(truth, usual)), 4), "choices": found,
        "products": products(given.turns), **share(default, pairs, "float32"),
        "int8": share(formats["int8"], pairs, "int8") if "int8" in formats else None,
        "agreement": {name: agreement(formats, name, int(rows) if rows else None)
                      for name, _, rows in sets},
        "spacy_components": spacy_parser.load().pipe_names,
    })


def share(model: BundledEntailment, pairs: Pairs, dtype: str) -> dict[str, Any]:
    """The cost of judging all pairs once: tokens, operations, speed, memory, and which share of the
    CPU's matrix throughput is reached."""
    counted = harness.counted({"": model}, harness.Clock())
    rates = [harness.onnx_rate(dtype)]
    seconds = harness.timed(lambda: model.judge(pairs))
    rates.append(harness.onnx_rate(dtype))
    return {"tokens": round(sum(one.tokens for one in counted.values()) / len(pairs), 1),
            "responses_per_second": round(len(pairs) / seconds, 1),
            **harness.share_of_rate(sum(one.operations for one in counted.values()), seconds,
                                    sum(rates) / 2, dtype),
            "peak_memory_mb": harness.peak_memory_mb()}
