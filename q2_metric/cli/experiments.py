"""Experiments with human labels: ``q2 meta-eval``, ``q2 reproduce`` and ``q2 calibrate``."""

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import click

from q2_metric._version import __version__
from q2_metric.cli import commands
from q2_metric.cli import options as shared
from q2_metric.cli.commands import FILE, Group, Read, Written, command, overwriting, warn
from q2_metric.cli.render import print_report, print_table, progress_bar
from q2_metric.data.readers import dev_files, read_dev
from q2_metric.engine.cache import Cache
from q2_metric.errors import InputError, ModelError, optional
from q2_metric.evaluation import agreement, scores
from q2_metric.evaluation import calibrate as fitting
from q2_metric.evaluation.figures import draw, figures_in, figures_of
from q2_metric.evaluation.reproduce import table as protocol
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import SUFFIXES, Report, write
from q2_metric.files import check_free, check_place, read_text
from q2_metric.metrics.registry import DEFAULT, METRICS, entry
from q2_metric.models.presets import preset
from q2_metric.processors import processors
from q2_metric.rows.columns import Columns
from q2_metric.rows.formats import read_fields
from q2_metric.types import Example

SHOWN_OPTIONS = shared.all_options(
    click.option("--figures", metavar="DIR",
                 type=Written(figures_in, guard=None, file_okay=False),
                 help="Draw the figures in this folder, as PNG and SVG."),
    click.option("--quiet", is_flag=True, help="Print no tables and no progress bar."),
)
EXPERIMENT_OPTIONS = shared.all_options(
    click.option("--scores", "scores_file", metavar="FILE", type=Read(),
                 help="A file with scores of your own metric, which the results then include."),
    shared.format_option("--scores"),
    click.option("--column", "score_columns", metavar="COL", multiple=True,
                 help="With --scores: a column of scores; may be repeated."),
    click.option("--out", "outs", metavar="PATH", multiple=True, type=Written(),
                 help="Write the results as .json, .csv, .md or .tex; may be repeated."),
    SHOWN_OPTIONS, shared.CACHE_OPTIONS, shared.MODEL_OPTIONS,
)


@click.group("meta-eval", cls=Group)
def meta_eval() -> None:
    """Measure how well metrics agree with human labels."""


@meta_eval.command("true")
@click.argument("sets", metavar="[SET|FILE]...", nargs=-1, type=Read())
@click.option("--against", metavar="METRIC",
              help="The metric to compare with.  [default: knowledge_f1]")
@shared.metrics_option()
@EXPERIMENT_OPTIONS
def true(sets: tuple[str, ...], against: str | None, **options: Any) -> None:
    """Measure ROC-AUC, significance and calibration on each set of the benchmark TRUE.

    Two measures of word overlap are always added to the metrics: token F1, and the share of the
    response's content words that occur in the knowledge.

    A SET is a name that "q2 data list" shows as true/SET. A FILE is a csv with the columns
    grounding, generated_text and label (1 = consistent). The default is all sets on this machine.
    """
    prepare(options, "true")
    read = agreement.read_sets(sets or agreement.sets_here())
    columns = _beside_overlap(read, options)
    finish(agreement.on_true(columns, read, against=against), options)


@meta_eval.command("dev")
@click.option("--limit", type=click.IntRange(min=2), metavar="N",
              help="Read at most N rows of each set.")
@shared.metrics_option()
@EXPERIMENT_OPTIONS
def dev(limit: int | None, **options: Any) -> None:
    """Measure ROC-AUC and calibration on development sets, beside simple word overlap.

    The sets are the files dev/*.jsonl.gz in the folder that Q2_DATA_DIR names. Token F1 and the
    share of content words are always added to the metrics, as in "q2 meta-eval true".
    """
    prepare(options, "dev")
    sets = {name: read_dev(path, limit) for name, path in dev_files().items()}
    finish(agreement.on_dev(_beside_overlap(sets, options), sets), options)


def _beside_overlap(sets: agreement.Sets, options: dict[str, Any]) -> scores.ScoreColumns:
    asked = {*options["metrics"], *agreement.COUNTS}
    options["metrics"] = [name for name in METRICS if name in asked]
    rows = [row.example for labelled in sets.values() for row in labelled]
    return columns_of(options, rows)


@command("reproduce")
@click.argument("names", metavar="[TABLE]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the tables, and what each needs.")
@click.option("--all", "every", is_flag=True, help="Measure all tables whose data are here.")
@click.option("--limit", type=click.IntRange(min=2), metavar="N",
              help="Read at most N examples of each data set, to try a command.")
