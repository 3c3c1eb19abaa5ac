"""How well the metrics agree with people, on the annotated sets.

    python benchmarks/agreement.py [--sets q2,…] [--metrics q2,scale,f1,bleu,nli] [--json FILE]

ROC-AUC with a 95 % bootstrap interval (1,000 resamples of responses, seed 0) on the TRUE
sets, accuracy of Q² at 0.5 (0.5 itself is inconsistent), coverage; and the mean scores of
the 4 x 150 selected Wizard of Wikipedia responses. Data: ``Q2_DATA_DIR``, or downloaded.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from q2_metric.data.labelled import Labelled
from q2_metric.data.true import read_true
from q2_metric.data.wow import read_selected
from q2_metric.metrics import load_metrics
from q2_metric.types import Score

SETS = ("q2", "dialfact_a", "summeval", "qags_cnndm")


def auc(truth: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """ROC-AUC and its 95 % bootstrap percentile interval."""
    rng = np.random.default_rng(0)
    drawn = []
    while len(drawn) < 1000:
        rows = rng.integers(0, len(truth), len(truth))
        if 0 < truth[rows].sum() < len(rows):
            drawn.append(roc_auc_score(truth[rows], values[rows]))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(roc_auc_score(truth, values)), float(low), float(high)


def values_of(scores: list[Score], no_nli: bool = False) -> np.ndarray:
    """The scores; 0.5 where there is none."""
    found = [score.no_nli if no_nli else score.value for score in scores]
    return np.array([0.5 if value is None else value for value in found])


def measure(rows: list[Labelled], metrics: list[Any]) -> dict[str, Any]:
    """AUC by metric, and what else there is to say of Q²."""
    truth = np.array([row.consistent for row in rows])
    result: dict[str, Any] = {"responses": len(rows), "consistent": int(truth.sum())}
    for metric in metrics:
        started = time.perf_counter()
        scores = metric.score([row.example for row in rows])
        result[metric.name] = auc(truth, values_of(scores))
        result[f"{metric.name}_seconds"] = round(time.perf_counter() - started, 1)
        if metric.name == "q2":
            result["q2_no_nli"] = auc(truth, values_of(scores, no_nli=True))
            result["q2_accuracy"] = float(((values_of(scores) > 0.5) == truth).mean())
            result["q2_coverage"] = float(np.mean([bool(score.because) for score in scores]))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--metrics", default="q2,scale,f1,bleu,nli")
    parser.add_argument("--preset", default="bundled")
    parser.add_argument("--json")
    given = parser.parse_args()
    metrics = load_metrics(given.metrics.split(","), given.preset)
    found: dict[str, Any] = {"signatures": [metric.signature for metric in metrics]}
    for name in given.sets.split(","):
        if name == "wow_q2":
            rows = read_selected()
            for metric in metrics:
                scores = values_of(metric.score([row.example for row in rows]))
                for system in ("dodeca", "memnet"):
                    for consistent in (True, False):
                        part = [(row.system, row.consistent) == (system, consistent)
                                for row in rows]
                        kind = "consistent" if consistent else "inconsistent"
                        found[f"{system} {kind} {metric.name}"] = round(
                            float(scores[part].mean()), 3)
        else:
            found[name] = measure(read_true(name), metrics)
        print(json.dumps({k: v for k, v in found.items() if k == name or name == "wow_q2"},
                         indent=1), flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as out:
            json.dump(found, out, indent=1)


if __name__ == "__main__":
    main()
