"""The command ``q2``: arguments -> read -> score -> write.

Only click and the standard library are imported here; each command imports what it runs
on, so that ``q2 --help`` is quick.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from q2_metric._version import __version__
from q2_metric.errors import InputError, Q2Error

if TYPE_CHECKING:
    from q2_metric.io import BadRow, Columns, Writer
    from q2_metric.knowledge.scoring import Selector
    from q2_metric.report.page import Spool
    from q2_metric.types import Example, Metric, Score, SystemScore

BLOCK = 256
"""Rows scored together and then written: enough to fill batches, little to lose."""

ERRORS_SHOWN = 5
"""Bad rows that are explained on stderr; the others are counted."""

Progress = Callable[[int], None]
"""Called with the number of rows that were just finished."""

Command = TypeVar("Command", bound=Callable[..., Any])


# --- errors ----------------------------------------------------------------------------


class OneLineError(click.ClickException):
    """An error of ours, shown as one line: nothing could be done."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        from q2_metric.render import plain

        click.echo(f"q2: error: {' '.join(plain(self.message).split())}", file, err=file is None)


class BadRowError(OneLineError):
    """A row that cannot be scored, under --strict."""

    exit_code = 1


class Group(click.Group):
    """A group whose commands report a :class:`Q2Error` as one line, without traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Q2Error as error:
            raise OneLineError(str(error)) from error


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
)

Q2_SETTINGS = (
    "decoding",
    "questions_per_span",
    "personal",
    "nli",
    "fallback",
    "drop_unanswerable",
    "coreference",
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

SCALE_SETTINGS = ("chunk_size", "overlap", "aggregate", "branches")
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


def load(names: Sequence[str], options: Mapping[str, Any]) -> list[Metric]:
    """The metrics for the command's options; only what was given is passed on."""
    from q2_metric import metrics

    given = {key: value for key, value in options.items() if value is not None}
    return metrics.load_metrics(
        names,
        options["preset"],
        device=options["device"],
        dtype=options["dtype"],
        batch_size=options["batch_size"],
        models={key: given[key] for key in metrics.STAGES if key in given},
        q2={key: given[key] for key in Q2_SETTINGS if key in given},
        scale={key: given[key] for key in SCALE_SETTINGS if key in given},
    )


def _print_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"q2 {__version__}")
        ctx.exit()


