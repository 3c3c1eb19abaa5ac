"""``q2 report`` makes an HTML page from scores that ``q2 score --out`` wrote."""

from __future__ import annotations

from contextlib import ExitStack

import click

from q2_metric.cli.commands import PAGE, Read, Written, command, warn
from q2_metric.cli.options import SYSTEMS_OPTION, format_option
from q2_metric.errors import InputError


@command("report")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=Read())
@format_option("SCORES and --texts")
@click.option("-o", "--out", metavar="PATH", default="report.html",
              type=Written(guard=PAGE),
              help="Path of the page, an HTML file.")
@click.option("--texts", metavar="FILE", multiple=True, type=Read(),
              help="For scores without texts: the file that was scored. May be repeated, in the "
              "order of SCORES.")
@SYSTEMS_OPTION
def report(
    scores: tuple[str, ...],
    form: str | None,
    out: str,
    texts: tuple[str, ...],
    systems_by: str | None,
) -> None:
    """Make one web page from the scores that q2 score --out wrote.

    Each file is a system, and a folder stands for its .jsonl files. With --systems COLUMN, all rows
    with the same value in COLUMN form one system. If there are several systems, each is compared
    with the first, response by response. Rows are matched by id, or by their knowledge, question
    and history.

    The columns of the files of --texts are those that q2 score was told.

    Three or more files whose names differ in one number are taken for checkpoints of a training.
    Three or more files of different days are taken for dated runs. In both cases, the page shows a
    curve of each metric, and what changed from one run to the next.
    """
    from q2_metric.files import STDIN, check_place
    from q2_metric.report.page import write_page
    from q2_metric.report.read import day, files_of, read_scores
    from q2_metric.report.systems import in_order

    names = files_of(scores)
    if STDIN in names and STDIN in texts:
        raise InputError("standard input (-) can be read only once")
    check_place(out)
    with ExitStack() as files:
        # The first file of texts belongs to the first file of scores, and so on. So the files of
        # scores keep their order if there are files of texts.
        names = names if texts else in_order(names, list(map(day, names)))
        systems = read_scores(names, files, texts=texts, form=form, systems_by=systems_by)
        write_page(out, systems.runs, systems)
    if bare := sum(run.without_texts for run in systems.runs):
        warn(f"{bare} rows have no texts, so the page cannot show any; "
             "--texts FILE reads them from the scored file")
    click.echo(out)
