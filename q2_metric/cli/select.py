"""``q2 select`` ranks snippets of knowledge for dialogues, and evaluates and trains rankers."""

import json
from pathlib import Path
from typing import Any

import click

from q2_metric.cli import knowledge as shared
from q2_metric.cli.commands import FILE, Group, Read
from q2_metric.cli.experiments import facts, finish
from q2_metric.errors import InputError
from q2_metric.files import check_place
from q2_metric.knowledge.dstc import read_dialogue, read_labelled, read_logs, upto
from q2_metric.knowledge.pools import read_pool
from q2_metric.knowledge.types import Dialogue


@click.group("select", cls=Group)
def select() -> None:
    """Choose the snippets of knowledge that the next turn of a dialogue needs."""


@select.command("rank")
@click.argument("dialogue_file", metavar="DIALOGUE.json", type=FILE, required=False)
@click.option("--pool", "pool_file", type=FILE, required=True,
              help="knowledge.json of DSTC9, or a list of passages (.json, .jsonl).")
@click.option("--turn", type=int,
              help="Number of the turn to answer, from 0.  [default: the last]")
@click.option("--say", multiple=True, metavar="TEXT",
              help="A turn of the dialogue, instead of a file; may be repeated, oldest turn first.")
@click.option("--logs", type=FILE, help="Rank for many dialogues, in the format of DSTC9.")
@click.option("-k", "count", type=click.IntRange(min=1), default=5,
              help="Number of snippets to show.")
@click.option("--out", type=shared.NEW_FILE, help="Write .jsonl with one line for each dialogue.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
@shared.RANKER_OPTIONS
@shared.RSS_OPTIONS
def rank(dialogue_file: Path | None, pool_file: Path, turn: int | None, say: tuple[str, ...],
         logs: Path | None, count: int, out: Path | None, as_json: bool,
         **options: Any) -> None:
    """Rank the snippets of a pool for a dialogue.

    A dialogue is a JSON list of turns. Each turn is a string, or an object with speaker, text and
    nbest (the alternatives of a speech recogniser).
    """
    dialogues = _dialogues(dialogue_file, turn, say, logs)
    pool = read_pool(pool_file)
    ranker = shared.combined_ranker(options)
    names = [dialogue.id or str(i) for i, dialogue in enumerate(dialogues, start=1)]
    ranked = list(zip(names, ranker.rank(dialogues, pool, count), strict=True))
    lines = [{"id": name, "ranker": ranker.name, "snippets": list(map(shared.ranked_row, ranking))}
             for name, ranking in ranked]
    if out is not None:
        shared.write_lines(out, lines)
    if as_json:
        for line in lines:
            click.echo(json.dumps(line, ensure_ascii=False))
    elif out is None:
        from q2_metric.cli.render import print_table

        for name, ranking in ranked:
            print_table(
                ["snippet", "entity", "question", "answer", "score"],
                [["/".join(filter(None, one.snippet.key)), one.snippet.entity_name or "",
                  one.snippet.question, one.snippet.answer, f"{one.score:.3f}"]
                 for one in ranking], title=name if len(lines) > 1 else "")
        click.echo(f"ranker: {ranker.name}")


def _dialogues(
    file: Path | None, turn: int | None, say: tuple[str, ...], logs: Path | None
) -> list[Dialogue]:
    if sum((file is not None, bool(say), logs is not None)) != 1:
        raise InputError("give one of DIALOGUE.json, --say and --logs")
    if logs is not None:
        if turn is not None:
            raise InputError("--turn is for one dialogue, not for --logs")
        return read_logs(logs)
    if file is not None:
        return [read_dialogue(file, turn)]
    spoken = Dialogue.of(*say)
    return [spoken if turn is None else upto(spoken, turn, "--say")]


@select.command("evaluate")
@click.option("--pool", "pool_file", type=FILE,
              help="File of the snippets.  [default: that of dstc10]")
@click.option("--logs", type=FILE, help="Dialogues.  [default: those of dstc10]")
@click.option("--labels", type=FILE, help="Labels of the dialogues.  [default: those of dstc10]")
@click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
              default=["bundled", "bm25"],
              help="A ranker to evaluate: alone, with EGR, and in votes; may be repeated.")
