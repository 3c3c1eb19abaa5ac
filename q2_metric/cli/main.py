"""The command ``q2``: arguments -> read -> score -> write.

Only click and the standard library are imported here; each command imports what it runs
on, so that ``q2 --help`` is quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from q2_metric._version import __version__
from q2_metric.errors import BadRowError, InputError, Q2Error

if TYPE_CHECKING:
    from q2_metric.engine.job import Job
    from q2_metric.engine.ray import Cluster
    from q2_metric.engine.results import FileResult
    from q2_metric.types import Metric

Progress = Callable[[int], None]
"""Called with the number of rows that were just finished."""

Command = TypeVar("Command", bound=Callable[..., Any])


# --- errors ----------------------------------------------------------------------------


class OneLineError(click.ClickException):
    """An error of ours, shown as one line: nothing could be done."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        from q2_metric.cli.render import plain

        click.echo(f"q2: error: {' '.join(plain(self.message).split())}", file, err=file is None)


class OneBadRow(OneLineError):
    """A row that cannot be scored, under --strict; others could have been."""

    exit_code = 1


class Group(click.Group):
    """A group whose commands report a :class:`Q2Error` as one line, without traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Q2Error as error:
            kind = OneBadRow if isinstance(error, BadRowError) else OneLineError
            raise kind(str(error)) from error


# --- options ---------------------------------------------------------------------------


def all_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# Settings have no default here: what is not given is left to the metric, whose default is
# the paper's. `show_default` says which that is.

MODEL_OPTIONS = all_options(
    click.option("--preset", default="bundled", show_default=True, help="Which models."),
    click.option("--question-model", metavar="MODEL", help="Hub name or folder, for Q²."),
    click.option("--reader-model", metavar="MODEL", help="Hub name or folder, for Q²."),
    click.option("--nli-model", metavar="MODEL", help="Hub name or folder, for Q² and nli."),
    click.option("--coreference-model", metavar="MODEL", help="For --coreference."),
    click.option("--scale-model", metavar="MODEL", help="Hub name or folder, for SCALE."),
    click.option("--bertscore-model", metavar="MODEL", help="Hub name or folder of an encoder."),
    click.option("--device", help="cpu, cuda, cuda:1, …  [default: the preset's]"),
    click.option("--dtype", help="float32, bfloat16, …  [default: the preset's]"),
    click.option("--batch-size", type=click.IntRange(min=1), help="Items a model sees at once."),
    click.option("--attn-implementation", metavar="NAME", help="sdpa, flash_attention_2, …"),
    click.option("--compile", is_flag=True, default=None, help="Compile models (torch.compile)."),
)

Q2_OPTIONS = all_options(
    click.option(
        "--decoding",
        type=click.Choice(["beam", "greedy", "sample"]),
        show_default="beam",
        help="Q²: how questions are generated.",
    ),
    click.option(
        "--questions-per-span",
        type=click.Choice(["first_valid", "all"]),
        show_default="first_valid",
        help="Q²: which valid questions of a span count.",
    ),
    click.option(
        "--personal",
        type=click.Choice(["remove", "keep"]),
        show_default="remove",
        help="Q²: questions about the speakers.",
    ),
    click.option(
        "--nli/--no-nli",
        default=None,
        show_default="nli",
        help="Q²: compare answers by entailment, or by token F1 alone.",
    ),
    click.option(
        "--fallback/--no-fallback",
        default=None,
        show_default="fallback",
        help="Q²: end-to-end NLI where no valid question was found.",
    ),
    click.option(
        "--drop-unanswerable",
        is_flag=True,
        default=None,
        help="Q²*: leave out unanswerable questions where another is answerable.",
    ),
    click.option(
        "--coreference",
        is_flag=True,
        default=None,
        help="Q² v1: resolve the response's pronouns over the history first.",
    ),
)

SCALE_OPTIONS = all_options(
    click.option(
        "--chunk-size",
        type=click.IntRange(min=1),
        show_default="the preset's; the paper's is 512",
        help="SCALE: tokens of a chunk of the knowledge.",
    ),
    click.option(
        "--overlap",
        type=click.FloatRange(min=0, max=1, max_open=True),
        show_default="0.25",
        help="SCALE: share of a chunk that the next one repeats.",
    ),
    click.option(
        "--chunking",
        type=click.Choice(["knowledge", "prompt"]),
        show_default="knowledge",
        help="SCALE: what a chunk's tokens are counted of.",
    ),
    click.option(
        "--scale-prompt",
        "prompt",
        metavar="NAME",
        help="SCALE: scale, scale-score or minicheck.  [default: the model's]",
    ),
    click.option(
        "--aggregate",
        type=click.Choice(["mean", "min", "hmean"]),
        show_default="mean",
        help="SCALE: from sentences to the response.",
    ),
    click.option(
        "--branches",
        type=click.IntRange(min=2),
        show_default="2",
        help="SCALE: parts a level of the search for evidence.",
    ),
)

CACHE_OPTIONS = all_options(
    click.option(
        "--cache", metavar="PATH", envvar="Q2_CACHE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File that keeps scores for the next run.  [default: in the user's cache]",
    ),
    click.option(
        "--no-cache", is_flag=True, envvar="Q2_NO_CACHE",
        help="Score everything anew and keep nothing (unless --cache names a file).",
    ),
    click.option(
        "--cache-size", metavar="MB", type=click.IntRange(min=1), default=1000,
        show_default=True, help="What was longest unused leaves a larger cache.",
    ),
)

TEXT_OPTIONS = all_options(
    click.option("--response", required=True, help="The response."),
    click.option("--knowledge", required=True, help="The text it should be grounded in."),
    click.option("--history", multiple=True, help="An earlier turn; repeat it, oldest first."),
    click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead."),
)


def metric_names(_ctx: click.Context, _option: click.Parameter, text: str) -> list[str]:
    from q2_metric.metrics import METRICS

    names = list(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    strange = [name for name in names if name not in METRICS]
    if strange or not names:
        what = f"there is no metric {strange[0]!r}" if strange else "no metric is named"
        raise click.BadParameter(f"{what}; there are {', '.join(METRICS)}")
    return [name for name in METRICS if name in names]


def load_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of ``load_metrics`` among the command's options; only what was given."""
    from q2_metric.metrics.registry import keywords
    from q2_metric.models.english import parser as spacy_parser

    spacy_parser.LIGHT = True
    return {key: options[key] for key in keywords() if options.get(key) is not None}


