"""``python -m tools.training --data FOLDER``: makes the shipped weights from public data.

Each network is trained in stages. A stage starts from the averaged weights of the stage before it,
with a new learning-rate schedule and more data.

- Reader: three stages.
- Small entailment network: two stages; then two with the pairs of answers that Q² compares (part
  "comparisons"); then two with many more rows, each seen about once (parts "general" and
  "contrasted"); then one on claims that were written for this project ("reading"); then three in
  which its lower layers learn to read claim and text apart ("once").
- Network that reads claims alone: one stage from the lower layers of the small entailment network
  ("statement").
- Wide entailment network: two stages from its own base model (part "wide"); then two from the
  shipped weights (parts "wide-again" and "wide-on"). From its second stage on, it also learns from
  the scores of the small network. The last two have the written claims ("reading-wide" and
  "reading-wide-again").

The part "all" runs these stages. The other parts were tried, but their networks are not shipped:
"reordered" and "unanswered" continue to train shipped networks. "narrow" and "deep" train a smaller
and a deeper network on the data of the wide network's first stage. "reading-wide-second" continues
the wide network on the second part of the written claims, and "asked" the reader on questions about
their sources. "reading-nine" trains nine layers: the wide network with three more of MPNet's, and
"reading-nine-again" goes on with it. Each export also measures the ranges for 8-bit computation on
training texts. A run that was killed resumes from its last save. Two processes may train different
networks at the same time.
"""

from __future__ import annotations

from pathlib import Path

import click

SHIPPED = ("reader", "entailment", "comparisons", "export", "general", "export-general",
           "contrasted", "export-contrasted", "wide", "export-wide", "wide-again",
           "export-wide-again", "wide-on", "export-wide-on", "reading-wide", "export-reading-wide",
           "reading", "export-reading", "reading-wide-again", "export-reading-wide-again",
           "once", "export-once", "statement", "export-statement")
TRIED = ("reordered", "export-reordered", "unanswered", "export-unanswered", "narrow", "deep",
         "reading-wide-second", "export-reading-wide-second", "asked", "export-asked",
         "reading-nine", "reading-nine-again")


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, groundedness2/, qa/, snli_*.tsv, begin_*.tsv, "
              "unlabelled/")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="folder for the states of training and for logs")
@click.option("--part", type=click.Choice([*SHIPPED, *TRIED, "all"]), default="all",
              show_default=True)
@click.option("--scale", default=1.0, show_default=True,
              help="factor for the number of training examples; 1 as for the shipped weights")
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=0, help="number of threads of torch; 0 for all")
@click.option("--seed", default=13, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="folder for the exported files; by default the package's own")
def main(data: Path, runs: Path, part: str, scale: float, device: str, threads: int, seed: int,
         out: Path | None) -> None:
    import torch

    from q2_metric.models.bundled.stored import WEIGHTS
    from tools.training.recipe import FROM_BASE, PARTS, Recipe

    if threads:
        torch.set_num_threads(threads)
    recipe = Recipe(data, runs, out or WEIGHTS, scale, torch.device(device), seed)
    if part in FROM_BASE:
        recipe.start_from_base()
    for name in SHIPPED if part == "all" else (part,):
        PARTS[name](recipe)
        click.echo(f"{name}: done")


if __name__ == "__main__":
    main()