@click.option("-m", "--metrics", callback=shared.metric_names, show_default="those of the table",
              help="Metrics to compute in place of a table's own.")
@click.option("--trained", metavar="FOLDER", multiple=True, type=Read(exists=True, file_okay=False),
              help="For rss-egr: a trained ranker, detector or responder; may be repeated.")
@click.option("--narrow", type=click.IntRange(min=1), metavar="N", show_default="all",
              help="A trained ranker reads only the N snippets that the ranker bundled keeps.")
@EXPERIMENT_OPTIONS
def reproduce(
    names: tuple[str, ...], listed: bool, every: bool, limit: int | None, **options: Any
) -> None:
    """Measure tables of the papers on Q², SCALE and knowledge selection again.

    Each table has its data, its metrics and its settings. The result shows our figures beside the
    published ones. A TABLE is a name that --list shows, or a paper: "scale" for all tables of the
    SCALE paper whose data are here. For the paper's own models: --preset paper.
    """
    tables = _tables()
    if listed:
        print_table(
            ["table", "title", "what is scored", "to do first"],
            [[one.name, one.title, one.size, protocol.where(one.missing())] for one in tables])
        return
    chosen = list(tables) if every else [
        one for one in tables if {one.name, one.paper} & set(names)]
    known = {name for one in tables for name in (one.name, one.paper)}
    if wrong := [name for name in names if name not in known]:
        raise InputError(f"there is no table {wrong[0]!r}; q2 reproduce --list shows all tables")
    if not chosen:
        raise InputError("name a table (q2 reproduce --list shows them), or give --all")
    prepare(options, "reproduce")

    def columns(metrics: Sequence[str], settings: Mapping[str, Any], rows: Sequence[Any]) -> Any:
        # A preset that needs no network must not download BERTScore's encoder either.
        if "bertscore" in metrics and not (
                preset(options["preset"]).needs_network or options["bertscore_model"]):
            raise ModelError("name its encoder with -s bertscore_model=roberta-large")
        return columns_of(_told(options, settings, metrics), rows)

    run = protocol.Run(
        preset(options["preset"]), columns,
        lambda name, settings: metric_source(name, _told(options, settings, [name])),
        options["metrics"], limit, options["trained"], options["narrow"])
    for one in chosen:
        if one.name in names and (missing := one.missing()):
            raise InputError(f"{one.name}: data sets are missing: {protocol.where(missing)}")
    finish(protocol.reproduce(chosen, run), options)


def _told(
    options: Mapping[str, Any], settings: Mapping[str, Any], metrics: Sequence[str]
) -> dict[str, Any]:
    """The user's options; where the user gave none, those of a table that the metrics know."""
    known = {keyword for name in metrics for keyword in entry(name).keywords()}
    ours = {key: value for key, value in settings.items()
            if key in known and options.get(key) is None}
    return {**options, **ours, "metrics": metrics}


def _tables() -> Sequence[Any]:
    from q2_metric.evaluation.reproduce import q2, scale
    from q2_metric.knowledge import reproduce as selection

    every = [*q2.TABLES, *scale.TABLES, *selection.TABLES]
    papers = list(dict.fromkeys(one.paper for one in every))
    return sorted(every, key=lambda one: (papers.index(one.paper), one.table or 99))


@command("calibrate")
@click.argument("file", type=FILE)
@shared.format_option("FILE")
@click.option("--out", required=True, metavar="PATH", type=Written(),
              help="Path of the calibration, a .json file.")
@click.option("--metric", default=DEFAULT[0], callback=shared.metric_names,
              help="The metric to calibrate.")
@click.option("--name", help="Name of the calibration in signatures.  [default: from --out]")
@click.option("--label", metavar="COL", help="Column of the human labels.  [default: by name]")
@click.option("--response", metavar="COL", help="Column of the response.  [default: by name]")
@click.option("--knowledge", metavar="COL", help="Column of the knowledge.  [default: by name]")
@click.option("--history", metavar="COL", help='Column of the history; "" for none.')
@click.option("--kind", type=click.Choice(["isotonic", "platt"]), default="isotonic",
              help="Method by which scores become probabilities.")
@click.option("--precision", type=click.FloatRange(min=0, max=1, min_open=True),
              help="Choose the threshold with the highest recall at this precision.  "
              "[default: the threshold with the best balanced accuracy]")
