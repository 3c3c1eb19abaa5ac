"""Makes docs/results/gaming.md from the results of gaming.py and gaming_grpo.py.

    python -m tools.benchmarks gaming_page

The text above the tables is taken from docs/results/gaming.note.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from q2_metric.evaluation.tables import table_lines
from tools.benchmarks.gaming import OUT

METRICS = {"q2": "Q²", "scale": "SCALE", "groundedness": "groundedness"}


def tricks(found: Mapping[str, Any]) -> Iterator[str]:
    """Yields a table in Markdown for each kind of trick.

    A mean score is bold if it is at least that of the answers that people judged supported.
    """
    rows = found["tricks"]
    people = rows["supported"]
    for kind in dict.fromkeys(row["kind"] for row in rows.values()):
        lines = [
            [name, str(row["rows"]), *(
                f"**{row[metric]:.2f}**" if kind != people["kind"] and row[metric] >= people[metric]
                else f"{row[metric]:.2f}" for metric in METRICS), f"{row['no_claim']:.2f}"]
            for name, row in rows.items() if row["kind"] == kind
        ]
        yield "\n".join([f"## {kind[0].upper()}{kind[1:]}", "", *table_lines(
            ["answer", "rows", *METRICS.values(), "share that claims nothing"], lines)])


def learnt(found: Mapping[str, Any]) -> str:
    """A table in Markdown of the models that were trained with a score as the reward: what they say
    most often, and the mean scores of these answers on rows outside the training."""
    lines = [
        [METRICS[run.split(":")[0]], run.split(":")[1], str(trained["steps"]),
         f"{trained['mean_of_first_20_steps']:.2f}", f"{trained['mean_of_last_20_steps']:.2f}",
         "; ".join(f"{said.replace('<', '‹').replace('>', '›')} ({value:.2f})"
                   for said, value in trained["favourites_on_other_rows"].items())]
        for run, trained in found.get("learnt", {}).items()
    ]
    return "\n".join(["## Models that were trained with a score as the reward", "", *table_lines(
        ["reward", "model", "steps of training", "mean reward of the first 20 steps",
         "mean reward of the last 20 steps",
         "what the model says most at the end (mean score on rows outside the training)",
         ], lines)])


def page() -> str:
    """The text of the page, made from the files in docs/results."""
    found = json.loads(OUT.read_text(encoding="utf-8"))
    note = OUT.with_name("gaming.note.md").read_text(encoding="utf-8").strip()
    made = (
        f"`{found['command']}` on {found['date']}, {found['made']['rows']} rows of "
        f"{found['made']['set']}. The trained models are from an earlier run of "
        "`python -m tools.benchmarks gaming_grpo` (its date is given above). The signatures of the "
        "metrics:\n\n"
        + "\n".join(f"- `{signature}`" for signature in found["made"]["metrics"]))
    parts = ["# What fools the scores", note, *tricks(found), learnt(found), "## Made with", made]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    OUT.with_suffix(".md").write_text(page(), encoding="utf-8")
