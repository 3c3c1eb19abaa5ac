"""Scores annotated WoW responses with published models, and compares our AUC with the papers'.

    python -m tools.benchmarks published_models [--presets paper-exact …] [--device cuda] [--rows N]

The benchmark downloads the models of each preset, and scores the 1,088 responses of ``wow_q2``
(``Q2_DATA_DIR`` or ``q2 data download wow_q2``). The preset ``paper-exact`` runs the models as the
authors did, so its results can be compared with the published ones. If a model cannot be
downloaded, the benchmark says so, continues with the other presets, and ends with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import read_annotated
from q2_metric.errors import Q2Error
from q2_metric.evaluation.published import value
from q2_metric.evaluation.statistics.auc import auc_interval
from q2_metric.metrics import load_metrics
from q2_metric.models.presets import PRESETS
from q2_metric.scoring.scores import score_rows

Row = dict[str, Any]


def some(rows: Sequence[Labelled], count: int | None) -> list[Labelled]:
    """``count`` evenly spaced rows; all rows if ``count`` is ``None``."""
    if count is None or count >= len(rows):
        return list(rows)
    return [rows[i * len(rows) // count] for i in range(count)]


def measured(
    preset: str, names: Sequence[str], rows: Sequence[Labelled], config: Mapping[str, Any]
) -> list[Row]:
    """Scores the rows with the metrics of a preset. Returns for each metric its ROC-AUC with a
    confidence interval, its signature and the seconds it took.

    ``config`` contains "device" and "dtype".
    """
    found: list[Row] = []
    for name in names:
        start = time.perf_counter()
        (metric,) = load_metrics([name], preset, **config)
        loaded = time.perf_counter()
        by_row = score_rows([metric], [row.example for row in rows])
        scores = [by_name[name].value for by_name in by_row]
        scored = [(row.consistent, value) for row, value in zip(rows, scores, strict=True)
                  if value is not None]
        auc = auc_interval(*zip(*scored, strict=True))
        found.append({
            "preset": preset, "metric": name, "rows": len(rows), "scored": len(scored),
            "auc": auc.value, "low": auc.low, "high": auc.high,
            "published": published_auc(preset, name),
            "load_s": round(loaded - start, 1),
            "score_s": round(time.perf_counter() - loaded, 1), "signature": metric.signature})
    return found


def published_auc(preset: str, metric: str) -> float | None:
    """The published ROC-AUC of a preset's models on these responses (SCALE, table 3); ``None`` if
    the paper has none."""
    size = PRESETS[preset].scale.model.rpartition("/")[2] if metric == "scale" else ""
    known = metric == "scale" or preset in ("paper", "paper-exact")
    return value("scale", 3, metric, size=size, data="q2", measure="ROC-AUC") if known else None


def line(row: Row) -> str:
    """The lines to print for a result, with the AUC times 100."""
    published = row["published"]
    beside = "      –        –" if published is None else (
        f"{100 * published:7.1f}  {100 * (row['auc'] - published):+7.1f}")
    return (f"{row['preset']:12} {row['metric']:6} {row['scored']:5}/{row['rows']:<5}"
            f"{100 * row['auc']:6.1f} ({100 * row['low']:.1f}–{100 * row['high']:.1f})  {beside}"
            f"  {row['score_s']:8.1f} s\n  {row['signature']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="+", default=["paper-exact", "paper", "paper-small",
                                                         "modern"])
    parser.add_argument("--metrics", nargs="+", default=["q2", "scale", "nli"])
    parser.add_argument("--rows", type=int, help="score only this many responses, evenly spaced")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", help="bfloat16 halves the memory; the default is float32")
    parser.add_argument("--json", type=Path, help="save the results to this file")
    given = parser.parse_args()
    try:
        rows = some(read_annotated(), given.rows)
    except Q2Error as error:
        sys.exit(str(error))
    config = {"device": given.device, "dtype": given.dtype}
    results: list[Row] = []
    failed = False
    print("preset       metric  scored        AUC (95 %)       published  difference")
    for preset in given.presets:
        try:
            found = measured(preset, given.metrics, rows, config)
        except Q2Error as error:
            failed = True
            print(f"{preset}: {error}", file=sys.stderr)
            continue
        results += found
        print("\n".join(map(line, found)), flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
