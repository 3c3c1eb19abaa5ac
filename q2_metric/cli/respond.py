"""``q2 respond`` generates dialogue responses from chosen snippets, and trains its model."""

from pathlib import Path
from typing import Any

import click

from q2_metric.cli import knowledge as shared
from q2_metric.cli.commands import FILE, Group, Read, print_json, warn
from q2_metric.errors import InputError
from q2_metric.knowledge.choose import load_detector
from q2_metric.knowledge.dstc import LabelledTurns, TurnLabel, read_labelled, read_logs, read_pool
from q2_metric.knowledge.respond import (
    GroundedTurn,
    Responder,
    TurnReply,
    answer,
    official_scores,
    train_responder,
)
from q2_metric.knowledge.types import Dialogue, Pool
from q2_metric.text.given import is_blank


@click.group("respond", cls=Group)
def respond() -> None:
    """Respond to dialogues from the knowledge that was chosen for them."""


@respond.command("write")
@click.option("--pool", "pool_file", type=FILE, required=True, help="File of the snippets.")
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
@click.option("--out", type=shared.NEW_FILE,
              help="Write .jsonl with a line for each response, which q2 score reads.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@shared.RANKER_OPTIONS
@shared.RSS_OPTIONS
def write(pool_file: Path, logs: Path, labels: Path | None, model: str, beam: int,
          detector: str | None, out: Path | None, as_json: bool, **options: Any) -> None:
    """Generate a response to each dialogue, and compare it with the gold response."""
    if out is not None and out.suffix != ".jsonl":
        raise InputError(f"{out}: cannot be written: use .jsonl")
    pool = read_pool(pool_file)
    dialogues, gold = _dialogues(logs, labels, pool, seeking=not detector)
    responder = Responder(model, device=options["device"], beam=beam,
                          batch_size=options["batch_size"] or 8)
    asking = load_detector(detector, pool, device=options["device"],
                           batch_size=options["batch_size"]) if detector else None
    answers = answer(asking, shared.combined_ranker(options), responder, dialogues, pool)
    kept = [(i, reply) for i, reply in enumerate(answers) if reply is not None]
    if not kept:
        raise InputError(f"{logs}: {detector} finds no turn that needs knowledge")
    lines = [_line(dialogues[i], reply, gold[i].response if gold else "") for i, reply in kept]
    figures: dict[str, Any] = {
        "responses": len(lines), "empty": sum(is_blank(line["response"]) for line in lines)}
    if gold is not None:
        scores, no_meteor = official_scores(answers, gold)
        figures |= {name: value for (task, name), value in scores.items() if detector or task == 3}
        if no_meteor:
            warn(no_meteor)
    if out is not None:
        shared.write_lines(out, lines)
    if as_json:
        print_json(figures)
    else:
        for line in lines if out is None else ():
            click.echo(f"{line['id']}\t{line['response']}")
        for name, value in figures.items():
            click.echo(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")


@respond.command("train")
@shared.labelled_options()
@shared.train_options(rate=3e-5, epochs=10)
def train(base: str, folder: Path, device: str, **options: Any) -> None:
    """Train a model such as BART or GPT-2 on gold snippets and gold responses."""
    pool, *parts = shared.training_turns(options)
    turns, dev = (_gold_turns(part, pool) for part in parts)
    done = train_responder(base, turns, dev, folder, shared.settings_of(options),
                           device=device, report=shared.reporter("dev log-likelihood"))
    shared.finished(done, folder)


def _dialogues(
    logs: Path, labels: Path | None, pool: Pool, *, seeking: bool
) -> tuple[list[Dialogue], list[TurnLabel] | None]:
    if labels is None:
        return read_logs(logs), None
    read = read_labelled(logs, labels, pool)
    read = read.seeking() if seeking else read
    return read.dialogues, read.labels


def _gold_turns(turns: LabelledTurns, pool: Pool) -> list[GroundedTurn]:
    """The turns that need knowledge, with the snippets and responses of their labels."""
    seeking = turns.seeking()
    return [GroundedTurn(dialogue, pool.find(label.knowledge[0]), label.response)
            for dialogue, label in zip(seeking.dialogues, seeking.labels, strict=True)]


def _line(dialogue: Dialogue, answer: TurnReply, gold: str) -> dict[str, Any]:
    """What ``--out`` writes: a row that ``q2 score`` reads."""
    [chosen, *_] = answer.ranking
    return {
        "id": dialogue.id, "response": answer.response, "knowledge": chosen.snippet.text,
        "history": [turn.text for turn in dialogue.turns],
        **({"gold": gold} if gold else {}), "snippet": shared.ranked_row(chosen),
    }
