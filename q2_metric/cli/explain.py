"""``q2 explain`` scores one response and shows the evidence of the score."""

from typing import Any

import click

from q2_metric.cli.commands import command, print_json
from q2_metric.cli.options import MODEL_OPTIONS, SIGNATURE_OPTION, load, metrics_option
from q2_metric.errors import InputError


@command("explain")
@click.option("--response", required=True, help="The response.")
@click.option("--knowledge", required=True, help="The text that should support the response.")
@click.option("--question", help="The question that the response answers.")
@click.option("--history", multiple=True,
              help="An earlier turn of the dialogue; may be repeated, oldest turn first.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead.")
@metrics_option()
@MODEL_OPTIONS
@SIGNATURE_OPTION
def explain(metrics: list[str], as_json: bool, **options: Any) -> None:
    """Score one response, and show what the score is computed from.

    These are questions, answers and claims. With -m scale, it shows for each claim the sentence of
    the knowledge that supports it best, or the nearest sentence.
    """
    from q2_metric.report.findings import view
    from q2_metric.rows.fields import Layout, output_row
    from q2_metric.scoring import given, score_rows
    from q2_metric.text.given import is_blank

    example = given(options["response"], options["knowledge"], options["history"], "this command",
                    None if is_blank(options["question"] or "") else options["question"])
    for field in ("response", "knowledge"):
        if is_blank(options[field]):
            raise InputError(f"the {field} is empty")
    loaded = load(metrics, options)
    (scores,) = score_rows(loaded, [example], evidence=True)
    signatures = {metric.name: metric.signature for metric in loaded}
    row = output_row(0, example, scores, Layout(metrics, texts=not as_json))
    if as_json:
        print_json({**row, "plain": view(row)["plain"], "signatures": signatures})
    else:
        from q2_metric.cli.explanation import print_explanation

        print_explanation(row, signatures, whole=options["signature"])