def load(names: Sequence[str], options: Mapping[str, Any]) -> list[Metric]:
    """The metrics for the command's options."""
    from q2_metric import metrics

    return metrics.load_metrics(names, options["preset"], **load_keywords(options))


def cache_file(options: Mapping[str, Any]) -> Path | None:
    """The file of the score cache for the command's options, ``None`` for none."""
    from q2_metric.engine.cache import default_path

    named: Path | None = options["cache"]
    return named or (None if options["no_cache"] else default_path())


def warn(text: str) -> None:
    """A line on stderr."""
    from q2_metric.cli.render import plain

    click.echo(f"q2: {plain(text)}", err=True)


def _print_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"q2 {__version__}")
        ctx.exit()


LATER = {
    "meta-eval": "q2_metric.cli.evaluation:meta_eval",
    "calibrate": "q2_metric.cli.evaluation:calibrate",
    "report": "q2_metric.cli.report:report",
    "select": "q2_metric.cli.select:select",
    "respond": "q2_metric.cli.respond:respond",
}
"""Commands that live elsewhere, imported when they or the list of commands are asked for."""


class Commands(Group):
    """The commands here and those of :data:`LATER`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LATER:
            return super().get_command(ctx, cmd_name)
        module, name = LATER[cmd_name].split(":")
        found: click.Command = getattr(import_module(module), name)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Is a response supported by the text it should be grounded in?"""


# --- q2 score --------------------------------------------------------------------------


@main.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--response", metavar="COL", help="Column of the response.  [default: by name]")
@click.option("--knowledge", metavar="COL", help="Column of the knowledge.  [default: by name]")
@click.option("--history", metavar="COL", help='Column of the history; "" for none.')
@click.option("--id", "id_", metavar="COL", help="Column of the id.  [default: by name]")
@click.option(
    "--metrics",
    default="q2,scale",
    show_default=True,
    callback=metric_names,
    help="Out of q2, scale, f1, bleu, nli, bertscore.",
)
@click.option("--out", metavar="PATH", help="Scores by row, as .jsonl, .csv or .parquet.")
@click.option(
    "--texts/--no-texts",
    default=True,
    show_default=True,
    help="With --out: repeat response, knowledge and history, which q2 report shows.",
)
@click.option("--report", metavar="PATH", help="A web page: scores, and what they rest on.")
@click.option(
    "--calibration",
    "calibrations",
    metavar="FILE",
    multiple=True,
    help="A calibration of q2 calibrate, for the metric that it names; may be repeated.",
)
@click.option(
    "--evidence/--no-evidence",
    default=True,
    show_default=True,
    help="With --out or --report: find the knowledge that supports each sentence (scale).",
)
@click.option(
    "--knowledge-pool",
    metavar="FILE|row",
    help="Choose each row's knowledge by its history, out of these snippets, or with "
    '"row" out of the lines of its own knowledge.',
)
@click.option(
    "--ranker", "rankers", multiple=True, metavar="NAME|FOLDER",
    help="With --knowledge-pool: as for q2 select rank.  [default: bundled]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of the table.")
