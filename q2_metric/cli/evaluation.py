"""``q2 meta-eval`` measures how well metrics agree with human labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from q2_metric.cli import experiments
from q2_metric.cli.commands import Group, Read
from q2_metric.metrics.registry import METRICS

if TYPE_CHECKING:
    from q2_metric.evaluation.agreement import Sets
    from q2_metric.evaluation.scores import ScoreColumns


@click.group("meta-eval", cls=Group)
def meta_eval() -> None:
    """Measure how well metrics agree with human labels."""


@meta_eval.command("true")
@click.argument("sets", metavar="[SET|FILE]...", nargs=-1, type=Read())
@click.option("--against", metavar="METRIC",
              help="The metric to compare with.  [default: knowledge_f1]")
@experiments.EXPERIMENT_OPTIONS
def true(sets: tuple[str, ...], against: str | None, **options: Any) -> None:
    """Measure ROC-AUC, significance and calibration on each set of the benchmark TRUE.

    Two measures of word overlap are always added to the metrics: token F1, and the share of the
    response's content words that occur in the knowledge.

    A SET is a name that "q2 data list" shows as true/SET. A FILE is a csv with the columns
    grounding, generated_text and label (1 = consistent). The default is all sets on this machine.
    """
    from q2_metric.evaluation import agreement

    experiments.check(options, "true")
    read = agreement.read_sets(sets or agreement.sets_here())
    columns = _beside_overlap(read, options)
    experiments.finish(agreement.on_true(columns, read, against=against), options)


@meta_eval.command("dev")
@click.option("--limit", type=click.IntRange(min=2), metavar="N",
              help="Read at most N rows of each set.")
@experiments.EXPERIMENT_OPTIONS
def dev(limit: int | None, **options: Any) -> None:
    """Measure ROC-AUC and calibration on development sets, beside simple word overlap.

    The sets are the files dev/*.jsonl.gz in the folder that Q2_DATA_DIR names. Token F1 and the
    share of content words are always added to the metrics, as in "q2 meta-eval true".
    """
    from q2_metric.data.readers import dev_files, read_dev
    from q2_metric.evaluation import agreement

    experiments.check(options, "dev")
    sets = {name: read_dev(path, limit) for name, path in dev_files().items()}
    experiments.finish(agreement.on_dev(_beside_overlap(sets, options), sets), options)


def _beside_overlap(sets: Sets, options: dict[str, Any]) -> ScoreColumns:
    """The columns of the metrics that were asked for, and of word overlap."""
    from q2_metric.evaluation.agreement import COUNTS

    asked = {*options["metrics"], *COUNTS}
    options["metrics"] = [name for name in METRICS if name in asked]
    rows = [row.example for labelled in sets.values() for row in labelled]
    return experiments.columns_of(options, rows)
