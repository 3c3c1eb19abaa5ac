"""The tables of both versions of the Q² paper: on Wizard of Wikipedia, on the ratings of
Topical-Chat (USR) and on Dialogue NLI."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random
from statistics import fmean
from typing import Any

from q2_metric.data import readers
from q2_metric.data.catalogue import folder, here
from q2_metric.data.readers import SYSTEMS, Labelled
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.agreement import average, decided, detection_curves
from q2_metric.evaluation.reproduce.table import Figures, Key, PaperTable, Run, measured, where
from q2_metric.evaluation.scores import Scores, ScoreSummary, known, values
from q2_metric.types import Example

BASELINES = ("nli", "overlap", "bertscore", "knowledge_bleu")
V1: dict[str, Any] = {"fallback": False, "personal": "keep", "decoding": "greedy"}
"""The first version's Q² (sections 2 and 6.1): no fallback, no filter, one question by greedy
search."""
LADDER: dict[str, dict[str, Any]] = {
    "": V1,
    "no personal questions": {**V1, "personal": "remove"},
    "no personal questions, top 5": {"fallback": False},
    "no personal questions, top 5, coreference": {"fallback": False, "coreference": True},
}
"""The variants of v1's table 7, each built on the one before."""
SMALLER = {"t5-small": {"question_model": "valhalla/t5-small-qa-qg-hl"},
           "albert-base": {"reader_model": "twmkn9/albert-base-v2-squad2"}}
"""The smaller models of EMNLP's tables 7 and 8; the Hub models are those of ``paper-small``."""

THRESHOLD = 0.1
"""A pair with a higher score counts as consistent (EMNLP, section 5.3; v1, section 6.4)."""
RANDOM_SAMPLE = 150
"""The paper selected as many consistent and as many inconsistent responses of each system."""

Groups = dict[str, list[Example]]


def sample(examples: Sequence[Example]) -> list[Example]:
    """A random sample, in order; always the same."""
    drawn = Random(st.SEED).sample(range(len(examples)), min(RANDOM_SAMPLE, len(examples)))
    return [examples[i] for i in sorted(drawn)]


def pairs(annotated: Sequence[Labelled]) -> list[tuple[int, int]]:
    """Indices of the consistent and of the inconsistent response of each context that has both."""
    return [(i, i + 1) if annotated[i].consistent else (i + 1, i)
            for i in range(0, len(annotated), len(SYSTEMS))
            if annotated[i].consistent != annotated[i + 1].consistent]


def system_groups(run: Run) -> Groups:
    """The selected responses of each system, and a random sample (the paper's is not published)."""
    selected, annotated = run.some(readers.read_selected()), readers.read_annotated()
    groups: Groups = {}
    for system in SYSTEMS:
        for kind in ("inconsistent", "consistent"):
            groups[f"{system} {kind}"] = [
                row.example for row in selected
                if row.system == system and row.consistent == (kind == "consistent")]
        groups[f"{system} random"] = run.some(sample(
            [row.example for row in annotated if row.system == system]))
    return groups


def human_groups(run: Run) -> Groups:
    """The human responses where dodecaDialogue's are (in)consistent, and a random sample."""
    gold = [row for row in readers.read_selected(said="gold") if row.system == "dodeca"]
    groups: Groups = {
        f"human, where dodeca is {kind}": run.some(
            [row.example for row in gold if row.consistent == (kind == "consistent")])
        for kind in ("inconsistent", "consistent")}
    return {**groups, "human random": run.some(sample(readers.read_gold()))}


def absolute(
    run: Run, groups: Groups, metrics: Sequence[str], measures: Sequence[str],
    size: str = "", variant: str = "", **settings: Any,
) -> Figures:
    """Mean scores by group. A response without a score is left out, as v1 does; coverage is the
    share of responses with a valid question."""
    for group, examples in groups.items():
        for metric, column in run.scores(examples, metrics, **settings).items():
            found = {"mean": average([*known(column).values()]), **asked(column)}
            yield from measured(Key(metric, size, variant, group),
                                {name: found.get(name) for name in measures})


def asked(column: Sequence[ScoreSummary | None]) -> dict[str, float]:
    """What is known of the questions; nothing of a metric that asks none."""
    counts = [item.questions for item in column if item is not None and item.questions is not None]
    total = sum(counts)
    if not counts:
        return {}
    unanswered = sum(item.unanswered or 0 for item in column if item is not None)
    return {"questions": total, "coverage": sum(count > 0 for count in counts) / len(column),
            **({"unanswerable": unanswered / total} if total else {})}


