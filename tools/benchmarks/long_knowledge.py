"""Measures what SCALE gains and loses if it reads only the nearest chunks of long knowledge.

    python -m tools.benchmarks long_knowledge [--words 1500] [--documents N] [--turns T]
                                              [--agreement SET[:ROWS],...]

The nearest chunks are those that are most similar to a claim. The speed with all chunks and the
speed with the nearest chunks are measured in alternation, with the bundled model, on documents made
of Wizard of Wikipedia knowledge. Agreement is measured on sets in the folder that ``Q2_DATA_DIR``
names (development sets, or sets of TRUE): the ROC-AUC of both ways, and for how many sentences both
find the same best chunk.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from q2_metric import Example, Scale
from q2_metric.data.readers import Labelled, dev_files, read_dev, read_true
from q2_metric.types import Judgement, Score
from tools.benchmarks import harness

SEED = 11


def documents(words: int, count: int) -> list[Example]:
    """``count`` responses, each with a document of about ``words`` words as knowledge.

    The document contains the response's own knowledge and that of other responses, in random order.
    """
    everything = harness.responses()
    rng = random.Random(SEED)
    padded = []
    for example in rng.sample(everything, count):
        texts, size = [example.knowledge], 0
        while size < words:
            texts.append(rng.choice(everything).knowledge)
            size += len(texts[-1].split())
        rng.shuffle(texts)
        padded.append(Example(example.response, " ".join(texts)))
    return padded


def rows(name: str) -> list[Labelled]:
    """The rows of a labelled set: all ("NAME"), or a random sample ("NAME:ROWS")."""
    name, _, limit = name.partition(":")
    files = dev_files()
    labelled = list(read_dev(files[name]) if name in files else read_true(name))
    if not limit:
        return labelled
    return random.Random(SEED).sample(labelled, min(len(labelled), int(limit)))


def agreement(name: str, whole: Scale, part: Scale) -> dict[str, Any]:
    """The ROC-AUC of SCALE with all chunks (``whole``) and with the nearest chunks (``part``) on a
    set, and for which share of the sentences both find the same best chunk."""
    labelled = rows(name)
    examples = [row.example for row in labelled]
    every, few = whole.score(examples), part.score(examples)
    kept = [i for i, (a, b) in enumerate(zip(every, few, strict=True))
            if a.value is not None and b.value is not None]
    truth = [labelled[i].consistent for i in kept]
    sentences = [(a, b) for i in kept for a, b in zip(_of(every[i]), _of(few[i]), strict=True)]
    return {
        "rows": len(kept),
        "words": round(float(np.mean([len(e.knowledge.split()) for e in examples]))),
        "auc_all": round(100 * roc_auc_score(truth, [every[i].value for i in kept]), 1),
        "auc_nearest": round(100 * roc_auc_score(truth, [few[i].value for i in kept]), 1),
        "same_best_chunk": round(float(np.mean([b >= a - 1e-6 for a, b in sentences])), 3),
    }


def _of(score: Score) -> list[float]:
    return [item.support for item in score.evidence if isinstance(item, Judgement)]


def cost(scale: Scale, examples: list[Example]) -> dict[str, Any]:
    """The tokens, seconds and memory that scoring the examples takes, without evidence."""
    passes = harness.counted({"backbone": scale.backbone}, harness.Clock()).values()
    rate = harness.onnx_rate()
    seconds = harness.timed(lambda: scale.score(examples))
    return {"tokens": round(sum(forward.tokens for forward in passes) / len(examples), 1),
            **harness.share_of_rate(sum(forward.operations for forward in passes), seconds, rate,
                                    "float32"),
            "peak_memory_mb": harness.peak_memory_mb()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=1500)
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--agreement", default="",
                        help="names of labelled sets, each with its number of rows")
    given = parser.parse_args()
    whole = Scale.from_preset("bundled", top_chunks=0)
    part = Scale.from_preset("bundled")
    long = documents(given.words, given.documents)
    for metric in (whole, part):
        metric.score(long[:1], evidence=True)
    parts = harness.slices(long, 1) * (given.turns + 1)
    figures: dict[str, Any] = {"signature": part.signature, "words": given.words,
                               "documents": len(long)}
    for name, evidence in (("scores", False), ("with_support", True)):
        def work(scale: Scale, texts: Any, evidence: bool = evidence) -> Any:
            return lambda: scale.score(list(texts), evidence=evidence)

        figures[name] = harness.alternate([(len(block), work(whole, block)) for block in parts],
                                          [(len(block), work(part, block)) for block in parts[1:]])
    figures |= cost(Scale.from_preset("bundled"), long)
    figures["agreement"] = {
        name.partition(":")[0]: agreement(name, whole, part)
        for name in filter(None, given.agreement.split(","))}
    harness.save("long-knowledge", figures)
