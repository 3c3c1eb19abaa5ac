"""``python -m tools.training --data FOLDER``: makes the shipped weights from public data.

Each network is trained in stages. A stage starts from the averaged weights of the stage before,
with a new schedule and more data.

- Reader: three stages.
- Entailment network: two stages, then two with Q²'s own answers (part "comparisons"), then two that
  see many more rows once (parts "general" and "contrasted").
- Wide entailment network: two stages from its own base model (part "wide") and two from the shipped
  weights ("wide-again", "wide-on"). After its first stage, it also learns from the scores of the
  small network.

The part "all" runs these stages. The other parts were tried, and their networks are not shipped:
"reordered" and "unanswered" continue the shipped networks, and "narrow" trains the small network on
the first pairs of the wide network. Each export also measures the ranges for 8 bits on training
texts. The part "ranges" does only that, for the shipped weights. A run that was killed resumes from
its last save. Two processes may train one network each.
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
