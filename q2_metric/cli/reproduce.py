"""``q2 reproduce`` measures the tables of the papers again."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from q2_metric.cli import experiments
from q2_metric.cli.commands import Read, command
from q2_metric.cli.options import CACHE_OPTIONS, MODEL_OPTIONS, metric_names
from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.registry import entry
from q2_metric.models.presets import preset


@command("reproduce")
@click.argument("names", metavar="[TABLE]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the tables, and what each needs.")
@click.option("--all", "every", is_flag=True, help="Measure all tables whose data are here.")
@click.option("--limit", type=click.IntRange(min=2), metavar="N",
              help="Read at most N examples of each data set, to try a command.")
@click.option("-m", "--metrics", callback=metric_names, show_default="those of the table",
              help="Metrics to compute in place of a table's own.")
@click.option("--trained", metavar="FOLDER", multiple=True,
              type=Read(exists=True, file_okay=False),
              help="A trained ranker, detector or responder, for the tables of rss-egr; may be "
              "repeated.")
@click.option("--narrow", type=click.IntRange(min=1), metavar="N", show_default="all",
              help="A trained ranker reads only the N snippets that the ranker bundled keeps.")
@experiments.FOREIGN_OPTIONS
@experiments.OUTPUT_OPTIONS
@CACHE_OPTIONS
@MODEL_OPTIONS
def reproduce(
    names: tuple[str, ...], listed: bool, every: bool, limit: int | None, **options: Any
) -> None:
    """Measure tables of the papers on Q², SCALE and knowledge selection again.

    Each table has its data, its metrics and its settings. The result shows our figures beside the
    published ones. A TABLE is a name that --list shows, or a paper: "scale" for all tables of the
    SCALE paper whose data are here. For the paper's own models: --preset paper.
    """
    from q2_metric.evaluation.reproduce import table as protocol

    tables = _tables()
    if listed:
        from q2_metric.cli.render import print_table

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
    experiments.check(options, "reproduce")
    kept = experiments.score_cache(options)

    def columns(metrics: Sequence[str], settings: Mapping[str, Any], rows: Sequence[Any]) -> Any:
        # A preset that needs no network must not download BERTScore's encoder either.
        if "bertscore" in metrics and not (
                preset(options["preset"]).needs_network or options["bertscore_model"]):
            raise ModelError("name its encoder with -s bertscore_model=roberta-large")
        return experiments.columns_of(_told(options, settings, metrics), rows, kept)

    run = protocol.Run(
        preset(options["preset"]), columns,
        lambda name, settings: experiments.metric_source(
            name, _told(options, settings, [name]), kept),
        options["metrics"], limit, options["trained"], options["narrow"])
    for one in chosen:
        if one.name in names and (missing := one.missing()):
            raise InputError(f"{one.name}: data sets are missing: {protocol.where(missing)}")
    experiments.finish(protocol.reproduce(chosen, run), options)


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
