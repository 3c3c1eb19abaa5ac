"""The figures that README, metric card and docs quote: one place, and the pages filled from it.

``docs/results/figures.json`` has ``name -> {value, command, date}``. What a benchmark or an
experiment measured is taken from the JSON that it left in ``docs/results``; what was read off by
hand stands in the file and stays. A quoted figure is followed by its mark::

    25.4<!-- figure: speed.responses --> responses a second

    python -m tools.benchmarks quoted      # after new results: writes figures.json and the pages

The README's first result is what its command prints, put there likewise.

``tests/docs/test_figures.py`` fails where a page or the file says something else.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
FIGURES = RESULTS / "figures.json"
# The value just before a mark: a number or a date, and the interval or range behind it.
MARKED = re.compile(
    r"(?P<value>\d[\d.,e-]*(?: [\[(][^\])]+[\])])?)(?P<mark><!-- figure: (?P<name>[\w.-]+) -->)"
)
MARK = re.compile(r"<!-- figure: ")
# The README's first result: its command, what it prints, and the end of the block.
RESULT = re.compile(r"^\$ q2 (?P<words>explain .*?[^\\])\n(?P<printed>.*?)(?=^```)", re.M | re.S)
COLUMNS = "80"
METRICS = {
    "q2": "Q²",
    "q2_no_nli": "Q² without NLI",
    "scale": "SCALE",
    "groundedness": "groundedness",
    "knowledge_f1": "token F1",
    "word_share": "content words found",
    "knowledge_bleu": "BLEU",
    "nli": "end-to-end NLI",
}
GAMING = {
    "supported": "supported",
    "copy": "copy",
    "repeated": "copy of the first sentence, five times",
    "denied": "said to be false",
}
EGR = "bundled-selection-v1 + EGR (exact, margin 0.5)"

Figure = dict[str, str]
"""``value``, ``command`` and ``date`` of one figure."""


def pages() -> list[Path]:
    """The pages that may quote figures (those of ``docs/results`` are where they come from)."""
    return [ROOT / "README.md", ROOT / "hf_metric_card" / "README.md",
            *sorted((ROOT / "docs").glob("*.md"))]


def read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def table(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of one table of an experiment, by the titles of its columns."""
    (made,) = (made for made in found["tables"] if made["name"] == name)
    titles = [column["title"] for column in made["columns"]]
    return [dict(zip(titles, row, strict=True)) for row in made["rows"]]


