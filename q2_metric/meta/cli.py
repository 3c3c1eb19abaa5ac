"""``q2 meta-eval`` and ``q2 calibrate``: arguments -> scores -> report -> files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from q2_metric._version import __version__
from q2_metric.cli import (
    MODEL_OPTIONS,
    Q2_OPTIONS,
    Q2_SETTINGS,
    SCALE_OPTIONS,
    SCALE_SETTINGS,
    Group,
    all_options,
    load,
    metric_names,
)
from q2_metric.errors import InputError

if TYPE_CHECKING:
    from q2_metric.meta.scores import Cache, Columns, MetricSource
    from q2_metric.meta.tables import Report
    from q2_metric.types import Example

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

METRICS_OPTION = click.option(
    "--metrics",
    default="q2,scale,f1,bleu,nli",
    show_default=True,
    callback=metric_names,
    help="Out of q2, scale, f1, bleu, nli, bertscore.",
)
CACHE_OPTIONS = all_options(
    click.option(
        "--cache", metavar="PATH", type=click.Path(path_type=Path),
        help="File that keeps scores for the next run.  [default: in the user's cache]",
    ),
    click.option("--no-cache", is_flag=True, help="Score everything anew and keep nothing."),
)
OUTPUT_OPTIONS = all_options(
    click.option("--out", "outs", metavar="PATH", multiple=True, help="Write .json, .csv, .md."),
    click.option("--figures", metavar="DIR", help="Draw the figures there, as PNG and SVG."),
    click.option("--note", type=_FILE, help="Markdown to put into a page of --out."),
    click.option("--quiet", is_flag=True, help="No tables and no progress bar."),
)
COLUMN_OPTIONS = all_options(
    METRICS_OPTION,
    click.option(
        "--scores", "scores_file", metavar="FILE",
        help="A file with scores of your own metric, put beside ours.",
    ),
    click.option("--column", "score_columns", metavar="COL", multiple=True,
                 help="With --scores: the column of the scores; may be repeated."),
)
EXPERIMENT_OPTIONS = all_options(
    COLUMN_OPTIONS, OUTPUT_OPTIONS, CACHE_OPTIONS, MODEL_OPTIONS, Q2_OPTIONS, SCALE_OPTIONS
)


@click.group("meta-eval", cls=Group)
def meta_eval() -> None:
    """How well metrics agree with people: the papers' experiments."""


@meta_eval.command("wow")
@click.option(
    "--control/--no-control", default=True, show_default=True,
    help="Also score with knowledge of other turns.",
)
@EXPERIMENT_OPTIONS
def wow(control: bool, **options: Any) -> None:
    """Wizard of Wikipedia: the experiments of the Q² paper."""
    from q2_metric.meta import wow as protocol

    _check(options)
    rows = [row.example for row in protocol.rows()]
    _finish(protocol.experiment(_columns(options, rows), control=control), options)


@meta_eval.command("true")
@click.argument("sets", metavar="[SET|FILE]...", nargs=-1)
@click.option("--against", metavar="METRIC", help="Compare with it.  [default: f1]")
@EXPERIMENT_OPTIONS
def true(sets: tuple[str, ...], against: str | None, **options: Any) -> None:
    """TRUE: ROC-AUC by set, significance, calibration.

    A SET is q2, dialfact, dialfact_a, summeval or qags_cnndm; a FILE any csv with the
    columns grounding, generated_text and label (1 = consistent).
    """
    from q2_metric.meta import true as protocol

    _check(options)
    read = protocol.read_sets(sets or protocol.SETS)
    rows = [row.example for one in read.values() for row in one]
    _finish(protocol.experiment(_columns(options, rows), read, against=against), options)


@meta_eval.command("render")
@click.argument("result", type=_FILE)
@OUTPUT_OPTIONS
def render(result: Path, **options: Any) -> None:
    """Show, write or draw again a RESULT that --out wrote as .json."""
    from q2_metric.meta.tables import read_json

    _check(options)
    _finish(read_json(result), options)


# --- what the commands share ------------------------------------------------------------


def _check(options: Mapping[str, Any]) -> None:
    """Refuses outputs that cannot be written, before hours of scoring."""
    from q2_metric.meta.tables import check_output

    for path in options["outs"]:
        check_output(path)
    if options["figures"]:
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            from q2_metric.errors import MissingExtra

            raise MissingExtra("--figures", "matplotlib", "meta") from error
    if options.get("score_columns") and not options["scores_file"]:
        raise InputError("--column names a column of --scores FILE; name the file too")
    if options.get("scores_file") and not options["score_columns"]:
        raise InputError("--scores needs --column, the column of the scores")


def _columns(options: Mapping[str, Any], rows: Sequence[Example]) -> Columns:
    """The metrics that were asked for, ours and those of a file."""
    from q2_metric.meta.scores import Columns, FileSource

    kept = _cache(options)
    foreign = [
        FileSource(options["scores_file"], column, rows) for column in options["score_columns"]
    ]
    ours = [metric_source(name, options, kept) for name in options["metrics"]]
    return Columns([*ours, *foreign], _bar(options))


def _cache(options: Mapping[str, Any]) -> Cache:
    from q2_metric.meta.scores import Cache, default_cache

    if options["no_cache"]:
        return Cache(None)
    return Cache(options["cache"] or default_cache())


def metric_source(name: str, options: Mapping[str, Any], kept: Cache) -> MetricSource:
    """A metric with the models and settings of a command's options, cached."""
    from q2_metric import metrics
    from q2_metric.meta.scores import MetricSource

    # Device and batch size do not belong to what a score is.
    settings = {"q2": Q2_SETTINGS, "scale": SCALE_SETTINGS}.get(name, ())
    models = [key for key, users in metrics.STAGES.items() if name in users]
    made_by = {
        key: options[key]
        for key in ("preset", "dtype", *models, *settings)
        if options.get(key) is not None
    }
    return MetricSource(name, lambda: load([name], options)[0], kept, made_by)


def _bar(options: Mapping[str, Any]) -> Callable[[str, int], Any] | None:
    if options["quiet"] or not sys.stderr.isatty():
        return None
    from q2_metric.render import progress_bar

    return progress_bar


def _finish(report: Report, options: Mapping[str, Any]) -> None:
    """Shows the report and writes what was asked for."""
    from q2_metric.meta.tables import print_report, write

    if not report.facts:
        report = replace(report, facts=_facts())
    note = options["note"].read_text(encoding="utf-8") if options["note"] else ""
    for path in options["outs"]:
        write(report, path, note=note)
    if options["figures"]:
        from q2_metric.meta.figures import draw

        for path in draw(report, options["figures"]):
            if not options["quiet"]:
                click.echo(f"q2: {path}", err=True)
    if not options["quiet"]:
        print_report(report)


def _facts() -> dict[str, str]:
    from q2_metric.meta.statistics import SEED

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": f"q2-metric {__version__}",
        "seed": str(SEED),
        "command": shlex.join(["q2", *sys.argv[1:]]),
    }


@click.command("calibrate")
def calibrate() -> None:
    """Fit a threshold and a calibration to labelled responses."""
