"""``q2 calibrate`` fits a calibration and a threshold to labelled responses."""

from pathlib import Path
from typing import Any

import click

from q2_metric.cli import experiments
from q2_metric.cli.commands import FILE, Written, command
from q2_metric.cli.options import CACHE_OPTIONS, MODEL_OPTIONS, format_option, metric_names
from q2_metric.errors import InputError
from q2_metric.metrics.registry import DEFAULT


@command("calibrate")
@click.argument("file", type=FILE)
@format_option("FILE")
@click.option("--out", required=True, metavar="PATH", type=Written(),
              help="Path of the calibration, a .json file.")
@click.option("--metric", default=DEFAULT[0], callback=metric_names,
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
@click.option("--figures", metavar="DIR", type=experiments.FIGURES,
              help="Draw reliability curves in this folder, as PNG and SVG.")
@click.option("--quiet", is_flag=True, help="Print no table and no progress bar.")
@CACHE_OPTIONS
@MODEL_OPTIONS
def calibrate(file: Path, metric: list[str], **options: Any) -> None:
    """Fit a threshold and a calibration to labelled responses.

    FILE (.jsonl, .csv, .tsv, .parquet) contains responses, their knowledge, and human labels
    (1 = consistent). "q2 score --calibration" applies the result.
    """
    from q2_metric.evaluation import calibrate as fitting
    from q2_metric.evaluation.scores import ScoreColumns, known
    from q2_metric.files import check_place
    from q2_metric.rows.columns import Columns

    if len(metric) > 1:
        raise InputError("--metric takes one metric; run q2 calibrate for each")
    options["outs"] = ()
    precision = options["precision"]
    out, name = options["out"], options["name"] or Path(options["out"]).stem
    experiments.check(options, f"calibration_{name}")
    check_place(out)
    columns_read = Columns(options["response"], options["knowledge"], options["history"],
                           label=options["label"])
    rows = fitting.read_labelled(file, columns_read, options["form"])
    source = experiments.metric_source(metric[0], options, experiments.score_cache(options))
    columns = ScoreColumns([source], experiments.bar_of(options))
    # Responses without a score are left out. (Q² without its fallback has no score for some.)
    found = known(columns.scores([row.example for row in rows])[metric[0]])
    truth, scores = [rows[i].consistent for i in found], list(found.values())
    fitted = fitting.fit(
        truth, scores, name=name, metric=metric[0], signature=source.signature,
        kind=options["kind"], precision=precision)
    report = fitting.experiment(truth, scores, fitted, precision=precision,
                                left_out=len(rows) - len(found))
    fitted.save(out)
    experiments.finish(report, options)
