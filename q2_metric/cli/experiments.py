"""What ``q2 meta-eval``, ``q2 reproduce`` and ``q2 calibrate`` share: options, scoring, outputs."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from q2_metric._version import __version__
from q2_metric.cli import options as shared
from q2_metric.cli.commands import Read, Written, on_terminal, overwriting, warn
from q2_metric.engine.cache import Cache
from q2_metric.errors import InputError, optional
from q2_metric.evaluation import scores
from q2_metric.files import check_free, check_place, read_text
from q2_metric.metrics.registry import entry
from q2_metric.models.presets import preset
from q2_metric.processors import processors
from q2_metric.rows.formats import read_fields
from q2_metric.types import Example

if TYPE_CHECKING:
    from q2_metric.evaluation.tables import Report


def _drawn(folder: str) -> Iterable[Path]:
    from q2_metric.evaluation.figures import figures_in

    return figures_in(folder)


FIGURES = Written(_drawn, guard=None, file_okay=False)

OUTPUT_OPTIONS = shared.all_options(
    click.option("--out", "outs", metavar="PATH", multiple=True, type=Written(),
                 help="Write the results as .json, .csv, .md or .tex; may be repeated."),
    click.option("--figures", metavar="DIR", type=FIGURES,
                 help="Draw the figures in this folder, as PNG and SVG."),
    click.option("--quiet", is_flag=True, help="Print no tables and no progress bar."),
)
FORMATS = {"text": "", "markdown": ".md", "latex": ".tex", "json": ".json", "csv": ".csv"}
FORMAT_OPTION = click.option(
    "--format", "shown_as", type=click.Choice(list(FORMATS)), default="text",
    help="Format in which the tables are printed.")
FOREIGN_OPTIONS = shared.all_options(
    click.option(
        "--scores", "scores_file", metavar="FILE", type=Read(),
        help="A file with scores of your own metric. The results then include your metric."),
    shared.format_option("--scores"),
    click.option("--column", "score_columns", metavar="COL", multiple=True,
                 help="With --scores: a column of scores; may be repeated."),
)
EXPERIMENT_OPTIONS = shared.all_options(
    shared.metrics_option(), FOREIGN_OPTIONS, OUTPUT_OPTIONS, shared.CACHE_OPTIONS,
    shared.MODEL_OPTIONS)


def check(options: Mapping[str, Any], name: str) -> None:
    """Checks the outputs before the scoring, which may take hours. Raises InputError if one cannot
    be written or options do not fit together, and MissingExtra if a package is missing."""
    from q2_metric.evaluation.figures import figures_of
    from q2_metric.evaluation.tables import SUFFIXES

    for path in options["outs"]:
        check_place(path, SUFFIXES)
    if options["figures"] and not overwriting():
        for figure in figures_of(name, options["figures"]):
            check_free(figure)
    needed = {"scipy": "scipy", "sklearn": "scikit-learn", "matplotlib": "matplotlib"}
    for module, package in needed.items():
        if module != "matplotlib" or options["figures"]:
            optional(module, "agreement with people", package, "meta")
    if options.get("score_columns") and not options["scores_file"]:
        raise InputError("--column names a column of --scores FILE; name the file too")
    if options.get("scores_file") and not options["score_columns"]:
        raise InputError("--scores needs --column, the column of the scores")


def columns_of(
    options: Mapping[str, Any], rows: Sequence[Example], kept: Cache | None = None
) -> scores.ScoreColumns:
    """What an experiment compares with human labels: metrics, and columns of a file of scores. Each
    set counts a response that claims nothing as its guideline says, unless ``-s support=`` or a
    paper's preset has one rule for all."""
    file, kept = options["scores_file"], kept or score_cache(options)
    lines = list(read_fields(file, options["form"])) if file else []  # read once: it may be a pipe
    foreign = [scores.FileSource(file, lines, column, rows) for column in options["score_columns"]]
    reading = options["support"]
    own = preset(options["preset"]).settings("scale", options["scale_model"])
    has_readings = own.get("support") == scores.USUAL  # the papers' presets have one reading

    def ours(name: str) -> scores.MetricSource | scores.ByGuideline:
        if reading or not has_readings or "support" not in entry(name).keywords():
            return metric_source(name, options, kept)
        return scores.ByGuideline(name, cache(lambda reading: metric_source(
            name, options if reading == scores.USUAL else {**options, "support": reading}, kept)))

    return scores.ScoreColumns(
        [*map(ours, options["metrics"]), *foreign], bar_of(options), reading)


def score_cache(options: Mapping[str, Any]) -> Cache:
    return Cache(shared.cache_file(options), warn=warn)


def metric_source(name: str, options: Mapping[str, Any], kept: Cache) -> scores.MetricSource:
    """The metric ``name`` with the models and settings that the options request."""
    made_from = entry(name).request(options["preset"], shared.load_keywords(options))
    return scores.MetricSource(name, lambda: shared.load([name], options)[0], kept, made_from)


def bar_of(options: Mapping[str, Any]) -> scores.Bar:
    from q2_metric.cli.render import progress_bar

    return progress_bar if on_terminal() and not options["quiet"] else scores.silent


def finish(report: Report, options: Mapping[str, Any]) -> None:
    """Prints the report, and writes the files and figures that the options request. If one of the
    two fails, the other still happens."""
    if not report.facts:
        report = replace(report, facts=facts())
    try:
        if not options["quiet"]:
            print_as(report, "text")
    finally:
        _write(report, options)


def _write(report: Report, options: Mapping[str, Any]) -> None:
    from q2_metric.evaluation.figures import draw
    from q2_metric.evaluation.tables import write

    note = read_text(options["note"]) if options.get("note") else ""
    for path in options["outs"]:
        write(report, path, note=note)
    drawn = draw(report, options["figures"]) if options["figures"] else ()
    for path in () if options["quiet"] else drawn:
        warn(str(path))


def print_as(report: Report, form: str) -> None:
    """Prints a report in one of :data:`FORMATS`."""
    from q2_metric.cli.render import print_report
    from q2_metric.evaluation.tables import to_text

    if form == "text":
        print_report(report)
    else:
        click.echo(to_text(report, FORMATS[form]), nl=False)


def facts() -> dict[str, str]:
    from q2_metric.evaluation.statistics import SEED

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": f"q2-metric {__version__}",
        "seed": str(SEED),
        "machine": f"{processors()} processors ({platform.machine()})",
        "command": shlex.join(["q2", *sys.argv[1:]]),
    }
