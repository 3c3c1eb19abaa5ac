"""How fast the bundled preset is, and how much batching by stage saves.

    python benchmarks/throughput.py [--rows N] [--loop-rows M] [--json FILE]

Scores the annotated Wizard of Wikipedia responses (``Q2_DATA_DIR`` or ``q2 data download
wow_q2``) with Q² and SCALE in one call; then a part of them one response at a time with
the same models, each model called for one item at a time, as the reference
implementations do. The ratio of the two rates is the claim; both are of this run.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from q2_metric import Q2, DataError, Example, Scale, __version__
from q2_metric.data.wow import read_annotated


class OneAtATime:
    """A model whose batch method is called for one item at a time, as often as asked."""

    def __init__(self, model: Any, method: str) -> None:
        self._model = model
        self._call = getattr(model, method)
        self.name = model.name
        self.prompt = getattr(model, "prompt", "")
        self.offsets = getattr(model, "offsets", None)
        setattr(self, method, self._each)

    def _each(self, items: Sequence[Any]) -> list[Any]:
        return [self._call([item])[0] for item in items]


def rate(examples: list[Example], *metrics: Any) -> float:
    """Responses a second through all metrics."""
    started = time.perf_counter()
    for metric in metrics:
        metric.score(examples)
    return len(examples) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1088)
    parser.add_argument("--loop-rows", type=int, default=100)
    parser.add_argument("--json")
    given = parser.parse_args()

    try:
        examples = [labelled.example for labelled in read_annotated()][: given.rows]
    except DataError as error:
        sys.exit(f"benchmark: {error}")
    q2, scale = Q2.from_preset("bundled"), Scale.from_preset("bundled")
    warm = [Example("it was made in 1990 .", "It was made in 1990 by Ann.")]
    rate(warm, q2, scale)
    together = rate(examples, q2, scale)

    looped_q2, looped_scale = Q2.from_preset("bundled"), Scale.from_preset("bundled")
    looped_q2.reader = OneAtATime(q2.reader, "read")
    looped_q2.entailment = OneAtATime(q2.entailment, "judge")
    looped_scale.backbone = OneAtATime(scale.backbone, "judge")
    # Other texts than those scored above, so that no tokens or parses are cached.
    part = [Example(e.response + " .", e.knowledge + " .") for e in examples[: given.loop_rows]]
    started = time.perf_counter()
    for example in part:
        looped_q2.score([example])
        looped_scale.score([example])
    alone = len(part) / (time.perf_counter() - started)

    def process(*arguments: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    bare = min(process("-c", "pass") for _ in range(5))
    twenty = Path(__file__).parents[1] / "examples" / "dialogues.jsonl"
    figures = {
        "responses": len(examples),
        "responses_per_second": round(together, 1),
        "one_at_a_time_per_second": round(alone, 2),
        "ratio": round(together / alone, 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "import_seconds": round(min(process("-c", "import q2_metric") for _ in range(5)) - bare, 3),
        "cold_score_of_twenty_seconds": round(min(
            process("-m", "q2_metric", "score", str(twenty)) for _ in range(3)), 2),
        "signatures": [q2.signature, scale.signature],
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "version": __version__,
    }
    for key, value in figures.items():
        print(f"{key:26} {value}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as out:
            json.dump(figures, out, indent=2)


if __name__ == "__main__":
    main()
