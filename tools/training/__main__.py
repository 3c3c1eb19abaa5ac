"""``python -m tools.training --data FOLDER``: from public data to the shipped weights.

Each network is trained in stages, each from the averaged weights of the one before with a new
schedule and further data: the reader in three; the entailment network in two, with both exported
in two more (the part "comparisons") that add the answers that Q² compares, and from the shipped
weights in two more (the parts "general" and "contrasted") that meet many further rows once. The
wide entailment network has two stages from a base model of its own (the part "wide") and two from
the shipped weights ("wide-again", "wide-on"); in all but the first it also learns from what the
narrow one says. "all" are these. The other parts were tried and are not shipped: "reordered" and
"unanswered" take the shipped networks a stage further, "narrow" trains that width on the pairs
that the wide one meets first. Every export also takes the ranges that computing in 8 bits needs
from training texts; the part "ranges" does that alone, for the shipped weights. A run that was
killed goes on after its last save. Two processes may train one network each.
"""

from __future__ import annotations

from pathlib import Path

import click

SHIPPED = ("reader", "entailment", "comparisons", "export", "general", "export-general",
           "contrasted", "export-contrasted", "wide", "export-wide", "wide-again",
           "export-wide-again", "wide-on", "export-wide-on", "ranges")
TRIED = ("reordered", "export-reordered", "unanswered", "export-unanswered", "narrow",
         "deep")


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True,
              help="folder with groundedness/, groundedness2/, qa/, snli_*.tsv, begin_*.tsv, "
              "unlabelled/")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="where states and logs are kept")
@click.option("--part", type=click.Choice([*SHIPPED, *TRIED, "all"]), default="all",
              show_default=True)
@click.option("--scale", default=1.0, show_default=True,
              help="times the examples of the shipped weights")
@click.option("--device", default="cpu", show_default=True)
@click.option("--threads", default=0, help="of torch; 0: all")
@click.option("--seed", default=13, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="where the exported files go; the package's own folder by default")
def main(data: Path, runs: Path, part: str, scale: float, device: str, threads: int, seed: int,
         out: Path | None) -> None:
    import torch

    from q2_metric.models.bundled.stored import WEIGHTS
    from tools.training.recipe import OWN_START, PARTS, Recipe

    if threads:
        torch.set_num_threads(threads)
    recipe = Recipe(data, runs, out or WEIGHTS, scale, torch.device(device), seed)
    if part not in OWN_START:
        recipe.start_from_base()
    for name in SHIPPED if part == "all" else (part,):
        PARTS[name](recipe)
        click.echo(f"{name}: done")


if __name__ == "__main__":
    main()
