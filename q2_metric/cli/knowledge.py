"""Knowledge for dialogues: ``q2 select`` chooses snippets, and ``q2 respond`` writes answers."""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click

from q2_metric.cli.commands import FILE, Group, Read, Written, print_json, warn
from q2_metric.cli.experiments import facts, finish
from q2_metric.cli.options import Option, all_options
from q2_metric.cli.render import print_table
from q2_metric.data.catalogue import folder as folder_of
from q2_metric.errors import InputError
from q2_metric.evaluation.tables import SUFFIXES
from q2_metric.files import CHOOSE, check_place, replacing
from q2_metric.knowledge import detection, dstc, experiment, rss
from q2_metric.knowledge import respond as responses
from q2_metric.knowledge.choose import combined, load_detector, load_ranker, members
from q2_metric.knowledge.training import STATE, Progress, TrainSettings
from q2_metric.knowledge.types import Detector, Dialogue, Pool, Ranked, Ranker
from q2_metric.text.given import is_blank

NEW_FILE = Written(dir_okay=False, path_type=Path)


def _check_folder(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not any(folder.glob(f"**/{STATE}/*")):
        raise InputError(f"{folder}: the folder is not empty and holds no training; {CHOOSE}")


POOL_OPTION = click.option("--pool", "pool_file", type=FILE, required=True,
                           help="knowledge.json of DSTC9, or a list of passages (.json, .jsonl).")
RSS_OPTIONS = all_options(
    click.option("--narrow", type=click.IntRange(min=1), metavar="N",
                 help="A trained ranker scores only the N snippets that the ranker bundled keeps."),
    click.option("--device", default="auto", help="Where the models run."),
    click.option("--batch-size", type=click.IntRange(min=1), help="Rows in one model call."),
)
RANKER_OPTIONS = all_options(
    click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
                 default=["bundled"],
                 help="bundled, bm25, or the folder of a trained ranker; if repeated, they vote."),
    click.option("--egr", type=click.Choice(["exact", "fuzzy", "none"]), default="exact",
                 help="How Entity Guided Reranking matches names."),
    click.option("--vote", type=click.Choice(["hard", "soft"]), default="hard",
                 help="How several rankers vote."),
    RSS_OPTIONS,
)


def train_options(rate: float = 1e-5, epochs: int = 20, *, logs: bool = True) -> Option:
    """The options of a training. The defaults are those of the paper. ``logs`` is whether the
    dialogues must be given."""
    without = "" if logs else " Without them, the responses of the labels are the dialogues."
    return all_options(
        POOL_OPTION,
        click.option("--logs", type=FILE, required=logs,
                     help=f"Dialogues in the format of DSTC9.{without}"),
        click.option("--labels", type=FILE, required=True, help="Labels of the dialogues."),
        click.option("--dev-logs", type=FILE, required=logs,
                     help="Development dialogues, by which the best model is chosen."),
        click.option("--dev-labels", type=FILE, required=True,
                     help="Labels of the development dialogues."),
        click.option("--base", required=True, metavar="MODEL", type=Read(),
                     help="Hub name or folder of the model to train from."),
        click.option("--out", "folder", required=True,
                     type=Written(guard=_check_folder, file_okay=False, path_type=Path),
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
                     help="End the training after this many evaluations without improvement."),
        click.option("--seed", type=int, default=0, help="Random seed."),
        click.option("--device", default="auto", help="Where the model runs."),
    )


@click.group("select", cls=Group)
def select() -> None:
    """Choose the snippets of knowledge that the next turn of a dialogue needs."""


@select.command("rank")
@click.argument("dialogue_file", metavar="DIALOGUE.json", type=FILE, required=False)
@POOL_OPTION
@click.option("--turn", type=int,
              help="Number of the turn to answer, from 0.  [default: the last]")
@click.option("--say", multiple=True, metavar="TEXT",
              help="A turn of the dialogue, instead of a file; may be repeated, oldest turn first.")
