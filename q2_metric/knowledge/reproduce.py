"""The tables of the RSS and EGR paper (Bae et al., DSTC9 track 1), for ``q2 reproduce``.

They are measured on DSTC9 if it is here, otherwise on the validation dialogues of DSTC10, which
have no published figures. Rankers are the package's own and those of ``--trained``.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import get_args

from q2_metric.data.catalogue import folder, here
from q2_metric.evaluation.reproduce.table import Figures, Key, PaperTable, Run, measured
from q2_metric.knowledge import choose
from q2_metric.knowledge.dstc import LabelledTurns, read_labelled, read_pool
from q2_metric.knowledge.evaluate import OVERALL, ErrorKind, Selection, evaluate, response_scores
from q2_metric.knowledge.mentions import MentionFinder
from q2_metric.knowledge.reranking import hard_vote, margin_of, rerank, soft_vote
from q2_metric.knowledge.respond import Responder, answer, official_scores, respond
from q2_metric.knowledge.types import Pool, Ranked, Ranker

DSTC10 = "DSTC10 validation"
NO_EGR, NO_DOMAIN = "no EGR", "no domain name"
BEAM_SEARCH, NUCLEUS = "beam search", "nucleus sampling"
RESTAURANT = "restaurant"
Rankings = list[list[Ranked]]
Rankers = list[tuple[str, str, Ranker]]
"""The model and the variant of each ranker, as the paper names them, and the ranker."""


def _data(run: Run, part: str = "validation") -> tuple[str, Pool, LabelledTurns]:
    name, place = part, "dstc9"
    if not here("dstc9"):
        name, place = DSTC10, "dstc10"
        run.left_out.append("Measured on DSTC10's validation dialogues, because DSTC9 is not here.")
    at, prefix = folder(place), "test" if name == "test" else "val"
    pool = read_pool(at / ("test_knowledge.json" if name == "test" else "knowledge.json"))
    turns = read_labelled(at / f"{prefix}_logs.json", at / f"{prefix}_labels.json", pool)
    return name, pool, turns.at(run.some(range(len(turns.dialogues))))


def _rankers(run: Run) -> tuple[Rankers, Rankers]:
    """The package's own rankers, and the trained ones. Of rankers of one kind, which differ in
    their random seeds, the second and later ones are variants."""
    own: Rankers = [(name, "", choose.load_ranker(name)) for name in choose.NAMES]
    seen: Counter[choose.Trained] = Counter()
    given: Rankers = []
    for path, kind in _trained(run, "ranker"):
        seen[kind] += 1
        variant = _joined("" if kind.domain else NO_DOMAIN,
                          f"model {seen[kind]}" if seen[kind] > 1 else "")
        given.append((kind.model, variant, choose.load_ranker(path, narrow=run.narrow)))
    if not given:
        run.left_out.append("No trained ranker was given (q2 select train, --trained FOLDER).")
    return own, given


def _trained(run: Run, task: str) -> list[tuple[str, choose.Trained]]:
    kinds = [(path, choose.trained(path)) for folder in run.trained
             for path in choose.members(folder)]
    return [(path, kind) for path, kind in kinds if kind.task == task]


def _joined(*variants: str) -> str:
    return ", ".join(filter(None, variants))


def _selection(run: Run) -> Figures:
    data, pool, turns = _data(run)
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    finder = MentionFinder(pool)
    mentioned = [finder.entities(dialogue) for dialogue in seeking.dialogues]

    def guided(rankings: Rankings, margin: float | None = None) -> Rankings:
        return [rerank(*one, margin) for one in zip(rankings, mentioned, strict=True)]

    own, given = _rankers(run)
    alone: list[Rankings] = []
    moved: list[Rankings] = []
    shown: list[tuple[str, str, Rankings]] = []
    for model, variant, ranker in [*own, *given]:
        alone.append(ranker.rank(seeking.dialogues, pool))
        moved.append(guided(alone[-1], margin_of(ranker)))
        shown += [(model, variant, moved[-1]), (model, _joined(NO_EGR, variant), alone[-1])]
    for name, vote in (("", hard_vote), ("soft vote", soft_vote)):
        before, after = (list(map(vote, zip(*each[-len(given):], strict=True)))
                         for each in (moved, alone))
        shown += [("ensemble", name, before),
                  ("ensemble", _joined(name, "EGR after the vote"), guided(after))]
    for model, variant, rankings in shown:
        found = evaluate(rankings, gold)[OVERALL]
        yield from measured(Key(model, "", variant, data), {"R@1": found.r1, "R@5": found.r5})


def _alone(run: Run) -> Iterator[tuple[Key, dict[str, Selection]]]:
    data, pool, turns = _data(run)
    seeking = turns.seeking()
    gold = [label.knowledge for label in seeking.labels]
    for model, variant, ranker in itertools.chain(*_rankers(run)):
        found = evaluate(ranker.rank(seeking.dialogues, pool), gold)
        yield Key(model, "", variant, data), found


def _errors(run: Run) -> Figures:
    for key, selections in _alone(run):
        found = selections[OVERALL]
        yield from measured(key, {
            f"{kind} errors": round(getattr(found, f"{kind}_errors") * found.n)
            for kind in get_args(ErrorKind)})


def _unseen(run: Run) -> Figures:
    for alone, found in _alone(run):
        data = alone.data if alone.data == DSTC10 else "restaurants not in training"
        key = alone._replace(data=data)
        yield key._replace(measure="R@1"), found[OVERALL].r1
        if RESTAURANT in found:
            yield key._replace(measure="error in restaurant"), 1 - found[RESTAURANT].r1


def _pipeline(run: Run) -> Figures:
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
        yield Key("submission", data=f"{data}, subtask {task}", measure=measure), value


def _generation(run: Run) -> Figures:
    data, pool, turns = _data(run)
    seeking = turns.seeking()
    snippets = [pool.find(label.knowledge[0]) for label in seeking.labels]
    given = [(kind.model, path, variant) for path, kind in _trained(run, "responder")
             for variant in (BEAM_SEARCH, NUCLEUS)]
    for model, path, variant in given or [("answer of the snippet", "", "")]:
        said = respond(_responder(run, path, sample=variant == NUCLEUS), seeking.dialogues,
                       snippets)
        found, no_meteor = response_scores(said, [label.response for label in seeking.labels])
        run.left_out += filter(None, [no_meteor])
        yield from measured(Key(model, "", variant, data), {
            name: found.get(name) for name in ("METEOR", "ROUGE-L")})


def _responder(run: Run, model: str = "", *, sample: bool = False) -> Responder | None:
    if model := model or "".join(path for path, _ in _trained(run, "responder")[:1]):
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
           "without trained rankers, of the package's own.", _selection),
    _table(4, "responses", "To the snippets that the labels name. NUBIA is not measured: its "
           "package needs an old torch.", _generation),
    _table(5, "restaurants not in training", "Give rankers that were trained with "
           "--without-domain restaurant, and with and without --no-domain.", _unseen),
    _table(6, "errors of the first snippet", "Counts of turns, without EGR.", _errors),
)
