"""What each choice for the bundled models on a CPU brings, and what agreement it costs.

    python -m benchmarks cpu [--rows N] [--turns T]

The entailment model judges (knowledge, response) pairs of annotated Wizard of Wikipedia
responses: threads, batches by length against batches as they come, budgets of tokens, and
8-bit matrix products (ONNX Runtime's dynamic quantisation, needs ``pip install onnx``)
against float32. Each choice is timed in turn with the default.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness import alternate, responses, save, slices, threads
from q2_metric.data.wow import read_annotated
from q2_metric.models.batching import Budget
from q2_metric.models.bundled import models as bundled
from q2_metric.models.bundled import runtimes
from q2_metric.models.bundled.encoding import Batch, collate
from q2_metric.models.bundled.models import BundledEntailment
from q2_metric.models.english import parser as spacy_parser

Pairs = list[tuple[str, str]]


def int8(threads: int) -> Callable[[Batch], Any]:
    """The entailment network with its matrices in int8, activations quantised as they come."""
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load_model_from_string((runtimes.WEIGHTS / "entailment.onnx").read_bytes())
    values = {"words.weight": runtimes._words()}
    for name, value in runtimes.load_weights("entailment.").items():
        value = value.astype(np.float32)
        if value.ndim == 2 and not name.endswith(("types.weight", "positions.weight")):
            value = np.ascontiguousarray(value.T)
        values[name] = value
    for i, tensor in enumerate(model.graph.initializer):
        if tensor.name in values:
            filled = numpy_helper.from_array(values[tensor.name], tensor.name)
            model.graph.initializer[i].CopyFrom(filled)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save_model(model, source)
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True,
                         op_types_to_quantize=["MatMul"],
                         extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            target.read_bytes(), options, providers=["CPUExecutionProvider"])

    def forward(batch: Batch) -> Any:
        mask = (np.arange(batch.ids.shape[1]) < batch.lengths[:, None]).astype(np.int32)
        return session.run(["logits"], {"ids": batch.ids, "types": batch.types, "mask": mask,
                                        "query": batch.query})[0]

    return forward


class Unsorted(BundledEntailment):
    """Rows in the order in which they come."""

    def _run(self, rows: Any) -> list[Any]:
        size = 64
        return [
            logits
            for at in range(0, len(rows), size)
            for logits in self._forward(collate(rows[at : at + size]))
        ]


def scores(model: BundledEntailment, pairs: Pairs) -> list[float]:
    return [verdict.entailment for verdict in model.judge(pairs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    pairs = [(e.knowledge, e.response) for e in responses(given.rows)]
    truth = [labelled.consistent for labelled in read_annotated()][: given.rows]
    default = BundledEntailment("onnx")
    usual = scores(default, pairs)

    quantised = BundledEntailment("onnx")
    quantised._forward = int8(threads())
    choices: dict[str, BundledEntailment] = {
        "int8": quantised,
        "unsorted": Unsorted("onnx"),
        "one row a batch": BundledEntailment("onnx", batch_size=1),
        "one thread": BundledEntailment("onnx", threads=1),
    }
    found: dict[str, Any] = {}
    parts = slices(pairs, given.turns + 1)

    def compare(name: str, model: BundledEntailment, tokens: int = bundled.BATCH_TOKENS) -> None:
        def run() -> list[float]:
            with mock.patch.object(model, "budget", Budget(tokens)):
                return scores(model, pairs)

        values = run()
        ratio = alternate(
            [(len(part), lambda part=part: scores(default, list(part))) for part in parts],
            [(len(pairs), run)] * given.turns)
        apart = np.abs(np.subtract(values, usual))
        found[name] = {
            "speed_against_default": ratio["ratio"],
            "from": ratio["ratio_least"], "to": ratio["ratio_greatest"],
            "largest_difference": float(f"{apart.max():.2g}"),
            "mean_difference": float(f"{apart.mean():.2g}"),
            "correlation": round(float(np.corrcoef(values, usual)[0, 1]), 5),
            "auc": round(float(roc_auc_score(truth, values)), 4),
        }
        print(name, found[name], flush=True)

    for name, model in choices.items():
        compare(name, model)
    for tokens in (256, 1024, 4096):
        compare(f"{tokens} tokens a batch", default, tokens)
    save("cpu", {
        "pairs": len(pairs), "threads": threads(), "default_tokens": bundled.BATCH_TOKENS,
        "default_auc": round(float(roc_auc_score(truth, usual)), 4), "choices": found,
        "spacy_components": spacy_parser.load().pipe_names,
    })
