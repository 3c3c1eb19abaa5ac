"""The tables of the RSS and EGR paper (Bae et al., DSTC9 track 1), for ``q2 reproduce``.

They are measured on DSTC9 if it is here, otherwise on the validation dialogues of DSTC10, which
have no published figures. Rankers are the package's own and those of ``--trained``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from q2_metric.data.catalogue import folder, here
from q2_metric.evaluation.published import Key
from q2_metric.evaluation.reproduce.table import Figures, PaperTable, Run, measured
from q2_metric.knowledge import choose
from q2_metric.knowledge.dstc import LabelledTurns, read_labelled
from q2_metric.knowledge.egr import margin_of, rerank
from q2_metric.knowledge.ensemble import hard_vote, soft_vote
from q2_metric.knowledge.evaluate import OVERALL, Selection, evaluate
from q2_metric.knowledge.mentions import MentionFinder
from q2_metric.knowledge.overlap import response_scores
from q2_metric.knowledge.pipeline import answer, official_scores, respond
from q2_metric.knowledge.pools import read_pool
from q2_metric.knowledge.types import Pool, Ranked, Ranker

if TYPE_CHECKING:
    from q2_metric.knowledge.respond import Responder

DSTC10 = "DSTC10 validation"
NO_EGR, NO_DOMAIN = "no EGR", "no domain name"
BEAM_SEARCH, NUCLEUS = "beam search", "nucleus sampling"
RESTAURANT = "restaurant"
Rankings = Sequence[Sequence[Ranked]]
"""The snippets for each dialogue, best first."""


def _data(run: Run, part: str) -> tuple[str, Pool, LabelledTurns]:
    """The name of the data in figures, the pool, and the labelled turns."""
    name, place = part, "dstc9"
    if not here("dstc9"):
        name, place = DSTC10, "dstc10"
        run.left_out.append("Measured on DSTC10's validation dialogues, because DSTC9 is not here.")
    at, prefix = folder(place), "test" if name == "test" else "val"
    pool = read_pool(at / ("test_knowledge.json" if name == "test" else "knowledge.json"))
    turns = read_labelled(at / f"{prefix}_logs.json", at / f"{prefix}_labels.json", pool)
    return name, pool, turns.at(run.some(range(len(turns.dialogues))))


Rankers = list[tuple[str, str, Ranker]]
"""The model and the variant of each ranker, as the paper names them, and the ranker."""


def _rankers(run: Run) -> tuple[Rankers, Rankers]:
    """The package's own rankers, and the trained ones. Of rankers of one kind, which differ in
    their random seeds, the second and later ones are variants."""
    own: Rankers = [(name, "", choose.load_ranker(name))
                    for name in (choose.BUNDLED, choose.BM25)]
    found = _trained(run, "ranker")
    if not found:
        run.left_out.append("No trained ranker was given (q2 select train, --trained FOLDER).")
    seen: Counter[choose.Trained] = Counter()
    given: Rankers = []
    for path, kind in found:
        seen[kind] += 1
        variant = _joined("" if kind.domain else NO_DOMAIN,
                          f"model {seen[kind]}" if seen[kind] > 1 else "")
        given.append((kind.model, variant, choose.load_ranker(path, narrow=run.narrow)))
    return own, given


def _trained(run: Run, task: str) -> list[tuple[str, choose.Trained]]:
    kinds = [(path, choose.trained(path)) for folder in run.trained
             for path in choose.members(folder)]
    return [(path, kind) for path, kind in kinds if kind.task == task]


def _joined(*variants: str) -> str:
    return ", ".join(filter(None, variants))


def _selection(run: Run, table: int) -> Figures:
    """Tables 3 and 6: each ranker with and without EGR, and votes, with EGR before or after the
    vote."""
    data, pool, turns = _data(run, "validation")
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    finder = MentionFinder(pool)
    mentioned = [finder.entities(dialogue) for dialogue in seeking.dialogues]

    def guided(rankings: Rankings, margin: float | None = None) -> Rankings:
        return [rerank(*one, margin) for one in zip(rankings, mentioned, strict=True)]

    own, given = _rankers(run)
    found: dict[str, list[Rankings]] = {NO_EGR: [], "": []}
    for model, variant, ranker in [*own, *given]:
        rankings = ranker.rank(seeking.dialogues, pool)
        moved = guided(rankings, margin_of(ranker))
        for egr, one in {"": moved, NO_EGR: rankings}.items() if table == 3 else [("", rankings)]:
            yield from _figures(table, model, _joined(egr, variant), data,
                                evaluate(one, gold)[OVERALL])
        found[NO_EGR].append(rankings)
        found[""].append(moved)
    for name, vote in (("", hard_vote), ("soft vote", soft_vote)) if table == 3 else ():
        before, after = (list(map(vote, zip(*found[egr][-len(given):], strict=True)))
                         for egr in ("", NO_EGR))
        for variant, one in ((name, before), (_joined(name, "EGR after the vote"), guided(after))):
            yield from _figures(3, "ensemble", variant, data, evaluate(one, gold)[OVERALL])


def _figures(table: int, model: str, variant: str, data: str, found: Selection) -> Figures:
    return measured(Key(table, model, "", variant, data), {
        "R@1": found.r1, "R@5": found.r5} if table == 3 else {
        "domain errors": round(found.domain_errors * found.n),
        "entity errors": round(found.entity_errors * found.n),
        "document errors": round(found.document_errors * found.n)})


def _unseen(run: Run) -> Figures:
    """Table 5: rankers that were trained without restaurants."""
    data, pool, turns = _data(run, "validation")
    name = "restaurants not in training" if data != DSTC10 else data
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    for model, variant, ranker in itertools.chain(*_rankers(run)):
        found = evaluate(ranker.rank(seeking.dialogues, pool), gold)
        key = Key(5, model, "", variant, name)
        yield key._replace(measure="R@1"), found[OVERALL].r1
        if RESTAURANT in found:
            yield key._replace(measure="error in restaurant"), 1 - found[RESTAURANT].r1


def _pipeline(run: Run) -> Figures:
    """Table 2: detection, selection and response of the whole pipeline (figure 1)."""
    data, pool, turns = _data(run, "test")
    detectors = [path for path, _ in _trained(run, "detector")]
    own, given = _rankers(run)
    answers = answer(
        choose.load_detector([*detectors, choose.BUNDLED][0], pool),
        choose.combined([ranker for _, _, ranker in given or own[:1]]), _responder(run),
        turns.dialogues, pool)
    scores, no_meteor = official_scores(answers, turns.labels)
    run.left_out += filter(None, [no_meteor])
    for (task, measure), value in scores.items():
        yield Key(2, "submission", data=f"{data}, subtask {task}", measure=measure), value


def _generation(run: Run) -> Figures:
    """Table 4: responses to the snippets that the labels name."""
    data, pool, turns = _data(run, "validation")
    seeking = turns.seeking()
    snippets = [pool.find(label.knowledge[0]) for label in seeking.labels]
    given = [(kind.model, path, variant) for path, kind in _trained(run, "responder")
             for variant in (BEAM_SEARCH, NUCLEUS)]
    for model, path, variant in given or [("answer of the snippet", "", "")]:
        said = respond(_responder(run, path, sample=variant == NUCLEUS), seeking.dialogues,
                       snippets)
        found, no_meteor = response_scores(said, [label.response for label in seeking.labels])
        run.left_out += filter(None, [no_meteor])
        yield from measured(Key(4, model, "", variant, data), {
            name: found[name] for name in ("METEOR", "ROUGE-L") if name in found})


def _responder(run: Run, model: str = "", *, sample: bool = False) -> Responder | None:
    """The given responder, or the first trained one."""
    if model := model or "".join(path for path, _ in _trained(run, "responder")[:1]):
        from q2_metric.knowledge.respond import Responder

        return Responder(model, sample=sample)
    run.left_out.append("The response is the answer of the snippet: there is no trained responder "
                        "(q2 respond train).")
    return None


def _table(number: int, title: str, how: str, measure: Callable[[Run], Figures]) -> PaperTable:
    return PaperTable("rss-egr", number, title, ("dstc9", "dstc10"), how,
                      "validation or test of DSTC9", measure, any_data=True)


TABLES = (
    _table(2, "the whole pipeline (figure 1)",
           "Subtask 1: which turns need knowledge. Subtask 2: which snippet. Subtask 3: the "
           "response. As in DSTC9's scorer, a turn that is not detected, or wrongly detected, "
           "counts against subtasks 2 and 3 too.", _pipeline),
    _table(3, "selection", "The ensemble is a hard vote of the trained rankers, each with EGR; "
           "without trained rankers, of the package's own.",
           partial(_selection, table=3)),
    _table(4, "responses", "To the snippets that the labels name. NUBIA is not measured: its "
           "package needs an old torch.", _generation),
    _table(5, "restaurants not in training", "Give rankers that were trained with "
           "--without-domain restaurant, and with and without --no-domain.", _unseen),
    _table(6, "errors of the first snippet", "Counts of turns, without EGR.",
           partial(_selection, table=6)),
)
