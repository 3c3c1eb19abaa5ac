"""``q2 score`` scores the rows of files and prints mean scores."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any, get_args

import click

from q2_metric._version import __version__
from q2_metric.cli import commands
from q2_metric.cli import options as shared
from q2_metric.cli.commands import PAGE, Read, Written, command, overwriting, print_json, warn
from q2_metric.engine.cluster import Cluster
from q2_metric.engine.job import Job
from q2_metric.engine.manifest import beside, check_replaceable
from q2_metric.engine.result import SystemRun
from q2_metric.engine.run import JobRun, Listener
from q2_metric.engine.unfinished import unfinished_path
from q2_metric.errors import InputError, ModelError, machine_fault
from q2_metric.files import check_place, rereadable
from q2_metric.knowledge.choose import ROW, PoolChoice
from q2_metric.metrics.calibration import Calibration
from q2_metric.metrics.registry import METRICS, columns
from q2_metric.models.endpoints import Cost, endpoint
from q2_metric.models.presets import STAGES, is_endpoint
from q2_metric.report.read import Spool
from q2_metric.rows.columns import Columns
from q2_metric.rows.read import Turns
from q2_metric.rows.writers import SUFFIXES, check_output
from q2_metric.scoring import NO_CLAIM, NoClaim


def _replaceable(out: str) -> None:
    if not unfinished_path(out).exists():  # otherwise it says which file may be replaced
        check_replaceable(out)


def _threshold(
    _ctx: click.Context, _option: click.Parameter, given: Sequence[str]
) -> dict[str, float]:
    """A click callback that turns "q2=0.8" into {"q2": 0.8}; the key "" is for all metrics."""
    thresholds = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            thresholds[name.strip()] = least = float(value)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not of the form q2=0.8 or 0.8") from None
        if not 0 <= least <= 1:
            raise click.BadParameter(f"{text!r}: a mean is between 0 and 1")
    return thresholds


GROUPS = {
    "Rows": ("response", "knowledge", "question", "history", "id", "label", "form", "limit",
             "turns", "knowledge_pool", "rankers"),
    "Scores": ("metrics", "preset", "assigned", "device", "dtype", "calibrations"),
    "Results": ("out", "report", "group_by", "no_claim", "thresholds", "texts",
                "evidence", "raw_csv", "as_json", "signature", "quiet", "strict", "overwrite"),
    "Running": ("cache", "no_cache", "engine", "address", "actors", "gpus_per_actor"),
}


@command("score", groups=GROUPS,
         overwrites="Replace existing files, and restart an interrupted run from the beginning.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=Read())
@shared.format_option("FILE")
@click.option("--response", metavar="COL", help="Column of the response.  [default: by name]")
@click.option("--knowledge", "--context", "knowledge", metavar="COL",
              help="Column of the knowledge.  [default: by name]")
@click.option("--history", metavar="COL", help='Column of the history; "" for none.')
@click.option("--question", metavar="COL", help="Column of the question.  [default: by name]")
@click.option("--id", metavar="COL", help="Column of the id.  [default: by name]")
@click.option("--label", metavar="COL",
              help="Column of the human label, for the page.  [default: by name]")
@shared.metrics_option()
@click.option("-o", "--out", metavar="PATH", type=Written(
                  lambda out: (beside(out), unfinished_path(out)), guard=_replaceable),
              help=f"Write the scores of each row: {', '.join(SUFFIXES)}.")
@click.option("--texts/--no-texts", default=True,
              help="With --out: also write the texts of the rows, which q2 report shows.")
@click.option("--raw-csv", is_flag=True,
              help="With --out as .csv: put no ' before texts that a spreadsheet might run.")
@click.option("--report", metavar="PATH", type=Written(guard=PAGE),
              help="Write a web page with the scores and their evidence.")
@click.option("--calibration", "calibrations", metavar="FILE", type=Read(), multiple=True,
              help="Apply a calibration made by q2 calibrate; may be repeated.")
@click.option("--evidence/--no-evidence", default=True,
              help="With --out or --report: find the sentence of the knowledge that decides each "
              f"claim ({', '.join(name for name, one in METRICS.items() if one.evidence)}).")
@click.option("--knowledge-pool", metavar="FILE|row", type=Read(),
              help="Choose each row's knowledge by its history, from the snippets of a file, or "
              '("row") from the lines of its own knowledge.')
@click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
              help="With --knowledge-pool: a ranker as in q2 select rank.  [default: bundled]")
@click.option("--group-by", metavar="COL", multiple=True,
              help="Also print the means for each value of this column; may be repeated.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1),
              help="Read only the first N rows of each file.")
@click.option("--turns", type=click.Choice(get_args(Turns)), default="last",
              help="Of a chat, score the last turn of the assistant, or each turn by what tools "
              "had returned until then.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of the table.")
@click.option("--no-claim", type=click.Choice(get_args(NoClaim)), default=NO_CLAIM,
              help="How empty responses and responses without a claim are averaged: as 0 (zero), "
              "or not at all (exclude).")
@click.option("--fail-under", "thresholds", metavar="[METRIC=]VALUE", multiple=True,
              callback=_threshold,
              help="Exit with code 4 if the mean of METRIC (default: of any metric) is lower or "
              "missing; may be repeated.")
@click.option("--strict", is_flag=True, help="Stop at the first row that cannot be scored.")
@click.option("--quiet", is_flag=True, help="Print no table and no progress bar.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local",
              help="Score in this process, or on a Ray cluster.")
@click.option("--address", metavar="HOST:PORT",
              help="ray: address of a running cluster.  [default: start one on this machine]")
@click.option("--actors", type=click.IntRange(min=1), default=1,
              help="ray: number of processes that score, each with its own models.")
@click.option("--gpus-per-actor", type=click.FloatRange(min=0), default=0,
              help="ray: GPUs of each actor; 0.5 lets two actors share one.")
@shared.CACHE_OPTIONS
@shared.MODEL_OPTIONS
@shared.SIGNATURE_OPTION
def score(**options: Any) -> None:
    """Score the rows of files.

    A FILE is .jsonl, .json, .csv, .tsv or .parquet, a folder of datasets, or - (standard input).

    With --out, the same command resumes an interrupted run. The output appears at its path when it
    is complete.

    Exit codes: 0 all rows were scored; 1 some rows could not be scored; 2 wrong option or file;
    3 the machine could not do it (package, model, disk, network); 4 a mean is under --fail-under;
    130 Ctrl-C.
    """
    quiet, out = options["quiet"], options["out"]
    _check_together(options)
    job = _job(options)
    cluster = None if options["engine"] == "local" else Cluster(
        options["address"], options["actors"], options["gpus_per_actor"])
    job.check(strict=options["strict"])
    run = JobRun(job, cluster, strict=options["strict"], listener=_listener(job, quiet))
    try:
        with nullcontext() if options["report"] is None else Spool() as rows:
            results = run.run(out, rows, overwrite=overwriting())
            if rows is not None:
                from q2_metric.report.page import write_page

                write_page(options["report"], results, rows)
    except (KeyboardInterrupt, Exception) as error:
        if (interrupted := _interrupted(error, out)) is None:
            raise
        raise interrupted from error
    costs = _costs(options)
    if options["as_json"]:
        whole = {"version": __version__, "files": [result.as_json() for result in results]}
        print_json(whole | ({"endpoints": list(map(asdict, costs))} if costs else {}))
    elif not quiet and any(result.rows for result in results):
        from q2_metric.cli.render import print_next, print_systems

        print_systems(results, whole=options["signature"])
        for cost in costs:
            warn(str(cost))
        print_next(out, options["report"])
    _end(results, options["thresholds"])


def _end(results: Sequence[SystemRun], thresholds: Mapping[str, float]) -> None:
    rows = sum(result.rows for result in results)
    failed = sum(result.failed for result in results)
    empty = [result.name for result in results if not result.rows]
    for file in empty:
        warn(f"error: {file}: has no rows")
    if not rows:
        sys.exit(commands.WRONG_USE)
    if failed:
        warn(f"{failed} of {rows} rows could not be scored")
    below = list(_below(results, thresholds))
    for line in below:
        warn(line)
    if below:
        sys.exit(commands.TOO_LOW)
    if failed or empty:
        sys.exit(commands.ROWS_FAILED)


def _costs(options: Mapping[str, Any]) -> list[Cost]:
    names = dict.fromkeys(options[name] for name in STAGES if is_endpoint(options.get(name)))
    return [cost for name in names if (cost := endpoint(name).cost).requests or cost.claims]


def _interrupted(error: BaseException, out: str | None) -> commands.OneLineError | None:
    """How to resume the run; ``None`` if nothing is kept, or if it would be interrupted again."""
    words, code = ("stopped", commands.STOPPED) if isinstance(error, KeyboardInterrupt) else (
        str(error) if isinstance(error, ModelError) else machine_fault(error), commands.COULD_NOT)
    kept = out is not None and unfinished_path(out).exists()
    if words is None or isinstance(error, InputError) or not kept:
        return None
    same = f"the same command{' without --overwrite' if overwriting() else ''}"
    return commands.OneLineError(
        f"{words}; {out}.unfinished keeps what is finished: {same} resumes from there", code)


def _below(results: Sequence[SystemRun], thresholds: Mapping[str, float]) -> Iterator[str]:
    for result in results:
        for system in result.scores:
            of_all = thresholds.get("") if system.name in METRICS else None
            least = thresholds.get(system.name, of_all)
            if least is None:
                continue
            if system.value is None:
                yield f"{result.name}: {system.name} has no mean to compare with {least:g}"
            elif system.value < least:
                yield f"{result.name}: {system.name} is {system.value:.4g}, under {least:g}"


def _check_together(options: Mapping[str, Any]) -> None:
    """Refuses options that would have no effect together, and outputs that cannot be written."""
    alone, local = options["out"] is None, options["engine"] == "local"
    unmet = {
        "--overwrite needs --out or --report":
            alone and options["report"] is None and overwriting(),
        "--no-texts needs --out": alone and not options["texts"],
        "--raw-csv needs --out": alone and options["raw_csv"],
        "--address needs --engine ray": local and options["address"] is not None,
        "--actors needs --engine ray": local and options["actors"] != 1,
        "--gpus-per-actor needs --engine ray": local and options["gpus_per_actor"] != 0,
        "--ranker needs --knowledge-pool":
            options["knowledge_pool"] is None and options["rankers"],
    }
    for words, wrong in unmet.items():
        if wrong:
            raise InputError(words)
    known = columns(options["metrics"])
    for name in options["thresholds"]:
        if name and name not in known:
            raise InputError(f"--fail-under: {name!r} is not computed; --metrics computes "
                             f"{', '.join(known)}")
    if options["out"] is not None:
        check_output(options["out"], options["files"])
    if options["report"] is not None:
        check_place(options["report"])


def _job(options: Mapping[str, Any]) -> Job:
    pool, rankers = options["knowledge_pool"], options["rankers"]
    if pool not in (None, ROW) and os.path.exists(pool) and not rereadable(pool):
        # The file is read twice: once for its digest, which the manifest records.
        raise InputError(f"{pool}: can be read only once; --knowledge-pool needs a file")
    knowledge = options["knowledge"] if pool in (None, ROW) else ""
    same = ("files", "preset", "no_claim", "texts", "raw_csv", "form", "group_by", "limit", "turns")
    return Job(
        columns=Columns(options["response"], knowledge, options["history"], options["id"],
                        options["label"], options["question"]),
        metrics=tuple(options["metrics"]),
        keywords=shared.load_keywords(options),
        calibrations=tuple(Calibration.load(path) for path in options["calibrations"]),
        evidence=options["evidence"]
        and (options["out"] is not None or options["report"] is not None),
        choice=None if pool is None else PoolChoice(pool, rankers or ("bundled",)),
        cache=shared.cache_file(options),
        **{name: options[name] for name in same},
    )


def _listener(job: Job, quiet: bool) -> Listener:
    if quiet:
        return Listener(warn)
    if not commands.on_terminal():
        return Listener(warn, note=warn)
    from q2_metric.cli.render import progress_bar

    return Listener(warn, note=warn, progress=lambda file: progress_bar(
        file, sum(1 for _ in job.rows(file)) if rereadable(file) else None))
