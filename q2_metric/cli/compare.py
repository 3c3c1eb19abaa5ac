"""``q2 compare`` sets the scores of several systems side by side, with significance tests."""

from contextlib import ExitStack
from dataclasses import replace

import click

from q2_metric.cli.commands import Read, command, warn
from q2_metric.cli.experiments import FORMAT_OPTION, facts, print_as
from q2_metric.cli.options import SYSTEMS_OPTION, metric_names
from q2_metric.report.read import files_of, read_scores


@command("compare")
@click.argument("scores", metavar="A B [C]...", nargs=-1, required=True, type=Read())
@click.option("-m", "--metric", "--metrics", "metrics", callback=metric_names,
              help="Metrics to compare.  [default: all that every system has]")
@SYSTEMS_OPTION
@click.option("--reference", metavar="COL",
              help="A column with reference responses, for F1 and BLEU.  [default: by name]")
@FORMAT_OPTION
def compare(
    scores: tuple[str, ...], metrics: list[str], systems_by: str | None,
    reference: str | None, shown_as: str,
) -> None:
    """Compare systems by their scores of the same rows.

    A, B, … are outputs of q2 score --out. Each is a system, and A is the baseline. The first table
    has each system's mean scores with their 95 % intervals. The second table has the differences
    from A with the p-values of two paired tests: bootstrap resampling and approximate
    randomisation. With several systems, the p-values of a metric are adjusted by Holm's method.

    If the rows have reference responses, token F1 and corpus BLEU against these are added.

    All systems must have the same rows, and scores with the same signatures.
    """
    from q2_metric.report.compare import versus

    with ExitStack() as files:
        read = read_scores(files_of(scores), files, systems_by=systems_by)
        report, notes = versus(read, metrics, reference)
    for note in notes:
        warn(note)
    print_as(replace(report, facts=facts()), shown_as)
