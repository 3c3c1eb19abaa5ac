"""``q2 explain`` and ``q2 evidence`` score one response and show the evidence of the score."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from q2_metric.cli.commands import command
from q2_metric.cli.options import (
    MODEL_OPTIONS,
    SIGNATURE_OPTION,
    TEXT_OPTIONS,
    load,
    metrics_option,
    model_options,
)
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS

FINDERS = [entry for entry in METRICS.values() if entry.details == "sentences"]
"""Their evidence is a sentence of the knowledge for each claim."""


@command("explain")
@TEXT_OPTIONS
@metrics_option()
@MODEL_OPTIONS
@SIGNATURE_OPTION
def explain(metrics: list[str], as_json: bool, **options: Any) -> None:
    """Score one response, and show the questions, answers and claims behind the score."""
    _explain(metrics, as_json, options)


@command("evidence")
@TEXT_OPTIONS
@model_options(FINDERS)
@SIGNATURE_OPTION
def evidence(as_json: bool, **options: Any) -> None:
    """Show, for each claim of a response, the sentence of the knowledge that supports it best.

    If no sentence supports a claim, the nearest sentence is shown.
    """
    _explain([FINDERS[0].name], as_json, options, nearest=True)


def _explain(
    names: list[str], as_json: bool, options: Mapping[str, Any], *, nearest: bool = False
) -> None:
    from q2_metric.report.view import view
    from q2_metric.rows.fields import Layout, output_row
    from q2_metric.scoring import score_rows
    from q2_metric.text.given import encodable, is_blank
    from q2_metric.types import Example

    for field in ("response", "knowledge"):
        encodable(options[field], f"the {field}")
        if is_blank(options[field]):
            raise InputError(f"the {field} is empty")
    for turn in options["history"]:
        encodable(turn, "the history")
    question = options["question"] or ""
    encodable(question, "the question")
    example = Example(options["response"], options["knowledge"], options["history"],
                      question=None if is_blank(question) else question)
    loaded = load(names, options)
    (scores,) = score_rows(loaded, [example], evidence=True)
    signatures = {metric.name: metric.signature for metric in loaded}
    row = output_row(0, example, scores, Layout(names, texts=not as_json))
    if as_json:
        row |= {"plain": view(row)["plain"], "signatures": signatures}
        click.echo(json.dumps(row, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from q2_metric.cli.explanation import print_explanation

        print_explanation(row, signatures, whole=options["signature"], nearest=nearest)