def _ladder(run: Run) -> Figures:
    groups = {name: group for name, group in system_groups(run).items() if "random" not in name}
    for variant, settings in LADDER.items():
        if settings.get("coreference"):
            if here("wow"):
                groups = {name: readers.whole_dialogues(group) for name, group in groups.items()}
            else:
                run.notes.append("Coreference: the history is the message before the response, "
                                 f"because the whole dialogues are not here ({where(['wow'])}).")
        yield from _by_token_f1(absolute(
            run, groups, ["q2"], ("coverage", "mean"), variant=variant, **settings))


def _by_token_f1(figures: Figures) -> Figures:
    """v1's tables 7 and 8 say "Q²", which compares answers by token F1 there. What is measured of
    its questions is the same for both ways to compare answers."""
    return ((key._replace(model="q2_no_nli"), cell) for key, cell in figures
            if key.measure != "mean" or key.model == "q2_no_nli")


def _smaller_scores(run: Run) -> Figures:
    groups = system_groups(run)
    for size, model in _sizes(run).items():
        yield from absolute(run, groups, ["q2"], ("mean", "coverage"), size, **model)


def _sizes(run: Run) -> dict[str, dict[str, str]]:
    if run.preset.questions.kind == "seq2seq":
        return {"": {}, **SMALLER}
    run.left_out.append("The smaller T5 and ALBERT need a preset with Hub models.")
    return {"": {}}


def _responses(run: Run) -> Figures:
    truth, scores = run.judged(readers.read_selected(), ["q2", *BASELINES])
    run.draw(detection_curves({f"{len(truth)} selected responses": (truth, scores)}))
    for metric, column in scores.items():
        numbers = values(column)
        yield from measured(Key(metric, data="WoW"), {
            **decided(truth, numbers), "ROC-AUC": st.auc_interval(truth, numbers)})


def _systems(run: Run) -> Figures:
    places, examples = _contexts(run)
    return _correlations(places, run.scores(examples, ["q2", *BASELINES]))


def _contexts(run: Run) -> tuple[list[tuple[int, int]], list[Example]]:
    """The annotated responses of at most ``limit`` contexts, and their :func:`pairs`."""
    rows = readers.read_annotated()
    kept = [row for first in run.some(range(0, len(rows), len(SYSTEMS)))
            for row in rows[first : first + len(SYSTEMS)]]
    return pairs(kept), [row.example for row in kept]


def _correlations(places: Sequence[tuple[int, int]], scores: Scores, size: str = "") -> Figures:
    """The bounds are percentiles; ``places`` are those of :func:`pairs`."""
    for metric, column in scores.items():
        numbers = values(column)
        found = st.system_correlation([numbers[good] for good, _ in places],
                                      [numbers[bad] for _, bad in places])
        yield from measured(Key(metric, size, data="WoW"), {
            "Spearman": found.value, "lower bound": found.low, "upper bound": found.high})


def _v1_systems(run: Run) -> Figures:
    """Only contexts in which both responses have a valid question (186 in the paper)."""
    places, examples = _contexts(run)
    q2 = run.scores(examples, ["q2"], **V1)
    kept = {i for i, item in enumerate(q2.get("q2", ())) if item is not None and item.questions}
    both = [pair for pair in places if kept.issuperset(pair)]
    run.notes.append(f"{len(both)} of {len(places)} contexts have two responses with a question.")
    if both:
        yield from _correlations(
            both, {**q2, **run.scores(examples, ["overlap", "knowledge_bleu"])})


def _smaller_systems(run: Run) -> Figures:
    places, examples = _contexts(run)
    for size, model in _sizes(run).items():
        found = _correlations(places, run.scores(examples, ["q2"], **model), size)
        yield from ((key, cell) for key, cell in found if key.model == "q2")


def _other_knowledge(run: Run) -> Figures:
    annotated = readers.read_annotated()
    own = system_groups(run)["dodeca consistent"]
    groups = {f"{kind} dialogue": other_knowledge(own, annotated, same_dialogue=kind == "same")
              for kind in ("same", "other")}
    return _by_token_f1(absolute(run, groups, ["q2"], ("questions", "mean", "unanswerable"), **V1))


