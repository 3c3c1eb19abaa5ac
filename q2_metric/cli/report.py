"""``q2 report`` makes an HTML page from scores that ``q2 score --out`` wrote."""

from contextlib import ExitStack

import click

from q2_metric.cli.commands import PAGE, Read, Written, command, warn
from q2_metric.cli.options import SYSTEMS_OPTION, format_option


@command("report")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=Read())
@format_option("SCORES")
@click.option("-o", "--out", metavar="PATH", default="report.html", type=Written(guard=PAGE),
              help="Path of the page, an HTML file.")
@SYSTEMS_OPTION
def report(scores: tuple[str, ...], form: str | None, out: str, systems_by: str | None) -> None:
    """Make one web page from the scores that q2 score --out wrote.

    Each file is a system, and a folder stands for its .jsonl files. With --systems COLUMN, all rows
    with the same value in COLUMN form one system. If there are several systems, each is compared
    with the first, response by response. Rows are matched by id, or by their knowledge, question
    and history.

    Three or more files whose names differ in one number are taken for checkpoints of a training.
    Three or more files of different days are taken for dated runs. In both cases, the page shows a
    curve of each metric, and what changed from one run to the next.
    """
    from q2_metric.files import check_place
    from q2_metric.report.page import write_page
    from q2_metric.report.read import day, files_of, read_scores
    from q2_metric.report.systems import in_order

    names = files_of(scores)
    check_place(out)
    with ExitStack() as files:
        names = in_order(names, list(map(day, names)))
        systems = read_scores(names, files, form=form, systems_by=systems_by)
        write_page(out, systems.runs, systems)
    if bare := sum(run.without_texts for run in systems.runs):
        warn(f"{bare} rows have no texts, so the page cannot show any; score them again without "
             "--no-texts")
    click.echo(out)