@click.option("--strict", is_flag=True, help="Stop at the first row that cannot be scored.")
@click.option("--quiet", is_flag=True, help="No table and no progress bar.")
@click.option(
    "--restart", is_flag=True, help="Begin anew where a run that was broken off would go on."
)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
    help="Score in this process, or on a Ray cluster.",
)
@click.option(
    "--address", metavar="HOST:PORT", help="ray: a running cluster.  [default: start one here]"
)
@click.option(
    "--actors", type=click.IntRange(min=1), default=1, show_default=True,
    help="ray: processes that score, each with its own models.",
)
@click.option(
    "--gpus-per-actor", type=click.FloatRange(min=0), default=0, show_default=True,
    help="ray: GPUs of an actor; 0.5 where two share one.",
)
@CACHE_OPTIONS
@MODEL_OPTIONS
@Q2_OPTIONS
@SCALE_OPTIONS
@click.pass_context
def score(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    response: str | None,
    knowledge: str | None,
    history: str | None,
    id_: str | None,
    metrics: list[str],
    out: str | None,
    texts: bool,
    report: str | None,
    calibrations: tuple[str, ...],
    evidence: bool,
    knowledge_pool: str | None,
    rankers: tuple[str, ...],
    as_json: bool,
    strict: bool,
    quiet: bool,
    restart: bool,
    **options: Any,
) -> None:
    """Score the rows of files (.jsonl, .csv, .tsv, .parquet; - is jsonl on stdin).

    With --out, a run that is broken off goes on where it was when the same command is given
    again; OUT is there when it is complete.

    Exit code: 0 all rows were scored, 1 some could not be, 2 nothing could be done.
    """
    from q2_metric.engine.job import ROW, Job
    from q2_metric.engine.score import Scoring, check_inputs
    from q2_metric.metrics.calibration import Calibration
    from q2_metric.rows.columns import Columns
    from q2_metric.rows.writers import check_output

    cluster = _cluster(options)
    if rankers and knowledge_pool is None:
        raise InputError("--ranker is for --knowledge-pool")
    if knowledge_pool not in (None, ROW):
        knowledge = ""
    job = Job(
        files=files,
        columns=Columns(response, knowledge, history, id_),
        metrics=tuple(metrics),
        preset=options["preset"],
        keywords=load_keywords(options),
        calibrations=tuple(Calibration.load(path) for path in calibrations),
        evidence=evidence and (out is not None or report is not None),
        texts=texts,
        knowledge_pool=knowledge_pool,
        rankers=rankers or ("bundled",),
        cache=cache_file(options),
        cache_bytes=options["cache_size"] * 1_000_000,
    )
    check_inputs(job, strict=strict)
    if out is not None:
        check_output(out, files)
    if report is not None:
        from q2_metric.report.page import check_page

        check_page(report, [*files, out] if out else files)
    settings = {
        name: value for name, value in ctx.params.items()
        if name not in NOT_SETTINGS and value is not None
    }
    shown = not quiet and sys.stderr.isatty()
    scoring = Scoring(
        job,
        cluster,
        strict=strict,
        warn=warn,
        note=(lambda _text: None) if quiet else warn,
        progress=lambda some: _progress(some, job, shown=shown),
    )
    results = scoring.run(out, report, settings, restart=restart)
    if as_json:
        click.echo(json.dumps(_summary(results), indent=2, ensure_ascii=False, allow_nan=False))
    elif not quiet:
        from q2_metric.cli.render import print_systems

        print_systems(results)
    from q2_metric.engine.results import total

    rows, failed = total(results)
    if failed:
        click.echo(f"q2: {failed} of {rows} rows could not be scored", err=True)
        sys.exit(1)


NOT_SETTINGS = frozenset(
    "files out report as_json strict quiet restart engine address actors gpus_per_actor "
    "cache no_cache cache_size device batch_size attn_implementation compile calibrations".split()
)
"""Options of ``q2 score`` that do not change what is written. Any other must be the same
when a run goes on; calibrations are compared by their contents."""


