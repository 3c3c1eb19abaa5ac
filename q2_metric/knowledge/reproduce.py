"""The tables of the RSS and EGR paper (Bae et al., DSTC9 track 1), for ``q2 reproduce``.

They are measured on DSTC9 if it is here, otherwise on the validation dialogues of DSTC10, which
have no published figures. Rankers are the package's own and those of ``--trained``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from q2_metric.data.download import folder
from q2_metric.evaluation.published import Key
from q2_metric.evaluation.reproduce.table import Figures, PaperTable, Run, here
from q2_metric.knowledge.choose import BM25, BUNDLED, load_detector, load_ranker
from q2_metric.knowledge.dstc import LabelledTurns, read_labelled
from q2_metric.knowledge.egr import EntityGuided
from q2_metric.knowledge.ensemble import Ensemble
from q2_metric.knowledge.evaluate import OVERALL, Selection, evaluate
from q2_metric.knowledge.experiment import detect
from q2_metric.knowledge.overlap import evaluate_responses
from q2_metric.knowledge.pools import read_pool
from q2_metric.knowledge.trained import Trained, trained
from q2_metric.knowledge.types import Pool, Ranker

PAPER = "rss-egr"
DSTC10 = "DSTC10 validation"
NO_EGR, NO_DOMAIN = "no EGR", "no domain name"
RESTAURANT = "restaurant"


def _data(run: Run, part: str) -> tuple[str, Pool, LabelledTurns]:
    """The name of the data in figures, the pool, and the labelled turns."""
    name, place = part, "dstc9"
    files = {"test": "test_", "validation": ""}
    if not here("dstc9"):
        name, place, files = DSTC10, "dstc10", {"test": "", "validation": ""}
        run.left_out.append("Measured on DSTC10's validation dialogues, because DSTC9 is not here.")
    at = folder(place)
    prefix = "test" if files[part] else "val"
    pool = read_pool(at / f"{files[part]}knowledge.json")
    turns = read_labelled(at / f"{prefix}_logs.json", at / f"{prefix}_labels.json", pool)
    kept = run.some(range(len(turns.dialogues)))
    return name, pool, LabelledTurns([turns.dialogues[i] for i in kept],
                                     [turns.labels[i] for i in kept])


def _rankers(run: Run) -> list[tuple[str, str, Ranker]]:
    """The model and the variant of each ranker, as the paper names them, and the ranker."""
    rankers: list[tuple[str, str, Ranker]] = [
        (name, "", load_ranker(name)) for name in (BUNDLED, BM25)]
    found = _trained(run, "ranker")
    rankers += [(kind.model, "" if kind.domain else NO_DOMAIN, load_ranker(path))
                for path, kind in found]
    if not found:
        run.left_out.append("No trained ranker was given (q2 select train, --trained FOLDER).")
    return rankers


def _trained(run: Run, task: str) -> list[tuple[str, Trained]]:
    kinds = [(path, trained(path)) for path in run.trained]
    return [(path, kind) for path, kind in kinds if kind.task == task]


def _joined(*variants: str) -> str:
    return ", ".join(filter(None, variants))


def _selection(run: Run, table: int) -> Figures:
    """Tables 3 and 6: each ranker with and without EGR, and votes of all, with EGR before or after
    the vote."""
    data, pool, turns = _data(run, "validation")
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    figures: Figures = {}
    plain: list[Ranker] = []
    guided: list[Ranker] = []
    for model, variant, ranker in _rankers(run):
        plain.append(ranker)
        guided.append(EntityGuided(ranker))
        both = [("", guided[-1]), (NO_EGR, ranker)] if table == 3 else [("", ranker)]
        for egr, one in both:
            found = evaluate(one.rank(seeking.dialogues, pool), gold)[OVERALL]
            figures |= _figures(table, model, _joined(egr, variant), data, found)
    votes: dict[str, Ranker] = {} if table != 3 else {
        "": Ensemble(guided), "soft vote": Ensemble(guided, "soft"),
        "EGR after the vote": EntityGuided(Ensemble(plain)),
        "soft vote, EGR after the vote": EntityGuided(Ensemble(plain, "soft"))}
    for variant, one in votes.items():
        found = evaluate(one.rank(seeking.dialogues, pool), gold)[OVERALL]
        figures |= _figures(3, "ensemble", variant, data, found)
    return figures


def _figures(table: int, model: str, variant: str, data: str, found: Selection) -> Figures:
    measured = {"R@1": found.r1, "R@5": found.r5} if table == 3 else {
        "domain errors": round(found.domain_errors * found.n),
        "entity errors": round(found.entity_errors * found.n),
        "document errors": round(found.document_errors * found.n)}
    return {Key(table, model, "", variant, data, name): cell for name, cell in measured.items()}


def _unseen(run: Run) -> Figures:
    """Table 5: rankers that were trained without restaurants."""
    data, pool, turns = _data(run, "validation")
    name = "restaurants not in training" if data != DSTC10 else data
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    figures: Figures = {}
    for model, variant, ranker in _rankers(run):
        found = evaluate(ranker.rank(seeking.dialogues, pool), gold)
        key = Key(5, model, "", variant, name)
        figures[key._replace(measure="R@1")] = found[OVERALL].r1
        if RESTAURANT in found:
            figures[key._replace(measure="error in restaurant")] = 1 - found[RESTAURANT].r1
    return figures


def _pipeline(run: Run) -> Figures:
    """Table 2: detection, selection and response of the whole pipeline (figure 1)."""
    data, pool, turns = _data(run, "test")
    detectors = [path for path, _ in _trained(run, "detector")]
    detector = load_detector([*detectors, BUNDLED][0], pool)
    detected = detect(detector, turns)
    seeking = turns.seeking()
    guided = [EntityGuided(ranker) for _, _, ranker in _rankers(run)]
    ranker = Ensemble(guided[2:]) if len(guided) > 2 else guided[0]
    rankings = ranker.rank(seeking.dialogues, pool)
    chosen = evaluate(rankings, [label.knowledge for label in seeking.labels])[OVERALL]
    figures = {
        ("1", "precision"): detected.precision, ("1", "recall"): detected.recall,
        ("1", "F1"): detected.f1, ("2", "MRR@5"): chosen.mrr5, ("2", "R@1"): chosen.r1,
        ("2", "R@5"): chosen.r5,
        **{("3", name): value for name, value in _said(run, seeking, [
            ranking[0].snippet.key for ranking in rankings], pool).items()}}
    return {Key(2, "submission", data=f"{data}, subtask {task}", measure=measure): value
            for (task, measure), value in figures.items()}


def _generation(run: Run) -> Figures:
    """Table 4: responses to the snippets that the labels name."""
    data, pool, turns = _data(run, "validation")
    seeking = turns.seeking()
    figures: Figures = {}
    gold = [label.knowledge[0] for label in seeking.labels]
    responders: list[tuple[str, Trained | None]] = [*_trained(run, "responder")]
    for path, kind in responders or [("", None)]:
        for variant in ("beam search", "nucleus sampling") if kind else ("",):
            said = _said(run, seeking, gold, pool, path, sample=variant == "nucleus sampling")
            model = kind.model if kind else "answer of the snippet"
            figures |= {Key(4, model, "", variant, data, name): said[name]
                        for name in ("METEOR", "ROUGE-L") if name in said}
    return figures


def _said(
    run: Run, turns: LabelledTurns, keys: Sequence[tuple[str, str, str]], pool: Pool,
    model: str = "", *, sample: bool = False,
) -> dict[str, float]:
    """The official scores of the responses; without a trained responder, of the answers of the
    snippets."""
    snippets = [pool.find(key) for key in keys]
    responses = [snippet.answer for snippet in snippets]
    if model := model or "".join(path for path, _ in _trained(run, "responder")[:1]):
        from q2_metric.knowledge.respond import GroundedTurn, Responder

        responses = Responder(model, sample=sample).respond([
            GroundedTurn(dialogue, snippet)
            for dialogue, snippet in zip(turns.dialogues, snippets, strict=True)])
    else:
        run.left_out.append("The response is the answer of the snippet: there is no trained "
                         "responder (q2 respond train).")
    found = evaluate_responses(responses, [label.response for label in turns.labels])
    if found.no_meteor:
        run.left_out.append(found.no_meteor)
    return {**{f"BLEU-{n}": value for n, value in enumerate(found.bleus, start=1)},
            "ROUGE-1": found.rouge1, "ROUGE-2": found.rouge2, "ROUGE-L": found.rouge_l,
            **({} if found.meteor is None else {"METEOR": found.meteor})}


_DATA = ("dstc9", "dstc10")


def _table(number: int, title: str, how: str, measure: Callable[[Run], Figures]) -> PaperTable:
    return PaperTable(f"{PAPER}-{number}", PAPER, number, title, _DATA, how,
                      "validation or test of DSTC9", measure, any_data=True)


TABLES = (
    _table(2, "the whole pipeline (figure 1)",
           "Subtask 1: which turns need knowledge. Subtask 2: which snippet. Subtask 3: the "
           "response.", _pipeline),
    _table(3, "selection", "The ensemble is a hard vote of all rankers, each with EGR.",
           partial(_selection, table=3)),
    _table(4, "responses", "To the snippets that the labels name. NUBIA is not measured: its "
           "package needs an old torch.", _generation),
    _table(5, "restaurants not in training", "Give rankers that were trained with "
           "--without-domain restaurant, and with and without --no-domain.", _unseen),
    _table(6, "errors of the first snippet", "Counts of turns, without EGR.",
           partial(_selection, table=6)),
)
