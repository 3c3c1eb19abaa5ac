"""Measures how cost grows with rows, with the length of knowledge or response, and with actors.

    python -m tools.benchmarks growth FOLDER [--quick] [--only SERIES]...

Most costs are processor seconds of one process, because other processes on the machine change them
little. The cost of Ray's actors is measured in wall-clock seconds, with a metric that only waits;
the time beyond the waiting is the cost of Ray. Each series of costs is fitted by cost = c *
size^slope. With slope 1, twice the size costs twice as much. The benchmark writes ``growth.json``
and the figure ``growth.svg`` to FOLDER.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from q2_metric import Q2, Example, Scale
from q2_metric.engine.job import Job, LoadedJob
from q2_metric.models.bundled.encoding import Batch
from q2_metric.rows.columns import Columns
from q2_metric.types import Score

COUNTS = "knowledge_f1,knowledge_bleu"
"""Metrics that only count words, without a model."""

WAIT = 0.5
"""Seconds for which :class:`Waiting`, a metric that only waits, waits in each block of rows."""


@dataclass(frozen=True)
class GrowthPanel:
    """A panel of the figure: the costs in seconds for inputs of several sizes.

    - ``title``: title of the panel.
    - ``size``: what the sizes count, such as "rows".
    - ``sizes``, ``seconds``: the sizes, and the cost of each.
    """

    title: str
    size: str
    sizes: Sequence[float]
    seconds: Sequence[float]

    @property
    def slope(self) -> float:
        """The exponent of the cost, fitted by least squares to the larger half of the sizes.

        The cost of small sizes is mostly the cost of starting.
        """
        half = len(self.sizes) // 2
        x, y = np.log(self.sizes[half:]), np.log(self.seconds[half:])
        return float(np.polyfit(x, y, 1)[0])


def processor_seconds(work: Callable[[], object]) -> float:
    """The processor seconds that this process uses for a call of ``work``."""
    started = time.process_time()
    work()
    return time.process_time() - started


def rows(sizes: Sequence[int]) -> tuple[GrowthPanel, list[int]]:
    """Measures ``q2 score`` with :data:`COUNTS` on files of several numbers of rows.

    Each runs in its own process. Returns the panel, and the peak memory in MB for each file.
    """
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "rows.jsonl"
            with open(path, "w", encoding="utf-8") as file:
                for i in range(size):
                    said = f"Row {i} has {i % 7} hills and {i % 11} rivers, said Ann in {i}."
                    file.write(json.dumps({"response": said, "knowledge": said * 3}) + "\n")
            code = (
                "import sys, resource; from q2_metric.cli.main import main\n"
                "main(sys.argv[1:], standalone_mode=False)\n"
                "used = resource.getrusage(resource.RUSAGE_SELF)\n"
                "print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)\n"
            )
            command = ["score", str(path), "--metrics", COUNTS, "--no-cache", "--quiet",
                       "--out", str(Path(folder) / f"{size}.jsonl")]
            done = subprocess.run([sys.executable, "-c", code, *command],
                                  capture_output=True, text=True, check=True)
            used, peak = done.stdout.split()
            seconds.append(float(used))
            memory.append(int(peak))
    return GrowthPanel("rows (token F1 and BLEU)", "rows", sizes, seconds), memory


def knowledge(sizes: Sequence[int]) -> list[GrowthPanel]:
    """Measures the cost of SCALE by the number of tokens in the knowledge.

    Returns two panels: without and with evidence.
    """
    metric = Scale.from_preset("bundled")
    example = "the river runs past 7 hills . it is long ."
    found = []
    for evidence in (False, True):
        seconds = []
        for size in sizes:
            # Each sentence has ten tokens. All are different, because equal chunks are judged once.
            texts = [f"Person {i} was born in the year {i} ." for i in range(size // 10)]
            padded = Example(example, " ".join(texts))
            seconds.append(processor_seconds(
                lambda padded=padded, e=evidence: metric.score([padded], evidence=e)))  # type: ignore[misc]
        title = "SCALE, knowledge" + (", with evidence" if evidence else "")
        found.append(GrowthPanel(title, "tokens of knowledge", sizes, seconds))
    return found


def responses(sizes: Sequence[int], recipe: str) -> tuple[GrowthPanel, list[int]]:
    """Measures the cost of Q² by the number of characters in the response.

    ``recipe`` is that of Q². Returns the panel, and for each size
    the number of tokens that the reader read.
    """
    metric = Q2.from_preset("bundled", recipe=recipe)
    tokens: list[int] = []
    forward = metric.reader._forward  # type: ignore[attr-defined]

    def counted(batch: Batch) -> Any:
        tokens[-1] += int(batch.lengths.sum())
        return forward(batch)

    metric.reader._forward = counted  # type: ignore[attr-defined]
    known = "In 1907 Person 7 moved to Town 7 and had 9 horses ."
    seconds = []
    for size in [100, *sizes]:  # the first call also loads the models
        # Different sentences of about fifty characters.
        said = " ".join(
            f"In {1900 + i} Person {i} moved to Town {i % 97} and had {i + 2} horses."
            for i in range(size // 45)
        )[:size]
        tokens.append(0)
        seconds.append(processor_seconds(lambda said=said: metric.score([Example(said, known)])))  # type: ignore[misc]
    title = "Q², response" + ("" if recipe == "bundled" else ", read whole")
    return GrowthPanel(title, "characters of the response", sizes, seconds[1:]), tokens[1:]


class Waiting:
    """A metric that only waits, without using the processor."""

    name, signature = "knowledge_f1", "knowledge_f1|version:waiting"

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """Waits, and returns the score 0.5 for each example."""
        time.sleep(WAIT)
        return [Score(example, 0.5) for example in examples]


class WaitingJob(Job):
    """A job whose only metric is :class:`Waiting`."""

    def load(self, warn: Callable[[str], None] | None = None) -> LoadedJob:
        """Returns the job with its only metric, :class:`Waiting`."""
        return LoadedJob([Waiting()])


def actors(sizes: Sequence[int], blocks: int) -> GrowthPanel:
    """Measures the wall-clock seconds in which several numbers of Ray actors score ``blocks``
    blocks. The time to start the actors is not included."""
    from q2_metric.engine.cluster import Cluster, connect, scored

    seconds = []
    for size in sizes:
        cluster = Cluster(actors=size)
        ray = connect(cluster)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.jsonl"
            row = json.dumps({"response": "r", "knowledge": "k"}) + "\n"
            path.write_text(row * blocks * 256)
            job = WaitingJob((str(path),), Columns(), ("knowledge_f1",))
            arrived = [time.monotonic() for _ in scored(job, cluster, 0)]
        # The time runs from the first block of each actor to the last block of all actors.
        seconds.append((arrived[-1] - arrived[size - 1]) * blocks / (blocks - size))
        ray.shutdown()
    return GrowthPanel(f"Ray, {blocks} blocks that wait {WAIT} s each", "actors", sizes, seconds)


def draw(series: Sequence[GrowthPanel], path: Path) -> None:
    """Draws the panels on logarithmic axes, with their slopes, to the file ``path``."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(series), figsize=(3.4 * len(series), 3.2), squeeze=False)
    for axis, panel in zip(axes[0], series, strict=True):
        axis.loglog(panel.sizes, panel.seconds, "o-", color="#3b6ea5")
        axis.set_title(f"{panel.title}\nslope {panel.slope:.2f}", fontsize=9)
        axis.set_xlabel(panel.size, fontsize=9)
        axis.set_ylabel("seconds", fontsize=9)
        axis.grid(True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)