LATER = {
    "meta-eval": "q2_metric.meta.cli:meta_eval",
    "calibrate": "q2_metric.meta.cli:calibrate",
    "select": "q2_metric.knowledge.cli:select",
    "respond": "q2_metric.knowledge.respond_cli:respond",
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


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of a file: rows read, rows that could not be scored, system scores.

    ``columns`` are those that were read, by field; empty for a file without rows.
    """

    file: str
    rows: int
    failed: int
    seconds: float
    systems: tuple[SystemScore, ...]
    columns: Mapping[str, str | None]

    @property
    def rows_per_second(self) -> float:
        """Rows that were scored, by the time it took (models already loaded)."""
        return (self.rows - self.failed) / self.seconds if self.seconds > 0 else 0.0


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
@MODEL_OPTIONS
@Q2_OPTIONS
@SCALE_OPTIONS
def score(
    files: tuple[str, ...],
    response: str | None,
    knowledge: str | None,
    history: str | None,
    id_: str | None,
    metrics: list[str],
    out: str | None,
    report: str | None,
    calibrations: tuple[str, ...],
    evidence: bool,
    knowledge_pool: str | None,
    rankers: tuple[str, ...],
    as_json: bool,
    strict: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Score the rows of files (.jsonl, .csv, .tsv, .parquet; - is jsonl on stdin).

    Exit code: 0 all rows were scored, 1 some could not be, 2 nothing could be done.
    """
    from q2_metric.io import Columns, check_output, open_writer
    from q2_metric.metrics.calibration import Calibration, calibrate

    selector = None
    if rankers and knowledge_pool is None:
        raise InputError("--ranker is for --knowledge-pool")
    if knowledge_pool is not None:
        from q2_metric.knowledge.scoring import Selector

        selector = Selector(knowledge_pool, rankers or ("bundled",))
        knowledge = knowledge if selector.own else ""
    columns = Columns(response, knowledge, history, id_)
    _check_inputs(files, columns)
    if out is not None:
        check_output(out, files)
    page: AbstractContextManager[Spool | None] = nullcontext()
    results: list[FileResult] = []
    if report is not None:
        from q2_metric.report.page import check_page, open_page

        page = open_page(report, results)
        check_page(report, [*files, out] if out else files)
    read = [Calibration.load(path) for path in calibrations]
    decided = [calibration.metric for calibration in read]
    loaded = calibrate(load(metrics, options), read)

    several = len(files) > 1
    opened = (
        open_writer(
            out,
            metrics,
            with_file=several,
            inputs=files,
            decided=decided,
            selected=selector is not None,
        )
        if out
        else nullcontext()
    )
    with opened as writer, page as spool:
        for file in files:
            with _progress(file, columns, shown=not quiet and sys.stderr.isatty()) as progress:
                results.append(
                    _score_file(
                        file,
                        columns,
                        loaded,
                        writer,
                        spool,
                        name_file=several,
                        strict=strict,
                        evidence=evidence and (out is not None or report is not None),
                        decided=decided,
                        progress=progress,
                        selector=selector,
                    )
                )
    if as_json:
        click.echo(json.dumps(_summary(results), indent=2, ensure_ascii=False, allow_nan=False))
    elif not quiet:
        from q2_metric.render import print_systems

        print_systems(results)
    failed = sum(result.failed for result in results)
    if failed:
        rows = sum(result.rows for result in results)
        click.echo(f"q2: {failed} of {rows} rows could not be scored", err=True)
        sys.exit(1)


def _check_inputs(files: Sequence[str], columns: Columns) -> None:
    """Finds missing files and columns before any model is loaded."""
    from q2_metric.io import STDIN, read_rows

    if files.count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    for file in filter(_rereadable, files):
        next(read_rows(file, columns), None)


def _rereadable(file: str) -> bool:
    """Whether reading a file now leaves it there for later: not of stdin and pipes."""
    from q2_metric.io import STDIN

    return file != STDIN and not Path(file).is_fifo()


def _score_file(
    file: str,
    columns: Columns,
    metrics: Sequence[Metric],
    writer: Writer | None,
    spool: Spool | None,
    *,
    name_file: bool,
    strict: bool,
    evidence: bool,
    decided: Sequence[str],
    progress: Progress,
    selector: Selector | None = None,
) -> FileResult:
    """Scores a file block by block; memory holds one block and 8 bytes a score."""
    from q2_metric.io import BadRow, output_row, read_rows
    from q2_metric.metrics.system import Q2, Q2_NO_NLI, Tally, without_nli

    names = [metric.name for metric in metrics]
    signatures = {metric.name: metric.signature for metric in metrics}
    if selector is not None:
        signatures = {name: selector.sign(signatures[name]) for name in names}
    tallies = {name: [Tally(name)] for name in names}
    if Q2 in tallies:
        tallies[Q2].append(Tally(Q2_NO_NLI))
        signatures[Q2_NO_NLI] = without_nli(signatures[Q2])
    rows, failed, seconds = 0, 0, 0.0
    used: dict[str, str | None] = {}
    read = read_rows(file, columns, on_columns=lambda found: used.update(asdict(found)))
    if selector is not None:
        read = selector.rows(read)
    for block in _blocks(read, strict):
        started = time.perf_counter()
        scores = _score_block(block, metrics, evidence)
        seconds += time.perf_counter() - started
        for by_metric in scores:
            for name, one in by_metric.items():
                for tally in tallies[name]:
                    tally.add([one])
        for row in block:
            if isinstance(row, BadRow):
                failed += 1
                _explain_bad(row, failed)
        if writer is not None or spool is not None:
            label = file if name_file else None
            numbered = enumerate(zip(block, scores, strict=True), start=rows)
            out = [
                output_row(
                    i, row, found, names, file=label, decided=decided,
                    selected=selector is not None,
                )
                for i, (row, found) in numbered
            ]
            if writer is not None:
                writer.write(out)
            if spool is not None:
                spool.write(block, out)
        rows += len(block)
        progress(len(block))
    if selector is not None:
        used["knowledge"] = f"chosen from {selector.source} by {selector.name}"
    systems = [t.result(signatures[t.name]) for name in names for t in tallies[name]]
    return FileResult(file, rows, failed, seconds, tuple(systems), used)


def _blocks(rows: Iterator[Example | BadRow], strict: bool) -> Iterator[list[Example | BadRow]]:
    from q2_metric.io import BadRow

    while block := list(islice(rows, BLOCK)):
        bad = next((row for row in block if isinstance(row, BadRow)), None)
        if strict and bad is not None:
            raise BadRowError(bad.error)
        yield block


def _score_block(
    block: Sequence[Example | BadRow], metrics: Sequence[Metric], evidence: bool
) -> list[dict[str, Score]]:
    """The scores of each row by metric, empty for rows that cannot be scored."""
    from q2_metric.io import BadRow
    from q2_metric.metrics import score_rows

    rows = [None if isinstance(row, BadRow) else row for row in block]
    return score_rows(metrics, rows, evidence=evidence)


def _explain_bad(row: BadRow, count: int) -> None:
    from q2_metric.render import plain

    if count <= ERRORS_SHOWN:
        click.echo(f"q2: {plain(row.error)}", err=True)
    elif count == ERRORS_SHOWN + 1:
        click.echo("q2: … further rows are only counted; --out has all errors", err=True)


@contextmanager
def _progress(file: str, columns: Columns, *, shown: bool) -> Iterator[Progress]:
    if not shown:
        yield lambda _rows: None
        return
    from q2_metric.io import read_rows
    from q2_metric.render import progress_bar

    total = sum(1 for _ in read_rows(file, columns)) if _rereadable(file) else None
    with progress_bar(file, total) as advance:
        yield advance


def _summary(results: Sequence[FileResult]) -> dict[str, Any]:
    return {
        "version": __version__,
        "files": [
            {
                "file": result.file,
                "rows": result.rows,
                "failed": result.failed,
                "rows_per_second": result.rows_per_second,
                "columns": result.columns,
                "scores": {system.name: asdict(system) for system in result.systems},
            }
            for result in results
        ],
    }


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
    from q2_metric.io import is_blank, output_row
    from q2_metric.types import Example

    for field in ("response", "knowledge"):
        if is_blank(options[field]):
            raise InputError(f"the {field} is empty")
    example = Example(options["response"], options["knowledge"], options["history"])
    loaded = load(names, options)
    (scores,) = _score_block([example], loaded, evidence=True)
    if as_json:
        row = output_row(0, example, scores, names)
        row["signatures"] = {metric.name: metric.signature for metric in loaded}
        click.echo(json.dumps(row, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from q2_metric.render import print_explanation

        print_explanation(example, scores, [metric.signature for metric in loaded])


# --- q2 register -----------------------------------------------------------------------


@main.command()
def register() -> None:
    """Make evaluate.load("q2") and evaluate.load("scale") find this package; print the files."""
    from q2_metric.hf.register import register as place

    for script in place():
        click.echo(script)


# --- q2 presets, q2 data ---------------------------------------------------------------


@main.command()
def presets() -> None:
    """List the presets and the models behind them."""
    from q2_metric.models.presets import PRESETS
    from q2_metric.render import print_presets

    print_presets(list(PRESETS.values()))


@main.group(cls=Group)
def data() -> None:
    """List, fetch and find evaluation sets."""


@data.command("list")
def data_list() -> None:
    """List the data sets, and whether they are on this machine."""
    from q2_metric.data.catalogue import CATALOGUE
    from q2_metric.data.download import state
    from q2_metric.render import print_data_sets

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
