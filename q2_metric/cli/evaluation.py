"""``q2 meta-eval`` and ``q2 calibrate``: arguments -> scores -> report -> files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from q2_metric._version import __version__
from q2_metric.cli.commands import Group, Read, Written, command, warn
from q2_metric.cli.options import (
    CACHE_OPTIONS,
    MODEL_OPTIONS,
    SETTING_OPTIONS,
    all_options,
    cache_file,
    load,
    load_keywords,
    metric_names,
    metrics_option,
)
from q2_metric.errors import InputError, MissingExtra
from q2_metric.metrics.registry import METRICS, entry

if TYPE_CHECKING:
    from q2_metric.engine.cache import Cache
    from q2_metric.evaluation.calibrate import Kind
    from q2_metric.evaluation.scores import Bar, Columns, MetricSource
    from q2_metric.evaluation.tables import Report
    from q2_metric.types import Example

_FILE = Read(exists=True, dir_okay=False, path_type=Path)

METRICS_OPTION = metrics_option("q2,scale,f1,bleu,nli")
OUTPUT_OPTIONS = all_options(
    click.option("--out", "outs", metavar="PATH", multiple=True, type=Written(),
                 help="Write .json, .csv, .md."),
    click.option("--figures", metavar="DIR", help="Draw the figures there, as PNG and SVG."),
    click.option("--note", type=_FILE, help="Markdown to put into a page of --out."),
    click.option("--quiet", is_flag=True, help="No tables and no progress bar."),
)
COLUMN_OPTIONS = all_options(
    METRICS_OPTION,
    click.option(
        "--scores", "scores_file", metavar="FILE", type=Read(),
        help="A file with scores of your own metric, put beside ours.",
    ),
    click.option("--column", "score_columns", metavar="COL", multiple=True,
                 help="With --scores: the column of the scores; may be repeated."),
)
EXPERIMENT_OPTIONS = all_options(
    COLUMN_OPTIONS, OUTPUT_OPTIONS, CACHE_OPTIONS, MODEL_OPTIONS, SETTING_OPTIONS
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
    from q2_metric.evaluation.wow import experiment as protocol

    _check(options)
    rows = [row.example for row in protocol.rows()]
    _finish(protocol.experiment(_columns(options, rows), control=control), options)


@meta_eval.command("true")
@click.argument("sets", metavar="[SET|FILE]...", nargs=-1, type=Read())
@click.option("--against", metavar="METRIC", help="Compare with it.  [default: f1]")
@click.option(
    "--bins", type=click.IntRange(min=1), default=10, show_default=True,
    help="Of the reliability curves.",
)
@EXPERIMENT_OPTIONS
def true(sets: tuple[str, ...], against: str | None, bins: int, **options: Any) -> None:
    """TRUE: ROC-AUC by set, significance, calibration.

    A SET is q2, dialfact, dialfact_a, summeval or qags_cnndm; a FILE any csv with the
    columns grounding, generated_text and label (1 = consistent). Without any, the sets that
    are on this machine.
    """
    from q2_metric.evaluation import true as protocol

    _check(options)
    read = protocol.read_sets(sets or protocol.sets_here())
    rows = [row.example for one in read.values() for row in one]
    columns = _columns(options, rows)
    _finish(protocol.experiment(columns, read, against=against, bins=bins), options)


@meta_eval.command("dnli")
@click.argument("file", type=_FILE)
@click.option("--threshold", type=float, show_default="0.1", help="Above it: consistent.")
@click.option("--dev", type=_FILE, help="Pairs that each metric's own threshold is tuned on.")
@EXPERIMENT_OPTIONS
def dnli(file: Path, threshold: float | None, dev: Path | None, **options: Any) -> None:
    """Dialogue NLI: consistency with a persona.

    FILE is dialogue_nli_verified_test.jsonl. Personal questions are kept unless --personal
    says otherwise; --drop-unanswerable gives the variant Q²*.
    """
    from q2_metric.data.dnli import read_dnli
    from q2_metric.evaluation import dnli as protocol

    _check(options)
    options["personal"] = options["personal"] or "keep"
    pairs = read_dnli(file)
    tuning = read_dnli(dev) if dev else []
    report = protocol.experiment(
        _columns(options, [pair.example for pair in [*pairs, *tuning]]),
        pairs,
        threshold=protocol.THRESHOLD if threshold is None else threshold,
        dev=tuning,
    )
    _finish(report, options)


@meta_eval.command("usr")
@click.argument("file", type=_FILE)
@click.option("--quality", default="Uses Knowledge", show_default=True, help="Whose ratings.")
@click.option(
    "--leave-out", metavar="MODEL", multiple=True, show_default="Original Ground Truth",
    help="Responses that are not read; may be repeated.",
)
@EXPERIMENT_OPTIONS
def usr(file: Path, quality: str, leave_out: tuple[str, ...], **options: Any) -> None:
    """Topical-Chat: correlation with "Uses Knowledge".

    FILE is tc_usr_data.json.
    """
    from q2_metric.data.usr import REFERENCE, read_usr
    from q2_metric.evaluation import usr as protocol

    _check(options)
    rated = read_usr(file, quality=quality, leave_out=leave_out or (REFERENCE,))
    columns = _columns(options, [one.example for one in rated])
    _finish(protocol.experiment(columns, rated, quality=quality), options)


@meta_eval.command("evidence")
@click.argument("file", type=_FILE)
@EXPERIMENT_OPTIONS
def evidence(file: Path, **options: Any) -> None:
    """ScreenEval: does SCALE's search find a supporting utterance?

    FILE is screen_eval.json, or another with convo, inferred_summary, agg_label, rel_utt.
    """
    from q2_metric.data.screeneval import read_screeneval
    from q2_metric.evaluation import evidence as protocol
    from q2_metric.metrics.scale import ScaleSettings

    _check(options)
    rows = read_screeneval(file)
    columns = _columns(options, [row.example for row in rows])
    scale = metric_source("scale", options, _cache(options))
    branches = options["branches"] or ScaleSettings().branches
    report = protocol.experiment(scale, columns, rows, branches=branches, bar=_bar(options))
    _finish(report, options)


@meta_eval.command("dev")
@click.option("--limit", type=click.IntRange(min=2), metavar="N", help="Rows of a set at most.")
@EXPERIMENT_OPTIONS
def dev(limit: int | None, **options: Any) -> None:
    """Development sets: ROC-AUC beside counts of words, calibration.

    The sets are dev/*.jsonl.gz in the folder that Q2_DATA_DIR names. Token F1 and the share
    of content words found are always among the metrics.
    """
    from q2_metric.data.dev import dev_files, read_dev
    from q2_metric.evaluation import dev as protocol

    _check(options)
    sets = {name: read_dev(path, limit) for name, path in dev_files().items()}
    asked = {*options["metrics"], *protocol.COUNTS}
    options["metrics"] = [name for name in METRICS if name in asked]
    rows = [row.example for one in sets.values() for row in one]
    _finish(protocol.experiment(_columns(options, rows), sets), options)


@meta_eval.command("render")
@click.argument("result", type=_FILE)
@OUTPUT_OPTIONS
def render(result: Path, **options: Any) -> None:
    """Show, write or draw again a RESULT that --out wrote as .json."""
    from q2_metric.evaluation.files import read_json

    _check(options)
    _finish(read_json(result), options)


# --- what the commands share ------------------------------------------------------------


def _check(options: Mapping[str, Any]) -> None:
    """Refuses outputs that cannot be written, before hours of scoring."""
    from q2_metric.evaluation.files import SUFFIXES
    from q2_metric.files import check_place

    for path in options["outs"]:
        check_place(path, SUFFIXES)
    needed = ["scipy", "scikit-learn", *(["matplotlib"] if options["figures"] else [])]
    for package in needed:
        if find_spec({"scikit-learn": "sklearn"}.get(package, package)) is None:
            raise MissingExtra("agreement with people", package, "meta")
    if options.get("score_columns") and not options["scores_file"]:
        raise InputError("--column names a column of --scores FILE; name the file too")
    if options.get("scores_file") and not options["score_columns"]:
        raise InputError("--scores needs --column, the column of the scores")


def _columns(options: Mapping[str, Any], rows: Sequence[Example]) -> Columns:
    """The metrics that were asked for, ours and those of a file."""
    from q2_metric.evaluation.scores import Columns, FileSource

    kept = _cache(options)
    foreign = [
        FileSource(options["scores_file"], column, rows) for column in options["score_columns"]
    ]
    ours = [metric_source(name, options, kept) for name in options["metrics"]]
    return Columns([*ours, *foreign], _bar(options))


def _cache(options: Mapping[str, Any]) -> Cache:
    from q2_metric.engine.cache import Cache

    largest = options["cache_size"] * 1_000_000
    return Cache(cache_file(options), largest=largest, warn=warn)


def metric_source(name: str, options: Mapping[str, Any], kept: Cache) -> MetricSource:
    """A metric with the models and settings of a command's options, cached."""
    from q2_metric.evaluation.scores import MetricSource

    made_from = entry(name).request(options["preset"], load_keywords(options))
    return MetricSource(name, lambda: load([name], options)[0], kept, made_from)


def _bar(options: Mapping[str, Any]) -> Bar:
    from q2_metric.cli.render import progress_bar
    from q2_metric.evaluation.scores import silent

    return silent if options["quiet"] or not sys.stderr.isatty() else progress_bar


def _finish(report: Report, options: Mapping[str, Any]) -> None:
    """Shows the report and writes what was asked for."""
    from q2_metric.cli.tables import print_report
    from q2_metric.evaluation.files import write

    if not report.facts:
        report = replace(report, facts=_facts())
    note = options["note"].read_text(encoding="utf-8") if options["note"] else ""
    for path in options["outs"]:
        write(report, path, note=note)
    if options["figures"]:
        from q2_metric.evaluation.figures import draw

        for path in draw(report, options["figures"]):
            if not options["quiet"]:
                click.echo(f"q2: {path}", err=True)
    if not options["quiet"]:
        print_report(report)


def _facts() -> dict[str, str]:
    from q2_metric.evaluation.statistics import SEED

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": f"q2-metric {__version__}",
        "seed": str(SEED),
        "command": shlex.join(["q2", *sys.argv[1:]]),
    }


# --- q2 calibrate -----------------------------------------------------------------------


@command("calibrate")
@click.argument("file", type=_FILE)
@click.option("--out", required=True, metavar="PATH", type=Written(),
              help="The calibration, as .json.")
@click.option(
    "--metric", default="q2", show_default=True, callback=metric_names, help="Whose scores."
)
@click.option("--name", help="Named in signatures.  [default: from --out]")
@click.option("--label", metavar="COL", help="Column of people's labels.  [default: by name]")
@click.option("--response", metavar="COL", help="Column of the response.  [default: by name]")
@click.option("--knowledge", metavar="COL", help="Column of the knowledge.  [default: by name]")
@click.option("--history", metavar="COL", help='Column of the history; "" for none.')
@click.option("--column", metavar="COL", help="Scores of another metric, in the file already.")
@click.option(
    "--kind", type=click.Choice(["isotonic", "platt"]), default="isotonic", show_default=True,
    help="How scores become probabilities.",
)
@click.option(
    "--precision", type=click.FloatRange(min=0, max=1, min_open=True),
    help="Threshold: the most found at this precision.  [default: best balanced accuracy]",
)
@click.option("--figures", metavar="DIR", help="Draw reliability curves, as PNG and SVG.")
@click.option("--quiet", is_flag=True, help="No table and no progress bar.")
@CACHE_OPTIONS
@MODEL_OPTIONS
@SETTING_OPTIONS
def calibrate(
    file: Path,
    out: str,
    metric: list[str],
    name: str | None,
    label: str | None,
    response: str | None,
    knowledge: str | None,
    history: str | None,
    column: str | None,
    kind: Kind,
    precision: float | None,
    **options: Any,
) -> None:
    """Fit a threshold and a calibration to labelled responses.

    FILE (.jsonl, .csv, .tsv, .parquet) has people's label (1 = consistent) beside response
    and knowledge. What is saved is applied by "q2 score --calibration".
    """
    from q2_metric.evaluation import calibrate as fitting
    from q2_metric.evaluation import labels
    from q2_metric.evaluation.scores import Columns
    from q2_metric.metrics.signature import signature
    from q2_metric.rows.columns import Columns as Names

    if len(metric) > 1:
        raise InputError("a calibration is of one metric; fit one for each")
    options["outs"] = ()
    _check(options)
    if not Path(out).parent.is_dir():
        raise InputError(f"{out}: cannot be written: there is no folder {str(Path(out).parent)!r}")
    if column is None:
        rows = labels.read_labelled(file, Names(response, knowledge, history), label)
        source = metric_source(metric[0], options, _cache(options))
        columns = Columns([source], _bar(options))
        found = columns.scores([row.example for row in rows])[metric[0]]
        # Q² without fallback has no score for some; there is nothing to calibrate in them.
        known = [
            (row.consistent, item.value)
            for row, item in zip(rows, found, strict=True)
            if item is not None and item.value is not None
        ]
        truth, scores = [label for label, _ in known], [score for _, score in known]
        signed = source.signature
    else:
        truth = labels.read_labels(file, label)
        scores = labels.read_scores(file, column)
        metric = [column]
        signed = signature(column, {"file": file.name, "version": "unknown"})
    fitted = fitting.fit(
        truth, scores, name=name or Path(out).stem, metric=metric[0], signature=signed,
        kind=kind, precision=precision,
    )
    report = fitting.experiment(truth, scores, fitted, precision=precision)
    fitted.save(out)
    _finish(report, {**options, "note": None})