@SHOWN_OPTIONS
@shared.CACHE_OPTIONS
@shared.MODEL_OPTIONS
def calibrate(file: Path, metric: list[str], **options: Any) -> None:
    """Fit a threshold and a calibration to labelled responses.

    FILE (.jsonl, .csv, .tsv, .parquet) contains responses, their knowledge, and human labels
    (1 = consistent). "q2 score --calibration" applies the result.
    """
    if len(metric) > 1:
        raise InputError("--metric takes one metric; run q2 calibrate for each")
    options["outs"] = ()
    precision = options["precision"]
    out, name = options["out"], options["name"] or Path(options["out"]).stem
    prepare(options, f"calibration_{name}")
    check_place(out)
    columns_read = Columns(options["response"], options["knowledge"], options["history"],
                           label=options["label"])
    rows = fitting.read_labelled(file, columns_read, options["form"])
    source = metric_source(metric[0], options)
    columns = scores.ScoreColumns([source], options["bar"])
    # Responses without a score are left out. (Q² without its fallback has no score for some.)
    found = scores.known(columns.scores([row.example for row in rows])[metric[0]])
    truth, values = [rows[i].consistent for i in found], list(found.values())
    fitted = fitting.fit(
        truth, values, name=name, metric=metric[0], signature=source.signature,
        kind=options["kind"], precision=precision)
    report = fitting.experiment(truth, values, fitted, precision=precision,
                                left_out=len(rows) - len(found))
    fitted.save(out)
    finish(report, options)


def prepare(options: dict[str, Any], name: str) -> None:
    """Checks the outputs before the scoring, which may take hours, and adds the cache (``kept``)
    and the progress bar (``bar``) to the options. Raises InputError if an output cannot be written
    or options do not fit together, and MissingExtra if a package is missing."""
    for path in options["outs"]:
        check_place(path, SUFFIXES)
    if options["figures"] and not overwriting():
        for figure in figures_of(name, options["figures"]):
            check_free(figure)
    needed = {"scipy": "scipy", "sklearn": "scikit-learn", "matplotlib": "matplotlib"}
    for module, package in needed.items():
        if module != "matplotlib" or options["figures"]:
            optional(module, "agreement with people", package, "meta")
    if bool(options.get("score_columns")) != bool(options.get("scores_file")):
        raise InputError("--scores FILE and --column COL belong together; name both")
    options["kept"] = Cache(shared.cache_file(options), warn=warn)
    shows = commands.on_terminal() and not options["quiet"]
    options["bar"] = progress_bar if shows else scores.silent


def columns_of(options: Mapping[str, Any], rows: Sequence[Example]) -> scores.ScoreColumns:
    """What an experiment compares with human labels: metrics, and columns of a file of scores. Each
    set counts a response that claims nothing as its guideline says, unless ``-s support=`` or a
    paper's preset has one rule for all."""
    file, reading = options["scores_file"], options["support"]
    lines = list(read_fields(file, options["form"])) if file else []  # read once: it may be a pipe
    foreign = [scores.FileSource(file, lines, column, rows) for column in options["score_columns"]]
    own = preset(options["preset"]).settings("scale", options["scale_model"])
    has_readings = own.get("support") == scores.USUAL  # the papers' presets have one reading

    def ours(name: str) -> scores.MetricSource | scores.ByGuideline:
        if reading or not has_readings or "support" not in entry(name).keywords():
            return metric_source(name, options)
        return scores.ByGuideline(name, cache(lambda reading: metric_source(
            name, options if reading == scores.USUAL else {**options, "support": reading})))

    return scores.ScoreColumns(
        [*map(ours, options["metrics"]), *foreign], options["bar"], reading)


def metric_source(name: str, options: Mapping[str, Any]) -> scores.MetricSource:
    """The metric ``name`` with the models and settings that the options request."""
    made_from = entry(name).request(options["preset"], shared.load_keywords(options))
    return scores.MetricSource(
        name, lambda: shared.load([name], options)[0], options["kept"], made_from)


def finish(report: Report, options: Mapping[str, Any]) -> None:
    """Prints the report, and writes the files and figures that the options request. If one of the
    two fails, the other still happens."""
    if not report.facts:
        report = replace(report, facts=facts())
    try:
        if not options["quiet"]:
            print_report(report)
    finally:
        note = read_text(options["note"]) if options.get("note") else ""
        for path in options["outs"]:
            write(report, path, note=note)
        drawn = draw(report, options["figures"]) if options["figures"] else ()
        for path in () if options["quiet"] else drawn:
            warn(str(path))


def facts() -> dict[str, str]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": f"q2-metric {__version__}",
        "seed": str(SEED),
        "machine": f"{processors()} processors ({platform.machine()})",
        "command": shlex.join(["q2", *sys.argv[1:]]),
    }