Measured = Iterator[tuple[GrowthPanel, dict[str, Any]]]


def _rows(less: int) -> Measured:
    series, memory = rows([2000 * 2**i for i in range(7 - less)])
    yield series, {"peak_memory_mb": memory}


def _knowledge(less: int) -> Measured:
    for series in knowledge([250 * 2**i for i in range(7 - less)]):
        yield series, {}


def _responses(less: int) -> Measured:
    for recipe, steps in (("bundled", 5), ("paper", 3)):
        series, tokens = responses([500 * 2**i for i in range(max(2, steps - less))], recipe)
        yield series, {"tokens_read": tokens}


def _actors(_less: int) -> Measured:
    yield actors([1, 2, 4], 24), {}


CASES: dict[str, Callable[[int], Measured]] = {
    "rows": _rows, "knowledge": _knowledge, "responses": _responses, "actors": _actors,
}
"""By name of a series, the function that measures it. Its argument says how many of the largest
sizes are left out."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="Use small sizes, to try it out.")
    parser.add_argument("--only", action="append", choices=list(CASES),
                        help="Measure only this series; may be repeated.")
    given = parser.parse_args()
    series: list[GrowthPanel] = []
    figures: dict[str, Any] = {}
    for name in given.only or CASES:
        for panel, more in CASES[name](3 if given.quick else 0):
            series.append(panel)
            figures[panel.title] = {
                panel.size: list(panel.sizes), "seconds": [round(s, 2) for s in panel.seconds],
                "slope": round(panel.slope, 2), **more,
            }
    figures["peak_memory_mb_of_this"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "growth.json").write_text(json.dumps(figures, indent=1) + "\n")
    draw(series, given.folder / "growth.svg")
    print(json.dumps(figures, indent=1))
