"""What ``q2 select`` and ``q2 respond`` share: options, rankers, and messages of a training."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click

from q2_metric.cli.commands import FILE, Read, Written
from q2_metric.cli.options import all_options
from q2_metric.errors import InputError
from q2_metric.files import CHOOSE, check_place, replacing
from q2_metric.knowledge.choose import combined, load_ranker, members
from q2_metric.knowledge.dstc import LabelledTurns, read_labelled, read_pool
from q2_metric.knowledge.training import STATE, Progress, TrainSettings
from q2_metric.knowledge.types import Pool, Ranked, Ranker

NEW_FILE = Written(dir_okay=False, path_type=Path)


def _check_folder(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not any(folder.glob(f"**/{STATE}/*")):
        raise InputError(f"{folder}: the folder is not empty and holds no training; {CHOOSE}")


NEW_FOLDER = Written(guard=_check_folder, file_okay=False, path_type=Path)
RANKER_OPTIONS = all_options(
    click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
                 default=["bundled"],
                 help="bundled, bm25, or the folder of a trained ranker; may be "
                 "repeated: several rankers vote."),
    click.option("--egr", type=click.Choice(["exact", "fuzzy", "none"]), default="exact",
                 help="How Entity Guided Reranking matches names."),
    click.option("--vote", type=click.Choice(["hard", "soft"]), default="hard",
                 help="How several rankers vote."),
)
RSS_OPTIONS = all_options(
    click.option("--narrow", type=click.IntRange(min=1), metavar="N",
                 help="A trained ranker scores only the N snippets that the ranker bundled keeps."),
    click.option("--device", default="auto", help="Where the models run."),
    click.option("--batch-size", type=click.IntRange(min=1), help="Rows in one model call."),
)


def train_options(rate: float = 1e-5, epochs: int = 20) -> Callable[[Any], Any]:
    """The options of a training. The defaults are those of the paper."""
    return all_options(
        click.option("--base", required=True, metavar="MODEL", type=Read(),
                     help="Hub name or folder of the model to train from."),
        click.option("--out", "folder", type=NEW_FOLDER, required=True,
                     help="Folder of the trained model. An interrupted training resumes from it."),
        click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=rate,
                     help="Learning rate of Adam."),
        click.option("--train-batch", "batch_size", type=click.IntRange(min=1), default=16,
                     help="Number of examples in a training step."),
        click.option("--epochs", type=click.IntRange(min=1), default=epochs,
                     help="Number of passes over the training data."),
        click.option("--evaluate-every", type=click.IntRange(min=1), show_default="an epoch",
                     help="Number of steps between evaluations; each evaluation saves the state."),
        click.option("--patience", type=click.IntRange(min=1), show_default="none",
                     help="End the training after this many evaluations without improvement, "
                     "instead of after all epochs."),
        click.option("--seed", type=int, default=0, help="Random seed."),
        click.option("--device", default="auto", help="Where the model runs."),
    )


def labelled_options(*, logs: bool = True) -> Callable[[Any], Any]:
    """``logs`` is whether the dialogues must be given."""
    without = "" if logs else " Without them, the responses of the labels are the dialogues."
    return all_options(
        click.option("--pool", "pool_file", type=FILE, required=True, help="File of the snippets."),
        click.option("--logs", type=FILE, required=logs,
                     help=f"Dialogues in the format of DSTC9.{without}"),
        click.option("--labels", type=FILE, required=True, help="Labels of the dialogues."),
        click.option("--dev-logs", type=FILE, required=logs,
                     help="Development dialogues, by which the best model is chosen."),
        click.option("--dev-labels", type=FILE, required=True,
                     help="Labels of the development dialogues."),
    )


def ranked_row(ranked: Ranked) -> dict[str, Any]:
    return {**asdict(ranked.snippet), "score": ranked.score}


def training_turns(options: dict[str, Any]) -> tuple[Pool, LabelledTurns, LabelledTurns]:
    """The pool, the training turns and the development turns that the options name."""
    pool = read_pool(options["pool_file"])
    parts = (read_labelled(options["logs"], options["labels"], pool),
             read_labelled(options["dev_logs"], options["dev_labels"], pool))
    if not (held := options.get("without_domains")):
        return pool, *parts
    turns, dev = (
        part.at([i for i, label in enumerate(part.labels)
                 if not label.target or label.knowledge[0][0] not in held]) for part in parts)
    return Pool([one for one in pool if one.domain not in held], pool.source), turns, dev


def settings_of(options: dict[str, Any]) -> TrainSettings:
    return TrainSettings(**{field.name: options[field.name] for field in fields(TrainSettings)})


def reporter(task: str) -> Callable[[Progress, float], None]:
    """Prints the results of evaluations in a training. ``task`` is what they measure: "dev F1"."""
    return lambda progress, value: click.echo(
        f"step {progress.step}: {task} {value:.4f} (best {progress.best:.4f} "
        f"at step {progress.best_step})", err=True)


def finished(progress: Progress, folder: Path) -> None:
    click.echo(f"{folder}: best {progress.best} at step {progress.best_step} of {progress.step}")


def load_rankers(options: dict[str, Any]) -> list[Ranker]:
    """The rankers of ``--ranker``, of an ensemble all. A repeated name is loaded once."""
    how = {name: options[name] for name in ("narrow", "device", "batch_size")}
    return [load_ranker(name, **how)
            for given in dict.fromkeys(options["rankers"]) for name in members(given)]


def combined_ranker(options: dict[str, Any]) -> Ranker:
    """One ranker in which those of ``--ranker`` vote, and Entity Guided Reranking (EGR) follows."""
    egr = None if options["egr"] == "none" else options["egr"]
    return combined(load_rankers(options), egr, options["vote"])


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Writes a .jsonl file, which appears at its path only when it is complete."""
    check_place(path)
    with replacing(path) as unfinished, \
            open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