@shared.RSS_OPTIONS
@click.option("--detector", metavar="NAME|FOLDER", default="bundled",
              help='Detector of turns that need knowledge, to evaluate too; "" for none.')
@click.option("--out", "outs", type=shared.NEW_FILE, multiple=True,
              help="Write the results as .json, .csv or .md; may be repeated.")
@click.option("--note", type=FILE, help="With --out as .md: a Markdown file to insert.")
def evaluate(pool_file: Path | None, logs: Path | None, labels: Path | None, detector: str,
             outs: tuple[Path, ...], note: Path | None, **options: Any) -> None:
    """Measure R@1, R@5, MRR@5 and the errors of rankers on labelled dialogues.

    The default dialogues are the data set dstc10 (q2 data download dstc10).
    """
    from q2_metric.evaluation.files import SUFFIXES
    from q2_metric.knowledge.choose import load_detector
    from q2_metric.knowledge.experiment import compare

    for path in outs:
        check_place(path, SUFFIXES)
    named = [path for path in (pool_file, logs, labels) if path is not None]
    if not named:
        from q2_metric.data.catalogue import folder

        named = [folder("dstc10") / f"{name}.json"
                 for name in ("knowledge", "val_logs", "val_labels")]
    if len(named) < 3:
        raise InputError("give --pool, --logs and --labels together, or none of them")
    pool = read_pool(named[0])
    labelled = read_labelled(named[1], named[2], pool)
    rankers = shared.load_rankers(options)
    asked = load_detector(detector, pool, device=options["device"],
                          batch_size=options["batch_size"]) if detector else None
    about = {name: facts()[name] for name in ("date", "command")}
    finish(compare(rankers, pool, labelled, asked, **about),
           {"outs": outs, "note": note, "figures": None, "quiet": False})


@select.command("train")
@shared.labelled_options(logs=False)
@shared.train_options()
@click.option("--negatives", type=click.IntRange(min=1), default=4,
              help="Number of wrong snippets for each right one.")
@click.option("--kind", type=click.Choice(["rss", "choice", "ensemble"]), default="rss",
              help="rss: two scores. choice: one, by a softmax over the right snippet and the "
              "wrong ones. ensemble: the paper's seven rankers, rss and six times choice.")
@click.option("--second-base", metavar="MODEL", type=Read(), show_default="--base",
              help="With ensemble: the model of three of the six, RoBERTa in the paper.")
@click.option("--domain/--no-domain", default=True, help="Read the names of domains.")
@click.option("--without-domain", "without_domains", multiple=True, metavar="NAME",
              help="Leave out the turns and snippets of this domain; may be repeated.")
def train(base: str, second_base: str | None, folder: Path, kind: Any, **options: Any) -> None:
    """Train a ranker, starting from an encoder or from GPT-2."""
    from q2_metric.knowledge.rss_training import train_ensemble, train_rss

    if second_base and kind != "ensemble":
        raise InputError("--second-base is for --kind ensemble")
    pool, turns, dev = shared.training_turns(options)
    names = ("negatives", "domain", "device")
    given = {"report": shared.reporter("dev R@1"), **{name: options[name] for name in names}}
    parts = pool, turns.seeking(), dev.seeking(), folder, shared.settings_of(options)
    if kind == "ensemble":
        for done in train_ensemble((base, second_base or base), *parts, **given):
            shared.finished(done, folder)
    else:
        shared.finished(train_rss(base, *parts, kind=kind, **given), folder)


@select.command("train-detector")
@shared.labelled_options()
@shared.train_options()
def train_detector(base: str, folder: Path, device: str, **options: Any) -> None:
    """Train the detector of turns that need knowledge, starting from an encoder."""
    from q2_metric.knowledge.detection import train_detector as train_it

    _, turns, dev = shared.training_turns(options)
    done = train_it(base, turns, dev, folder, shared.settings_of(options), device=device,
                    report=shared.reporter("dev F1"))
    shared.finished(done, folder)