def _cluster(options: Mapping[str, Any]) -> Cluster | None:
    """The Ray cluster to score on; ``None`` for this process."""
    ray_only = {"address": None, "actors": 1, "gpus_per_actor": 0}
    if options["engine"] == "ray":
        from q2_metric.engine.ray import Cluster

        return Cluster(options["address"], options["actors"], options["gpus_per_actor"])
    for name, default in ray_only.items():
        if options[name] != default:
            raise InputError(f"--{name.replace('_', '-')} needs --engine ray")
    return None


@contextmanager
def _progress(files: Sequence[str], job: Job, *, shown: bool) -> Iterator[Progress]:
    if not shown or not files:
        yield lambda _rows: None
        return
    from q2_metric.cli.render import progress_bar
    from q2_metric.engine.job import rereadable
    from q2_metric.rows.read import read_rows

    total = None
    if all(map(rereadable, files)):
        total = sum(1 for file in files for _ in read_rows(file, job.columns))
    title = files[0] if len(files) == 1 else f"{len(files)} files"
    with progress_bar(title, total) as advance:
        yield advance


def _summary(results: Sequence[FileResult]) -> dict[str, Any]:
    from q2_metric.engine.results import as_json

    return {"version": __version__, "files": [as_json(result) for result in results]}


# --- q2 explain, q2 evidence -----------------------------------------------------------


@main.command()
@TEXT_OPTIONS
@click.option("--metrics", default="q2,scale", show_default=True, callback=metric_names)
@MODEL_OPTIONS
@Q2_OPTIONS
@SCALE_OPTIONS
def explain(metrics: list[str], as_json: bool, **options: Any) -> None:
    """Score one response and show what the score rests on."""
    _explain(metrics, as_json, options)


@main.command()
@TEXT_OPTIONS
@MODEL_OPTIONS
@SCALE_OPTIONS
def evidence(as_json: bool, **options: Any) -> None:
    """Show, for each sentence of a response, the knowledge that supports it best."""
    _explain(["scale"], as_json, options)


def _explain(names: list[str], as_json: bool, options: Mapping[str, Any]) -> None:
    from q2_metric.metrics import score_rows
    from q2_metric.rows.fields import output_row
    from q2_metric.rows.texts import is_blank
    from q2_metric.types import Example

    for field in ("response", "knowledge"):
        if is_blank(options[field]):
            raise InputError(f"the {field} is empty")
    example = Example(options["response"], options["knowledge"], options["history"])
    loaded = load(names, options)
    (scores,) = score_rows(loaded, [example], evidence=True)
    if as_json:
        row = output_row(0, example, scores, names)
        row["signatures"] = {metric.name: metric.signature for metric in loaded}
        click.echo(json.dumps(row, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from q2_metric.cli.render import print_explanation

        print_explanation(example, scores, [metric.signature for metric in loaded])


# --- q2 register -----------------------------------------------------------------------


@main.command()
def register() -> None:
    """Make evaluate.load("q2") and evaluate.load("scale") find this package; print the files."""
    from hf_plugin.register import register as place

    for script in place():
        click.echo(script)


# --- q2 presets, q2 data ---------------------------------------------------------------


@main.command()
def presets() -> None:
    """List the presets and the models behind them."""
    from q2_metric.cli.render import print_presets
    from q2_metric.models.presets import PRESETS

    print_presets(list(PRESETS.values()))


@main.group(cls=Group)
def data() -> None:
    """List, fetch and find evaluation sets."""


@data.command("list")
def data_list() -> None:
    """List the data sets, and whether they are on this machine."""
    from q2_metric.cli.render import print_data_sets
    from q2_metric.data.catalogue import CATALOGUE
    from q2_metric.data.download import state

    print_data_sets([(dataset, state(dataset)) for dataset in CATALOGUE.values()])


@data.command("download")
@click.argument("name")
def data_download(name: str) -> None:
    """Fetch the data set NAME ("true" for all of that folder); print its files."""
    from q2_metric.data.download import download

    for path in download(name):
        click.echo(path)


@data.command("path")
@click.argument("name", required=False)
def data_path(name: str | None) -> None:
    """Print the folder of the data set NAME, or the folder that sets are fetched to."""
    from q2_metric.data.download import cache_folder, folder

    click.echo(folder(name) if name else cache_folder())


# --- q2 lm-eval-path -------------------------------------------------------------------


@main.command("lm-eval-path")
def lm_eval_path() -> None:
    """Print the folder of the lm-evaluation-harness tasks, for --include_path."""
    from lm_eval_plugin import tasks_folder

    click.echo(tasks_folder())
