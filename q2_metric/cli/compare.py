"""``q2 compare`` sets the scores of several systems side by side, with significance tests."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from q2_metric.cli.commands import Read, command, warn
from q2_metric.cli.experiments import FORMAT_OPTION, facts, print_as
from q2_metric.cli.options import SYSTEMS_OPTION, given_names
from q2_metric.report.read import files_of, read_scores
from q2_metric.report.versus import Versus, versus

if TYPE_CHECKING:
    from q2_metric.evaluation.tables import Report


@command("compare")
@click.argument("scores", metavar="A B [C]...", nargs=-1, required=True, type=Read())
@click.option("-m", "--metric", "--metrics", "metrics", callback=given_names,
              help="Metrics to compare.  [default: all that every system has]")
@SYSTEMS_OPTION
@FORMAT_OPTION
def compare(
    scores: tuple[str, ...], metrics: list[str], systems_by: str | None, shown_as: str
) -> None:
    """Compare systems by their scores of the same rows, and test whether the differences are due to
    chance.

    A, B, … are outputs of q2 score --out. Each is a system, and A is the baseline. The first table
    has each system's mean scores with their 95 % intervals. The second table has the differences
    from A with the p-values of two paired tests: bootstrap resampling and approximate
    randomisation. With several systems, the p-values of a metric are adjusted by Holm's method.

    All systems must have the same rows, and scores with the same signatures.
    """
    with ExitStack() as files:
        read = read_scores(files_of(scores), files, systems_by=systems_by)
        found = versus(read, metrics)
    for note in found.notes:
        warn(note)
    print_as(_report(found), shown_as)


def _report(found: Versus) -> Report:
    from q2_metric.evaluation.statistics import N_BOOTSTRAP, SEED, Interval
    from q2_metric.evaluation.tables import Cell, Column, Report, Table
    from q2_metric.report.compare import TRIALS

    def cell(value: float | None, ends: tuple[float, float] | None) -> Cell:
        return value if value is None or ends is None else Interval(value, *ends)

    first, *others = found.names
    scores = Table(
        "scores", "Mean scores with 95 % intervals",
        (Column("system", "text"), *map(Column, found.titles.values()), Column("n", "count")),
        tuple((name, *(cell(one[i].value, one[i].interval) for one in found.scores.values()),
               max(one[i].n for one in found.scores.values()))
              for i, name in enumerate(found.names)))
    holm = f", adjusted for {len(others)} systems (Holm)" if len(others) > 1 else ""
    tested = Table(
        "differences", f"Differences from {first}",
        (Column("metric", "text"), Column("system", "text"), Column("difference"),
         Column("p (bootstrap)", "p"), Column("p (randomisation)", "p"), Column("better", "count"),
         Column("worse", "count"), Column("same", "count"), Column("pairs", "count")),
        tuple((found.titles[name], system, cell(one.value, one.interval), one.p_bootstrap,
               one.p_randomised, one.better, one.worse, one.same, one.n)
              for name, all_ in found.differences.items()
              for system, one in zip(others, all_, strict=True)),
        f"Two-sided p-values{holm}: paired bootstrap with {N_BOOTSTRAP:,} resamples, paired "
        f"approximate randomisation with {TRIALS:,} trials, both with seed {SEED}. The first is "
        "sacrebleu's and too small: report the second.")
    return Report("compare", f"{first} against {', '.join(others)}", (scores, tested),
                  found.signatures, facts=facts())
