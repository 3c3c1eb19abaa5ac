"""What ``q2 select`` and ``q2 respond`` share: options, rankers, and how a training is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from q2_metric.cli.commands import Read, Written
from q2_metric.cli.options import all_options
from q2_metric.errors import InputError
from q2_metric.files import CHOOSE, check_place, replacing

if TYPE_CHECKING:
    from q2_metric.knowledge.training import Progress, TrainSettings
    from q2_metric.knowledge.types import Ranked, Ranker

FILE = Read(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = Written(dir_okay=False, path_type=Path)


def _check_folder(folder: Path) -> None:
    """Refuses a folder that has something, unless a training left it."""
    from q2_metric.knowledge.training import ABOUT, STATE

    if folder.is_dir() and any(folder.iterdir()) and not any((folder / STATE).rglob(ABOUT)):
        raise InputError(f"{folder}: is not empty and is not the folder of a training; {CHOOSE}")


NEW_FOLDER = Written(guard=_check_folder, file_okay=False, path_type=Path)
RANKER_OPTIONS = all_options(
    click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
                 default=["bundled"],
                 show_default=True,
                 help="bundled, bundled-words, bm25, or a trained RSS; several vote."),
    click.option("--egr", type=click.Choice(["exact", "fuzzy", "none"]), default="exact",
                 show_default=True, help="Entity Guided Reranking: how names are matched."),
    click.option("--vote", type=click.Choice(["hard", "soft"]), default="hard",
                 show_default=True, help="Of several rankers."),
)
RSS_OPTIONS = all_options(
    click.option("--first", default="bundled", show_default=True, metavar="NAME",
                 help="RSS: the first stage, bundled or bm25."),
    click.option("--narrow", type=click.IntRange(min=1), show_default="20",
                 help="RSS: snippets that the first stage leaves."),
    click.option("--device", default="auto", show_default=True),
    click.option("--batch-size", type=click.IntRange(min=1), help="Rows a model sees at once."),
)
TRAIN_OPTIONS = all_options(
    click.option("--base", required=True, metavar="MODEL", type=Read(),
                 help="Hub name or folder."),
    click.option("--out", "folder", type=NEW_FOLDER, required=True,
                 help="Folder of the trained model; a stopped run goes on there."),
    click.option("--rate", type=float, default=1e-5, show_default=True, help="Of Adam."),
    click.option("--train-batch", type=click.IntRange(min=1), default=16, show_default=True),
    click.option("--epochs", type=click.IntRange(min=1), default=10, show_default=True),
    click.option("--evaluate-every", type=click.IntRange(min=1), show_default="an epoch",
                 help="Steps between judgements (and saved states)."),
    click.option("--patience", type=click.IntRange(min=1), default=3, show_default=True,
                 help="Judgements without a better one that end the training."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--device", default="auto", show_default=True),
)
LABELLED_OPTIONS = all_options(
    click.option("--pool", "pool_file", type=FILE, required=True, help="Snippets."),
    click.option("--logs", type=FILE, required=True, help="Dialogues, as DSTC9 has them."),
    click.option("--labels", type=FILE, required=True, help="Their labels."),
)
DEV_OPTIONS = all_options(
    click.option("--dev-logs", type=FILE, required=True, help="Dialogues that choose the model."),
    click.option("--dev-labels", type=FILE, required=True),
)


def ranked_row(ranked: Ranked) -> dict[str, Any]:
    """A ranked snippet as an object of the output."""
    snippet = ranked.snippet
    return {
        "domain": snippet.domain,
        "entity_id": snippet.entity_id,
        "entity_name": snippet.entity_name,
        "doc_id": snippet.doc_id,
        "question": snippet.question,
        "answer": snippet.answer,
        "score": ranked.score,
    }


def settings_of(options: dict[str, Any]) -> TrainSettings:
    """The training settings of :data:`TRAIN_OPTIONS`."""
    from q2_metric.knowledge.training import TrainSettings

    names = ("rate", "epochs", "evaluate_every", "patience", "seed")
    given = {name: options[name] for name in names}
    return TrainSettings(batch_size=options["train_batch"], **given)


def reporter(what: str) -> Callable[[Progress, float], None]:
    """Prints each judgement on stderr."""

    def report(progress: Progress, value: float) -> None:
        click.echo(f"step {progress.step}: {what} {value:.4f} (best {progress.best:.4f} "
                   f"at step {progress.best_step})", err=True)

    return report


def finished(progress: Progress, folder: Path) -> None:
    """Prints how a training went."""
    click.echo(f"{folder}: best {progress.best} at step {progress.best_step} of {progress.step}")


def load_rankers(options: dict[str, Any]) -> list[Ranker]:
    """The rankers of :data:`RANKER_OPTIONS`, each once, run as :data:`RSS_OPTIONS` say."""
    from q2_metric.knowledge.choose import load_ranker

    return [
        load_ranker(name, first=options["first"], narrow=options["narrow"],
                    device=options["device"], batch_size=options["batch_size"])
        for name in dict.fromkeys(options["rankers"])
    ]


def combined_ranker(options: dict[str, Any]) -> Ranker:
    """They as one, with EGR and votes."""
    from q2_metric.knowledge.choose import combined

    egr = None if options["egr"] == "none" else options["egr"]
    return combined(load_rankers(options), egr, options["vote"])


@contextmanager
def writing(path: Path) -> Iterator[IO[str]]:
    """Opens a text file that takes its place when it is complete; a new one is private."""
    check_place(path)
    with replacing(path, private=True) as unfinished, \
            open(unfinished, "w", encoding="utf-8") as file:
        yield file