def hundred(cell: dict[str, float]) -> str:
    """``73.2 [70.3, 76.1]``."""
    value, low, high = (100 * cell[key] for key in ("value", "low", "high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def agreement() -> Iterator[tuple[str, Figure]]:
    """AUC by metric and set, and what the Wizard of Wikipedia says of Q² at 0.5."""
    yield from _aucs("auc", "true.json")
    yield from _aucs("dev", "dev.json")
    wow = read("wow.json")
    facts = {key: wow["facts"][key] for key in ("command", "date")}
    yield "date.agreement", {"value": facts["date"], **facts}
    for row in table(wow, "absolute"):
        if row["responses are"] != "random":
            value = f"{row['Q²']:.3f}"
            name = f"wow.q2.{row['system'].lower()}.{row['responses are']}"
            yield name, {"value": value, **facts}


def _aucs(prefix: str, file: str) -> Iterator[tuple[str, Figure]]:
    found = read(file)
    facts = {key: found["facts"][key] for key in ("command", "date")}
    rows = {row["metric"]: row for row in table(found, "auc")}
    for name, title in METRICS.items():
        for key, cell in rows.get(title, {}).items():
            if isinstance(cell, dict):
                yield f"{prefix}.{name}.{key}", {"value": hundred(cell), **facts}


def ratio(found: dict[str, float]) -> str:
    """``4.1 (3.8–4.6)``: the median of the turns, the least and the greatest."""
    return f"{found['ratio']:.1f} ({found['ratio_least']:.1f}–{found['ratio_greatest']:.1f})"


def speed() -> Iterator[tuple[str, Figure]]:
    """What ``make bench`` measured, what all of the matrix rate would bring, the share reached."""
    bundled, int8, small, small_int8, q2, scale = (
        read(f"speed/{name}.json") for name in
        ("bundled", "bundled-int8", "bundled-small", "bundled-small-int8", "q2", "scale"))
    of_bundled, of_int8, of_q2, of_scale = (
        one["share_of_matmul_rate"] for one in (bundled, int8, q2, scale))
    loop, q2_loop = bundled["against_the_loop"], q2["against_the_loop"]
    for name, value, run in (
        ("date.speed", bundled["machine"]["date"], bundled),
        ("speed.responses", f"{bundled['responses_per_second']:.1f}", bundled),
        ("speed.responses.all", f"{bundled['responses_per_second'] / of_bundled:.0f}", bundled),
        ("speed.responses.share", f"{100 * of_bundled:.0f}", bundled),
        ("speed.loop", ratio(loop), bundled),
        ("speed.loop.all", f"{loop['ratio'] / of_bundled:.1f}", bundled),
        ("speed.memory", f"{bundled['peak_memory_mb']:.0f}", bundled),
        ("speed.import", f"{bundled['import_seconds']:.3f}", bundled),
        ("speed.cold", f"{bundled['cold_score_of_twenty_seconds']:.1f}", bundled),
        ("speed.loop_torch", ratio(q2_loop), q2),
        ("speed.loop_torch.all", f"{q2_loop['ratio'] / of_q2:.1f}", q2),
        ("speed.loop_torch.share", f"{100 * of_q2:.0f}", q2),
        ("speed.scale_score", ratio(scale["against_scale_score"]), scale),
        ("speed.scale_score.all", f"{scale['against_scale_score']['ratio'] / of_scale:.1f}", scale),
        ("speed.scale_score.share", f"{100 * of_scale:.0f}", scale),
        ("speed.int8", ratio(int8["against_float32"]), int8),
        ("speed.int8.responses", f"{int8['responses_per_second']:.1f}", int8),
        ("speed.int8.responses.all", f"{int8['responses_per_second'] / of_int8:.0f}", int8),
        ("speed.int8.responses.share", f"{100 * of_int8:.0f}", int8),
        ("speed.int8.memory", f"{int8['peak_memory_mb']:.0f}", int8),
        ("speed.int8.cold", f"{int8['cold_score_of_twenty_seconds']:.1f}", int8),
        ("speed.small.responses", f"{small['responses_per_second']:.1f}", small),
        ("speed.small.int8.responses", f"{small_int8['responses_per_second']:.1f}", small_int8),
    ):
        yield name, {"value": value, "command": run["command"], "date": run["machine"]["date"]}


def gaming() -> Iterator[tuple[str, Figure]]:
    """Means of people's supported answers and of three tricks."""
    found = read("gaming.json")
    facts = {key: found[key] for key in ("command", "date")}
    for slug, name in GAMING.items():
        for metric in ("q2", "scale", "groundedness"):
            value = f"{found['tricks'][name][metric]:.2f}"
            yield f"gaming.{slug}.{metric}", {"value": value, **facts}


def knowledge() -> Iterator[tuple[str, Figure]]:
    """R@1 and R@5 in percent of the bundled ranker with EGR, and of BM25."""
    found = read("knowledge.json")
    rows = {row["ranker"]: row["figures"]["all"] for row in found["rows"]}
    facts = {key: found[key] for key in ("command", "date")}
    for name, ranker in (("egr", EGR), ("bm25", "bm25")):
        for key in ("r1", "r5"):
            value = f"{100 * rows[ranker][key]:.1f}"
            yield f"knowledge.{name}.{key}", {"value": value, **facts}


def measured() -> dict[str, Figure]:
    """All figures that stand in the JSON of a benchmark or an experiment."""
    return dict([*agreement(), *speed(), *knowledge(), *gaming()])


def filled(text: str, figures: dict[str, Figure]) -> str:
    """The text with the figure before each mark; KeyError for a name that is no figure."""
    return MARKED.sub(lambda m: figures[m["name"]]["value"] + m["mark"], text)


def first_result(readme: str) -> re.Match[str]:
    """Where the README's first result stands."""
    found = RESULT.search(readme)
    if found is None:
        raise SystemExit("README.md has no block with $ q2 explain")
    return found


def printed(words: str) -> str:
    """What ``q2 explain …`` prints."""
    command = [sys.executable, "-m", "q2_metric", *shlex.split(words.replace("\\\n", " "))]
    environment = {**os.environ, "COLUMNS": COLUMNS, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def main() -> None:
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    figures = dict(sorted({**kept, **measured()}.items()))
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    FIGURES.write_text(text + "\n", encoding="utf-8")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text, figures), encoding="utf-8")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = first_result(text)
    text = text[: found.start("printed")] + printed(found["words"]) + text[found.end("printed") :]
    readme.write_text(text, encoding="utf-8")