@click.option("--logs", type=FILE, help="Rank for many dialogues, in the format of DSTC9.")
@click.option("-k", "count", type=click.IntRange(min=1), default=5,
              help="Number of snippets to show.")
@click.option("--out", type=NEW_FILE, help="Write .jsonl with one line for each dialogue.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
@RANKER_OPTIONS
def rank(pool_file: Path, count: int, out: Path | None, as_json: bool, **options: Any) -> None:
    """Rank the snippets of a pool for a dialogue.

    A dialogue is a JSON list of turns. Each turn is a string, or an object with speaker, text and
    nbest (the alternatives of a speech recogniser).
    """
    dialogues = _dialogues(options)
    pool = dstc.read_pool(pool_file)
    ranker = _ranker(options)
    names = [dialogue.id or str(i) for i, dialogue in enumerate(dialogues, start=1)]
    ranked = list(zip(names, ranker.rank(dialogues, pool, count), strict=True))
    lines = [{"id": name, "ranker": ranker.name, "snippets": list(map(_snippet, ranking))}
             for name, ranking in ranked]
    if out is not None:
        _write_lines(out, lines)
    if as_json:
        for line in lines:
            click.echo(json.dumps(line, ensure_ascii=False))
    elif out is None:
        for name, ranking in ranked:
            print_table(
                ["snippet", "entity", "question", "answer", "score"],
                [["/".join(filter(None, one.snippet.key)), one.snippet.entity_name or "",
                  one.snippet.question, one.snippet.answer, f"{one.score:.3f}"]
                 for one in ranking], title=name if len(lines) > 1 else "")
        click.echo(f"ranker: {ranker.name}")


def _dialogues(options: dict[str, Any]) -> list[Dialogue]:
    file, logs, turn = options["dialogue_file"], options["logs"], options["turn"]
    if sum((file is not None, bool(options["say"]), logs is not None)) != 1:
        raise InputError("give one of DIALOGUE.json, --say and --logs")
    if logs is not None:
        if turn is not None:
            raise InputError("--turn is for one dialogue, not for --logs")
        return dstc.read_logs(logs)
    if file is not None:
        return [dstc.read_dialogue(file, turn)]
    spoken = Dialogue.of(*options["say"])
    return [spoken if turn is None else dstc.upto(spoken, turn, "--say")]


@select.command("evaluate")
@click.option("--pool", "pool_file", type=FILE,
              help="File of the snippets.  [default: that of dstc10]")
@click.option("--logs", type=FILE, help="Dialogues.  [default: those of dstc10]")
@click.option("--labels", type=FILE, help="Labels of the dialogues.  [default: those of dstc10]")
@click.option("--ranker", "rankers", multiple=True, metavar="NAME|FOLDER", type=Read(),
              default=["bundled", "bm25"],
              help="A ranker to evaluate: alone, with EGR, and in votes; may be repeated.")
@RSS_OPTIONS
@click.option("--detector", metavar="NAME|FOLDER", default="bundled",
              help='Detector of turns that need knowledge, to evaluate too; "" for none.')
@click.option("--out", "outs", type=NEW_FILE, multiple=True,
              help="Write the results as .json, .csv or .md; may be repeated.")
@click.option("--note", type=FILE, help="With --out as .md: a Markdown file to insert.")
def evaluate(detector: str, **options: Any) -> None:
    """Measure R@1, R@5, MRR@5 and the errors of rankers on labelled dialogues.

    The default dialogues are the data set dstc10 (q2 data download dstc10).
    """
    for path in options["outs"]:
        check_place(path, SUFFIXES)
    named = [options[name] for name in ("pool_file", "logs", "labels") if options[name]]
    if not named:
        named = [folder_of("dstc10") / f"{name}.json"
                 for name in ("knowledge", "val_logs", "val_labels")]
    if len(named) < 3:
        raise InputError("give --pool, --logs and --labels together, or none of them")
    pool = dstc.read_pool(named[0])
    labelled = dstc.read_labelled(named[1], named[2], pool)
    rankers, asked = _rankers(options), _detector(detector, pool, options)
    about = {name: facts()[name] for name in ("date", "command")}
    finish(experiment.compare(rankers, pool, labelled, asked, **about),
           {**options, "figures": None, "quiet": False})


@select.command("train")
@train_options(logs=False)
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
def train_ranker(base: str, second_base: str | None, folder: Path, kind: Any,
                 **options: Any) -> None:
    """Train a ranker, starting from an encoder or from GPT-2."""
    if second_base and kind != "ensemble":
        raise InputError("--second-base is for --kind ensemble")
    pool, turns, dev = _training_turns(options)
    given = {**_given(options, "dev R@1"), "negatives": options["negatives"],
             "domain": options["domain"]}
    parts = pool, turns.seeking(), dev.seeking(), folder
    if kind == "ensemble":
        for done in rss.train_ensemble((base, second_base or base), *parts, **given):
            _finished(done, folder)
    else:
        _finished(rss.train_rss(base, *parts, kind=kind, **given), folder)


@select.command("train-detector")
@train_options()
def train_detector(base: str, folder: Path, **options: Any) -> None:
    """Train the detector of turns that need knowledge, starting from an encoder."""
    _, turns, dev = _training_turns(options)
    _finished(detection.train_detector(
        base, turns, dev, folder, **_given(options, "dev F1")), folder)


@click.group("respond", cls=Group)
def respond() -> None:
    """Respond to dialogues from the knowledge that was chosen for them."""


@respond.command("write")
@POOL_OPTION
@click.option("--logs", type=FILE, required=True, help="Dialogues in the format of DSTC9.")
@click.option("--labels", type=FILE,
              help="Labels: which turns need knowledge, and the gold response to each.")
@click.option("--model", default="facebook/bart-base", metavar="MODEL", type=Read(),
              help="Hub name of the model, or a folder that q2 respond train wrote.")
@click.option("--beam", type=click.IntRange(min=1), default=5,
              help="Number of beams in the beam search.")
@click.option("--detector", metavar="NAME|FOLDER", type=Read(),
              help="bundled, or the folder of a trained detector: respond only to the turns that "
              "it finds to need knowledge. With --labels, DSTC9's scores of all three subtasks.")
@click.option("--out", type=NEW_FILE,
              help="Write .jsonl with a line for each response, which q2 score reads.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@RANKER_OPTIONS
def write(pool_file: Path, logs: Path, labels: Path | None, model: str, beam: int,
          detector: str | None, out: Path | None, as_json: bool, **options: Any) -> None:
    """Generate a response to each dialogue, and compare it with the gold response."""
    if out is not None and out.suffix != ".jsonl":
        raise InputError(f"{out}: cannot be written: use .jsonl")
    pool, gold = dstc.read_pool(pool_file), None
    if labels is None:
        dialogues = dstc.read_logs(logs)
    else:
        read = dstc.read_labelled(logs, labels, pool)
        read = read if detector else read.seeking()
        dialogues, gold = read.dialogues, read.labels
    responder = responses.Responder(
        model, device=options["device"], beam=beam, batch_size=options["batch_size"] or 8)
    answers = responses.answer(
        _detector(detector, pool, options), _ranker(options), responder, dialogues, pool)
    lines = [_line(dialogues[i], reply, gold[i].response if gold else "")
             for i, reply in enumerate(answers) if reply is not None]
    if not lines:
        raise InputError(f"{logs}: {detector} finds no turn that needs knowledge")
    figures: dict[str, Any] = {
        "responses": len(lines), "empty": sum(is_blank(line["response"]) for line in lines)}
    if gold is not None:
        scores, no_meteor = responses.official_scores(answers, gold)
        figures |= {name: value for (task, name), value in scores.items() if detector or task == 3}
        if no_meteor:
            warn(no_meteor)
    if out is not None:
        _write_lines(out, lines)
    if as_json:
        print_json(figures)
    else:
        for line in lines if out is None else ():
            click.echo(f"{line['id']}\t{line['response']}")
        for name, value in figures.items():
            click.echo(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")


def _line(dialogue: Dialogue, reply: responses.TurnReply, gold: str) -> dict[str, Any]:
    """What ``--out`` writes: a row that ``q2 score`` reads."""
    [chosen, *_] = reply.ranking
    return {
        "id": dialogue.id, "response": reply.response, "knowledge": chosen.snippet.text,
        "history": [turn.text for turn in dialogue.turns],
        **({"gold": gold} if gold else {}), "snippet": _snippet(chosen),
    }


@respond.command("train")
@train_options(rate=3e-5, epochs=10)
def train_writer(base: str, folder: Path, **options: Any) -> None:
    """Train a model such as BART or GPT-2 on gold snippets and gold responses."""
    pool, *parts = _training_turns(options)
    turns, dev = (
        [responses.GroundedTurn(dialogue, pool.find(label.knowledge[0]), label.response)
         for dialogue, label in zip(part.dialogues, part.labels, strict=True)]
        for part in map(dstc.LabelledTurns.seeking, parts))
    _finished(responses.train_responder(
        base, turns, dev, folder, **_given(options, "dev log-likelihood")), folder)


def _snippet(ranked: Ranked) -> dict[str, Any]:
    return {**asdict(ranked.snippet), "score": ranked.score}


def _training_turns(options: dict[str, Any]) -> tuple[Pool, dstc.LabelledTurns, dstc.LabelledTurns]:
    pool = dstc.read_pool(options["pool_file"])
    parts = (dstc.read_labelled(options["logs"], options["labels"], pool),
             dstc.read_labelled(options["dev_logs"], options["dev_labels"], pool))
    if not (held := options.get("without_domains")):
        return pool, *parts
    turns, dev = (
        part.at([i for i, label in enumerate(part.labels)
                 if not label.target or label.knowledge[0][0] not in held]) for part in parts)
    return Pool([one for one in pool if one.domain not in held], pool.source), turns, dev


def _given(options: dict[str, Any], task: str) -> dict[str, Any]:
    """The settings, the device, and a function that prints the results of evaluations. ``task`` is
    what they measure: "dev F1"."""
    def report(progress: Progress, value: float) -> None:
        click.echo(f"step {progress.step}: {task} {value:.4f} (best {progress.best:.4f} "
                   f"at step {progress.best_step})", err=True)

    settings = TrainSettings(**{one.name: options[one.name] for one in fields(TrainSettings)})
    return {"settings": settings, "device": options["device"], "report": report}


def _finished(progress: Progress, folder: Path) -> None:
    click.echo(f"{folder}: best {progress.best} at step {progress.best_step} of {progress.step}")


def _rankers(options: dict[str, Any]) -> list[Ranker]:
    """The rankers of ``--ranker``, of an ensemble all. A repeated name is loaded once."""
    how = {name: options[name] for name in ("narrow", "device", "batch_size")}
    return [load_ranker(name, **how)
            for given in dict.fromkeys(options["rankers"]) for name in members(given)]


def _ranker(options: dict[str, Any]) -> Ranker:
    """One ranker in which those of ``--ranker`` vote, and Entity Guided Reranking (EGR) follows."""
    egr = None if options["egr"] == "none" else options["egr"]
    return combined(_rankers(options), egr, options["vote"])


def _detector(name: str | None, pool: Pool, options: dict[str, Any]) -> Detector | None:
    return load_detector(name, pool, device=options["device"],
                         batch_size=options["batch_size"]) if name else None


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Writes a .jsonl file, which appears at its path only when it is complete."""
    check_place(path)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
