"""What is done with the outputs of ``q2 score``: ``q2 report``, ``q2 compare`` and ``q2 gate``."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from q2_metric.cli import commands
from q2_metric.cli import options as shared
from q2_metric.cli.commands import PAGE, Read, Written, command, ours, plain, print_json, warn
from q2_metric.cli.experiments import facts
from q2_metric.cli.render import print_report
from q2_metric.engine.job import Job
from q2_metric.engine.manifest import check_evidence
from q2_metric.engine.run import JobRun, Listener
from q2_metric.errors import InputError
from q2_metric.evaluation.tables import to_text
from q2_metric.files import STDIN, check_place, opener, replacing, rereadable
from q2_metric.metrics.registry import columns
from q2_metric.report import gate as gates
from q2_metric.report.compare import versus
from q2_metric.report.page import write_page
from q2_metric.report.read import ScoreFiles, Spool, day, files_of, read_scores
from q2_metric.report.systems import in_order
from q2_metric.rows.columns import Columns
from q2_metric.rows.formats import read_fields
from q2_metric.scoring import check_threshold
from q2_metric.scoring.verdict import GATED, THRESHOLD


@command("report")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=Read())
@shared.format_option("SCORES")
@click.option("-o", "--out", metavar="PATH", default="report.html", type=Written(guard=PAGE),
              help="Path of the page, an HTML file.")
@shared.SYSTEMS_OPTION
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


FORMATS = {"text": "", "markdown": ".md", "latex": ".tex", "json": ".json", "csv": ".csv"}


@command("compare")
@click.argument("scores", metavar="A B [C]...", nargs=-1, required=True, type=Read())
@click.option("-m", "--metric", "--metrics", "metrics", callback=shared.metric_names,
              help="Metrics to compare.  [default: all that every system has]")
@shared.SYSTEMS_OPTION
@click.option("--reference", metavar="COL",
              help="A column with reference responses, for F1 and BLEU.  [default: by name]")
@click.option("--format", "shown_as", type=click.Choice(list(FORMATS)), default="text",
              help="Format in which the tables are printed.")
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
    with ExitStack() as files:
        read = read_scores(files_of(scores), files, systems_by=systems_by)
        report, notes = versus(read, metrics, reference)
    for note in notes:
        warn(note)
    if shown_as == "text":
        print_report(report)
    else:
        report = replace(report, facts=facts())
        click.echo(to_text(report, FORMATS[shown_as]), nl=False)


SHOWN = 10
JUNIT = ours(gates.JUNIT, "a JUnit file of q2 gate")
COMMENT = ours(gates.COMMENT, "a comment of q2 gate")


def _most(_ctx: click.Context, _option: click.Parameter, text: str) -> int | None:
    if text == "all":
        return None
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter(f"{text!r} is neither a number of rows nor all")
    return int(text)


def _allow(outcome: str, what: str) -> Callable[..., Any]:
    return click.option(f"--allow-{outcome}", metavar="N|all", default="0", callback=_most,
                        help=f"With --baseline: accept at most N rows {what}, or all of them.")


@command("gate")
@click.argument("file", metavar="FILE", type=Read())
@click.option("--baseline", metavar="FILE", type=Read(),
              help="Scores or rows of an earlier run. Then only new failures count.")
@click.option("-m", "--metric", default=GATED, callback=shared.metric_names,
              help="The metric whose scores are checked.")
@click.option("--threshold", type=float, default=THRESHOLD,
              callback=lambda _ctx, _option, value: check_threshold(value),
              help="A response with a lower score fails; a number in [0, 1].")
@click.option("--allow", metavar="N|all", default="0", callback=_most,
              help="The gate passes with at most N failures.")
@_allow("missing", "that only the baseline has")
@_allow("unscored", "that had a score and have none now")
@_allow("changed", "whose knowledge, question or history changed")
@click.option("--junit", metavar="PATH", type=Written(guard=JUNIT),
              help="Write JUnit XML with a test for each response.")
@click.option("--comment", metavar="PATH", type=Written(guard=COMMENT),
              help="Write Markdown for a comment on a pull request. Its first line is the same in "
              "every run, so that a later run can replace the comment.")
@click.option("--json", "shows_json", is_flag=True, help="Print a JSON object instead of text.")
@shared.CACHE_OPTIONS
def gate(**options: Any) -> None:
    """Fail if responses are unsupported, or worse than before.

    FILE and the baseline are outputs of q2 score --out, or files of rows, which are scored first.
    (To choose models, columns or settings, run q2 score.)

    Without --baseline, every response whose score is under --threshold fails. With --baseline, such
    a response fails unless it also failed in the baseline. The gate also fails if rows of the
    baseline are missing, have lost their score or have other texts now, and if the mean is lower
    than in the baseline (the 95 % interval of the paired differences is entirely below 0). Rows are
    matched by id, or by their knowledge, question and history. It also fails if no response has a
    score, or if more than half of the responses, or of the rows that the baseline lacks, are empty,
    have no knowledge or are not in English (unless --allow-unscored is all).

    If a file of scores has a manifest beside it, the manifest must be that of the file.

    On GitHub Actions, the failures also appear as annotations and in the step summary.

    Exit code 4 means that the gate failed. The other exit codes are those of q2 score.
    """
    if len(options["metric"]) != 1:
        raise click.UsageError("--metric takes one name")
    [metric] = options["metric"]
    allowed = {name: options[name] for name in gates.FAILING}
    path, baseline = options["file"], options["baseline"]
    for name in ("allow_missing", "allow_changed"):
        if allowed[name] != 0 and baseline is None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --baseline")
    if baseline and all(map(os.path.exists, (path, baseline))) and os.path.samefile(path, baseline):
        raise InputError(f"{path}: is also the baseline; name the file of an earlier run")
    with ExitStack() as stack:
        now = _read(path, metric, options, stack)
        before = None if baseline is None else _read(baseline, metric, options, stack)
        decided = gates.gate(now, metric, options["threshold"], before, allowed)
    for option, content in (("junit", gates.junit), ("comment", gates.comment)):
        if options[option] is not None:
            with replacing(Path(options[option])) as unfinished:
                unfinished.write_bytes(content(decided))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8", newline="\n", opener=opener) as file:
            file.write(gates.summary(decided))
    if options["shows_json"]:
        print_json(gates.as_json(decided))
    else:
        _print(decided)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in gates.workflow_commands(decided):
                click.echo(line)
    if not decided.passed:
        sys.exit(commands.TOO_LOW)


def _read(path: str, metric: str, options: dict[str, Any], stack: ExitStack) -> ScoreFiles:
    """Reads the scores of a file, which is scored first if it has none."""
    if path == STDIN or (os.path.exists(path) and not rereadable(path)):
        raise InputError(f"{path}: q2 gate needs a file that can be read twice")
    names = columns()
    if any("id" in row and any(name in row for name in names) for _, row in read_fields(path)):
        scores = read_scores([path], stack)
        if any(score.name == metric for run in scores.runs for score in run.scores):
            check_evidence(path, metric)
        return scores
    warn(f"{path}: has no scores yet; scoring its rows by {metric}")
    job = Job(files=(path,), columns=Columns(), metrics=(metric,), texts=True, evidence=True,
              cache=shared.cache_file(options))
    rows = stack.enter_context(Spool())
    [result] = JobRun(job, listener=Listener(warn=warn)).run(page=rows)
    if not result.rows:
        raise InputError(f"{path}: has no rows")
    return ScoreFiles((result,), (rows,))


def _print(decided: gates.Gate) -> None:
    shown, lines = decided.shown(), [decided.headline]
    for case in shown[:SHOWN]:
        response = " ".join(case.response.split())
        lines.append(f"  row {case.id} {case.why}{response and ': '}{response}")
        lines += [f"      {line}" for line in case.findings]
    if len(shown) > SHOWN:
        lines.append(f"  and {len(shown) - SHOWN} more (--json or --junit lists all)")
    known = decided.of("known")
    lines += [f"  row {case.id} {case.why}: it does not count" for case in known[:SHOWN]]
    if len(known) > SHOWN:
        lines.append(f"  and {len(known) - SHOWN} more that do not count")
    lines += [*decided.notes(), "gate passed" if decided.passed else "gate failed"]
    click.echo(plain("\n".join(lines)))