def other_knowledge(
    examples: Sequence[Example], annotated: Sequence[Labelled], *, same_dialogue: bool
) -> list[Example]:
    """Replaces the knowledge of each example by that of another, random turn of ``annotated``. An
    example is left out if there is no such turn."""
    by_dialogue: dict[str, dict[str, None]] = {}
    for row in annotated:
        by_dialogue.setdefault(_dialogue(row.example), {})[row.example.knowledge] = None
    rng = Random(st.SEED)
    others = []
    for example in examples:
        dialogue = _dialogue(example)
        if not same_dialogue:
            dialogue = rng.choice([name for name in by_dialogue if name != dialogue])
        known_there = by_dialogue.get(dialogue, {})
        if pool := [knowledge for knowledge in known_there if knowledge != example.knowledge]:
            others.append(replace(example, knowledge=rng.choice(pool)))
    return others


def _dialogue(example: Example) -> str:
    """A response's id has the form ``episode-round-system``, and an episode is a dialogue."""
    return (example.id or "").split("-")[0]


def _length(run: Run) -> Figures:
    from q2_metric.english.parse.parser import load

    tokenizer = load().tokenizer
    for group, examples in system_groups(run).items():
        if texts := [example.response for example in examples]:
            yield from measured(Key("", data=group), {
                "characters": fmean(map(len, texts)),
                "tokens": fmean(len(tokenizer(text)) for text in texts)})


def _robustness(run: Run) -> Figures:
    truth, scores = run.judged(readers.read_selected(), ("q2", "overlap", "knowledge_bleu"), **V1)
    panel = f"{len(truth)} selected responses (v1)"
    curves = detection_curves({panel: (truth, scores)})
    lines: dict[str, Any] = {}
    for metric, column in scores.items():
        found = known(column)
        points = st.robustness([value for i, value in found.items() if truth[i]],
                               [value for i, value in found.items() if not truth[i]])
        lines[metric] = {"x": list(st.ROBUSTNESS), "y": [point.value for point in points],
                         "low": [point.low for point in points],
                         "high": [point.high for point in points]}
        for share, point in zip(st.ROBUSTNESS, points, strict=True):
            yield Key(metric, data=f"{share:g} inconsistent", measure="mean"), point
    run.draw({**{kind: curves[kind] for kind in ("histogram", "precision_recall")},
              "robustness": {panel: lines}})


def _usr(run: Run, first: bool) -> Figures:
    """Spearman's and Pearson's correlation with the mean rating of "Uses Knowledge"; in v1, a
    variant has 0 for responses without a question (section 6.3)."""
    rated = run.some(readers.read_usr(
        folder("usr") / "tc_usr_data.json", leave_out=() if first else (readers.REFERENCE,)))
    scores = run.scores([one.example for one in rated], ["q2"], **V1 if first else {})
    variants = ("", "0 without a question") if first else ("",)
    for (metric, column), variant in product(scores.items(), variants):
        kept = known(column)
        if variant:
            kept = {i: kept.get(i, 0.0) for i in range(len(column))}
        ratings, numbers = [rated[i].rating for i in kept], list(kept.values())
        if len(set(ratings)) < 2 or len(set(numbers)) < 2 or len(kept) < 3:
            run.notes.append(f"{metric}: all scores or all ratings are equal.")
            continue
        yield from measured(Key(metric, "", variant, "Topical-Chat"), {
            "Spearman": st.correlation("spearmanr", ratings, numbers),
            "Pearson": st.correlation("pearsonr", ratings, numbers),
            "coverage": None if variant else asked(column).get("coverage")})


def _dnli(run: Run, first: bool) -> Figures:
    """Accuracy: v1 over the pairs that are not neutral and have a question, EMNLP over all, with
    neutral pairs as inconsistent. NLI alone is right if it finds entailment in consistent pairs."""
    read = run.some(readers.read_dnli(
        folder("dnli") / "dialogue_nli_verified_test.jsonl", neutral=not first))
    data = "DNLI, pairs that are not neutral" if first else "DNLI"
    settings: dict[str, Any] = {**(V1 if first else {}), "personal": "keep"}
    variants = {"": settings}
    if first:
        variants["answerable questions only"] = {**settings, "drop_unanswerable": True}
    for variant, given in variants.items():
        scores = run.scores([pair.example for pair in read],
                            ["q2"] if variant else ["q2", "nli"], **given)
        for metric, column in scores.items():
            limit = st.THRESHOLD if metric == "nli" else THRESHOLD
            right = [(value > limit) == read[i].consistent for i, value in known(column).items()]
            yield from measured(Key(metric, variant=variant, data=data), {
                "accuracy": st.share_interval(right) if right else None,
                "coverage": asked(column).get("coverage")})


