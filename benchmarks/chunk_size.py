"""Chooses SCALE's chunk size for the bundled backbone on held-out training sources.

    python benchmarks/chunk_size.py TRAINING_DATA [--sizes 100,150,200,256]

ROC-AUC by source, over the development share of the sources whose premises are long.
The evaluation sets play no part.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from q2_metric import Example, Scale
from training.entailment_data import RATES
from training.examples import held_out, read_jsonl

LONG = ("bump", "cg2c_doc", "cliff", "dialsummeval", "faceval", "faithdial_audit_topical", "fib",
        "summedits", "wice_claims")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", default="100,150,200,256")
    parser.add_argument("--rows", type=int, default=120)
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    found = []
    for name in LONG:
        assert name in RATES
        rows = [row for row in read_jsonl(given.data / "groundedness" / f"{name}.jsonl.gz")
                if held_out(row["premise"])]
        rows = random.Random(0).sample(rows, min(given.rows, len(rows)))
        truth = [row["label"] == "supported" for row in rows]
        if len(rows) < 15 or len(set(truth)) < 2:
            continue
        examples = [Example(row["hypothesis"], row["premise"]) for row in rows]
        line = []
        for size in sizes:
            scores = Scale.from_preset(chunk_size=size).score(examples)
            line.append(roc_auc_score(truth, [score.value or 0.0 for score in scores]))
        found.append(line)
        print(f"{name:26} {len(rows):4}", *(f"{value:.3f}" for value in line), flush=True)
    print(f"{'mean':26} {'':4}", *(f"{value:.3f}" for value in np.mean(found, axis=0)))
    print(f"{'chunk size':26} {'':4}", *(f"{size:5}" for size in sizes))


if __name__ == "__main__":
    main()
