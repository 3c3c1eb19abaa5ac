"""``q2 meta-eval`` measures how well metrics agree with human labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from q2_metric.cli.commands import Group, Read
from q2_metric.cli.experiments import (
    EXPERIMENT_OPTIONS,
    FILE,
    FORMAT_OPTION,
    NOTE_OPTION,
    OUTPUT_OPTIONS,
    bar_of,
    check,
    columns_of,
    finish,
    metric_source,
    score_cache,
)
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS


@click.group("meta-eval", cls=Group)
def meta_eval() -> None:
    """Measure how well metrics agree with human labels, by the experiments of the papers."""


@meta_eval.command("wow")
@click.option(
    "--control/--no-control", default=True, show_default=True,
    help="Also score the responses with the knowledge of other turns.",
)
@EXPERIMENT_OPTIONS
def wow(control: bool, **options: Any) -> None:
    """Run the experiments of the Q² paper on Wizard of Wikipedia."""
    from q2_metric.evaluation.wow import experiment as protocol

    check(options, "wow")
    rows = [row.example for row in protocol.rows()]
    finish(protocol.experiment(columns_of(options, rows), control=control), options)


@meta_eval.command("true")
@click.argument("sets", metavar="[SET|FILE]...", nargs=-1, type=Read())
@click.option("--against", metavar="METRIC", help="The metric to compare with.  [default: f1]")
@click.option(
    "--bins", type=click.IntRange(min=1), default=10, show_default=True,
    help="Number of bins of the reliability curves.",
)
@EXPERIMENT_OPTIONS
def true(sets: tuple[str, ...], against: str | None, bins: int, **options: Any) -> None:
    """Measure ROC-AUC, significance and calibration on each set of the benchmark TRUE.

    A SET is a name that "q2 data list" shows as true/SET. A FILE is a csv with the columns
    grounding, generated_text and label (1 = consistent). The default is all sets on this machine.
    """
    from q2_metric.evaluation import true as protocol

    check(options, "true")
    read = protocol.read_sets(sets or protocol.sets_here())
    rows = [row.example for labelled in read.values() for row in labelled]
    columns = columns_of(options, rows)
    finish(protocol.experiment(columns, read, against=against, bins=bins), options)


@meta_eval.command("dnli")
@click.argument("file", type=FILE)
@click.option("--threshold", type=click.FloatRange(0, 1), show_default="0.1",
              help="A pair with a higher score counts as consistent.")
@click.option("--dev", type=FILE, help="Pairs on which each metric's own threshold is tuned.")
@EXPERIMENT_OPTIONS
def dnli(file: Path, threshold: float | None, dev: Path | None, **options: Any) -> None:
    """Measure on Dialogue NLI whether a response is consistent with the speaker's persona.

    FILE is dialogue_nli_verified_test.jsonl. By default, Q² keeps questions about the speakers
    (-s personal=remove drops them). -s drop_unanswerable=true computes the variant of Q² that the
    paper calls Q²*.
    """
    from q2_metric.data.dnli import read_dnli
    from q2_metric.evaluation import dnli as protocol

    check(options, "dnli")
    options["personal"] = options["personal"] or "keep"
    pairs = read_dnli(file)
    tuning = read_dnli(dev) if dev else []
    report = protocol.experiment(
        columns_of(options, [pair.example for pair in [*pairs, *tuning]]),
        pairs,
        threshold=protocol.THRESHOLD if threshold is None else threshold,
        dev=tuning,
    )
    finish(report, options)


@meta_eval.command("usr")
@click.argument("file", type=FILE)
@click.option("--quality", default="Uses Knowledge", show_default=True,
              help="The human rating with which scores are correlated.")
@click.option(
    "--leave-out", metavar="MODEL", multiple=True, show_default="Original Ground Truth",
    help="Leave out the responses of this model; may be repeated.",
)
@EXPERIMENT_OPTIONS
def usr(file: Path, quality: str, leave_out: tuple[str, ...], **options: Any) -> None:
    """Measure on Topical-Chat how scores correlate with the human rating "Uses Knowledge".

    FILE is tc_usr_data.json of the USR data.
    """
    from q2_metric.data.usr import REFERENCE, read_usr
    from q2_metric.evaluation import usr as protocol

    check(options, "usr")
    rated = read_usr(file, quality=quality, leave_out=leave_out or (REFERENCE,))
    columns = columns_of(options, [response.example for response in rated])
    finish(protocol.experiment(columns, rated, quality=quality), options)


@meta_eval.command("evidence")
@click.argument("file", type=FILE)
@EXPERIMENT_OPTIONS
def evidence(file: Path, **options: Any) -> None:
    """Measure on ScreenEval how often SCALE's search finds an utterance that supports a summary.

    FILE is screen_eval.json, or another file with the columns convo, inferred_summary, agg_label
    and rel_utt.
    """
    from q2_metric.data.screeneval import read_screeneval
    from q2_metric.evaluation import evidence as protocol
    from q2_metric.metrics.scale import ScaleSettings
    from q2_metric.metrics.settings import settings_and_runtime
    from q2_metric.models.presets import preset

    check(options, "evidence")
    rows = read_screeneval(file)
    kept = score_cache(options)
    columns = columns_of(options, [row.example for row in rows], kept)
    scale = metric_source("scale", options, kept)
    own = preset(options["preset"]).settings("scale", options["scale_model"])
    settings, _ = settings_and_runtime(ScaleSettings, {"branches": options["branches"]}, own)
    report = protocol.experiment(
        scale, columns, rows, branches=settings.branches, bar=bar_of(options))
    finish(report, options)


@meta_eval.command("dev")
@click.option("--limit", type=click.IntRange(min=2), metavar="N",
              help="Read at most N rows of each set.")
@EXPERIMENT_OPTIONS
def dev(limit: int | None, **options: Any) -> None:
    """Measure ROC-AUC and calibration on development sets, beside simple word overlap.

    The sets are the files dev/*.jsonl.gz in the folder that Q2_DATA_DIR names. Two measures of word
    overlap are always added to the metrics: token F1, and the share of the response's content words
    that occur in the knowledge.
    """
    from q2_metric.data.dev import dev_files, read_dev
    from q2_metric.evaluation import dev as protocol

    check(options, "dev")
    sets = {name: read_dev(path, limit) for name, path in dev_files().items()}
    asked = {*options["metrics"], *protocol.COUNTS}
    options["metrics"] = [name for name in METRICS if name in asked]
    rows = [row.example for labelled in sets.values() for row in labelled]
    finish(protocol.experiment(columns_of(options, rows), sets), options)


@meta_eval.command("render")
@click.argument("result", type=FILE)
@NOTE_OPTION
@FORMAT_OPTION
@OUTPUT_OPTIONS
def render(result: Path, **options: Any) -> None:
    """Print the tables of an earlier run again.

    RESULT is a .json file that the earlier run wrote with --out. Here, --out writes these results
    in another format, and --figures draws their diagrams.
    """
    from q2_metric.evaluation.files import read_json

    report = read_json(result)
    try:
        check(options, report.name)
        finish(report, options)
    except InputError:
        raise
    # The file may be JSON of another kind.
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{result}: is not a result of q2 meta-eval ({error})") from error