_RANDOM = (f"Random: {RANDOM_SAMPLE} annotated responses of each system (seed {st.SEED}), because "
           "the paper's sample is not published.")
V1_NOTE = ("Settings: decoding=greedy, personal=keep, fallback=false. Responses without a question "
           "are left out.")
_WOW = ("wow_q2",)
TABLES = (
    PaperTable("q2-emnlp", 2, "scores by system", _WOW, f"Mean scores. {_RANDOM}",
               "6 x 150 responses", lambda run: absolute(
                   run, system_groups(run), ["q2", *BASELINES],
                   ("questions", "mean", "unanswerable"))),
    PaperTable("q2-emnlp", 3, "single responses (table and figure 3)", _WOW,
               "Decisions at 0.5 on the selected responses.", "600 responses", _responses),
    PaperTable("q2-emnlp", 4, "simulated systems", _WOW,
               "Rank correlation of the mean scores of simulated systems with their quality.",
               "1,088 responses", _systems),
    PaperTable("q2-emnlp", 7, "simulated systems, smaller models", _WOW,
               "As table 4, after a model of Q² was replaced.", "3 x 1,088 responses",
               _smaller_systems),
    PaperTable("q2-emnlp", 8, "scores by system, smaller models", _WOW,
               f"Mean scores and coverage. {_RANDOM}", "3 x 900 responses", _smaller_scores),
    PaperTable("q2-v1", 2, "scores by system and of people", _WOW, f"{V1_NOTE} {_RANDOM}",
               "9 x 150 responses", lambda run: absolute(
                   run, {**system_groups(run), **human_groups(run)}, ["q2"],
                   ("questions", "mean", "unanswerable", "coverage"), **V1)),
    PaperTable("q2-v1", 3, "word overlap by system", _WOW, _RANDOM,
               "6 x 150 responses", lambda run: absolute(
                   run, system_groups(run), ["overlap", "knowledge_bleu"], ("mean",))),
    PaperTable("q2-v1", 4, "simulated systems", _WOW, V1_NOTE, "1,088 responses", _v1_systems),
    PaperTable("q2-v1", 7, "variants of Q²", _WOW,
               "Each variant builds on the one before. Means of token F1 over the responses with a "
               "question.", "4 x 600 responses", _ladder),
    PaperTable("q2-v1", 8, "knowledge of another turn", _WOW,
               f"The consistent responses of dodecaDialogue, scored by token F1 with knowledge of "
               f"another annotated turn (seed {st.SEED}). The paper does not say which responses "
               f"it scored. {V1_NOTE}", "2 x 150 responses", _other_knowledge),
    PaperTable("q2-v1", 9, "length of responses", _WOW, f"Tokens are spaCy's. {_RANDOM}",
               "6 x 150 responses", _length),
    PaperTable("q2-v1", 0, "figures 3 to 9", _WOW,
               "Mean scores of simulated systems by their share of inconsistent responses. "
               f"{V1_NOTE}", "600 responses", _robustness),
    PaperTable("q2-emnlp", 5, "ratings of Topical-Chat", ("usr",),
               "The original human responses are left out.", "260 responses",
               partial(_usr, first=False)),
    PaperTable("q2-emnlp", 6, "Dialogue NLI", ("dnli",),
               f"Consistent: a score above {THRESHOLD}. Neutral pairs are inconsistent. Settings: "
               "personal=keep.", "all pairs", partial(_dnli, first=False)),
    PaperTable("q2-v1", 5, "Dialogue NLI", ("dnli",),
               f"Consistent: a score above {THRESHOLD}. The paper's coverage is 68.46 %. {V1_NOTE}",
               "the pairs that are not neutral, twice", partial(_dnli, first=True)),
    PaperTable("q2-v1", 6, "ratings of Topical-Chat", ("usr",),
               f"All 312 responses, of which 258 have a question in the paper. {V1_NOTE}",
               "312 responses", partial(_usr, first=True)),
)
