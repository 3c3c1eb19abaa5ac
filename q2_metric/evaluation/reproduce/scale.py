"""The tables of the SCALE paper: TRUE and ScreenEval."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from q2_metric.data.catalogue import CATALOGUE, folder, here
from q2_metric.data.readers import Labelled, read_screeneval, read_true
from q2_metric.errors import InputError, optional
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.agreement import average, detection_curves
from q2_metric.evaluation.reproduce.table import Figures, Key, PaperTable, Run, measured
from q2_metric.evaluation.scores import MetricSource, Scores, values
from q2_metric.metrics.scale import Known, Scale, Search
from q2_metric.models.endpoints import Endpoint
from q2_metric.types import Claim, Example, Judgement

AVERAGED = ("frank", "summeval", "mnbm", "qags_cnndm", "qags_xsum", "begin", "q2", "dialfact",
            "paws")
"""The sets of TRUE over which table 3 has an average."""
SETS = (*AVERAGED, "fever", "vitc")
"""The sets in the order of tables 3 and 4."""
PART = "dialfact_a"
"""A part of dialfact, which is used if the whole set is not here."""
CHUNKS = (100, 300, 500, 750, 1000, 2000, 3000)
"""The chunk sizes of figures 4 and 5, as in the authors' results."""
PROMPT = ('{dialogue} Question: does the previous conversation factually imply "{sentence}"? '
          "Answer Yes or No.")
"""The prompt for chat models (appendix B.1)."""
WHOLE = 10**6
"""A chunk size that no dialogue reaches, so that the search begins with the whole dialogue."""


def true_scores(run: Run, metrics: Sequence[str]) -> dict[str, tuple[list[bool], Scores]]:
    found: dict[str, tuple[list[bool], Scores]] = {}
    for name in SETS:
        place = name if here(f"true/{name}") else PART if name == "dialfact" else ""
        if not place or not here(f"true/{place}"):
            run.left_out.append(f"{name} is not here.")
            continue
        if place == PART:
            run.notes.append(f"dialfact is {PART}, {CATALOGUE['true/' + PART].description}.")
        rows = read_true(place)
        if len({row.consistent for row in run.some(rows)}) > 1:
            found[name] = run.judged(rows, metrics, place)
    return found


def _true(run: Run) -> Figures:
    for name, (truth, scores) in true_scores(
            run, ["q2", "scale", "knowledge_f1", "bertscore"]).items():
        for metric, column in scores.items():
            yield Key(metric, data=name, measure="ROC-AUC"), st.auc_interval(truth, values(column))


def _averaged(figures: Figures, sets: Sequence[str]) -> Figures:
    found = dict(figures)
    yield from found.items()
    for row in dict.fromkeys(key._replace(data="") for key in found):
        mean = average([found.get(row._replace(data=name)) for name in sets])
        if mean is not None:
            yield row._replace(data="average"), mean


def _calibration(run: Run) -> Figures:
    """Table 4: equations 1 to 3 on the scores as they are, and as the authors' notebook computes
    it, on scores that are stretched to [0, 1] in each set."""
    found = true_scores(run, ["scale", "bertscore"])
    for name, (truth, scores) in found.items():
        for metric, column in scores.items():
            numbers = values(column)
            for variant, own in (("", numbers), ("stretched to [0, 1]", st.min_max(numbers))):
                yield Key(metric, "", variant, name, "ECE"), st.ece(truth, own)
    run.draw({"reliability": detection_curves(found)["reliability"]})


def _rows(run: Run) -> tuple[list[Labelled], list[bool], list[Example]]:
    rows = run.some(read_screeneval(folder("screeneval") / "screen_eval.json"))
    return rows, [row.consistent for row in rows], [row.example for row in rows]


def _timed(run: Run, examples: Sequence[Example], **settings: int) -> tuple[list[float], float]:
    """SCALE's scores and the seconds they took, at batch size 1 and without the cache."""
    metric = run.source("scale", {**settings, "batch_size": 1}).metric
    start = time.perf_counter()
    scores = [metric.score([example])[0].value for example in examples]
    seconds = time.perf_counter() - start
    return [st.THRESHOLD if score is None else score for score in scores], seconds


def _screeneval(run: Run) -> Figures:
    _, truth, examples = _rows(run)
    rouge = optional("rouge_score.rouge_scorer", "ROUGE", "rouge-score", "knowledge")
    scorer = rouge.RougeScorer(["rouge1"])
    words = [scorer.score(one.knowledge, one.response)["rouge1"].fmeasure for one in examples]
    scale, seconds = _timed(run, examples)
    others = run.scores(examples, ["bertscore"])
    numbers = {"scale": scale, "Rouge-1": words,
               **{metric: values(column) for metric, column in others.items()}}
    for metric, column in numbers.items():
        yield from measured(Key(metric, data="ScreenEval"), {
            "Pearson": st.correlation("pearsonr", truth, column),
            "Kendall": st.correlation("kendalltau", truth, column),
            "ROC-AUC": st.auc_interval(truth, column),
            "seconds": seconds if metric == "scale" else None})


def _macro_f1(run: Run) -> Figures:
    _, truth, examples = _rows(run)
    scores, seconds = _timed(run, examples)
    best = st.best_threshold(truth, scores, rule="macro_f1")
    decided = {"scale": (st.detection(truth, scores, best), seconds)}
    if name := os.environ.get("Q2_CHAT_MODEL"):
        asked = Endpoint(name)
        prompts = [PROMPT.format(dialogue=one.knowledge, sentence=one.response) for one in examples]
        start = time.perf_counter()
        said = [float("yes" in asked.texts([prompt], 1)[0].lower()) for prompt in prompts]
        decided[asked.model] = st.detection(truth, said), time.perf_counter() - start
    else:
        run.left_out.append("A chat model is asked if Q2_CHAT_MODEL is set (openai:MODEL@URL).")
    for model, (found, spent) in decided.items():
        yield from measured(Key(model, data="ScreenEval"),
                            {"F1-macro": found["F1-macro"], "seconds": spent})


def _retrieval(run: Run) -> Figures:
    rows = [row for row in _rows(run)[0] if row.consistent and row.relevant]
    if not rows:
        raise InputError("screeneval: no supported sentence has a marked utterance ('rel_utt')")
    source = run.source("scale", {"chunk_size": WHOLE})
    found = search(source, [row.example for row in rows])
    hits = [line in row.relevant for row, (line, _) in zip(rows, found, strict=True)]
    return measured(Key("scale", data="ScreenEval"), {
        "recall": st.share_interval(hits),
        "seconds": sum(seconds for _, seconds in found) / len(found)})


def utterances(text: str) -> list[tuple[int, int]]:
    """The characters [start, end) of each non-empty line: SCALE searches these, not sentences."""
    return [match.span() for match in re.finditer(r"[^\s](?:.*[^\s])?", text)]


def search(source: MetricSource, examples: Sequence[Example]) -> list[tuple[int | None, float]]:
    """For each example, the line, from 0, at which the search for the whole response ends
    (``None`` without a line), and the seconds it took."""
    metric = cast(Scale, source.metric)
    own = Scale(metric.backbone, replace(
        metric.settings, recipe="paper", chunking="knowledge", chunk_size=WHOLE))
    found: list[tuple[int | None, float]] = []
    for example in examples:
        start = time.perf_counter()
        claim = Claim(example.response, 0, len(example.response))
        one = Search(example.knowledge, Judgement(claim, 0.0, "not found"), claim.text,
                     utterances(example.knowledge))
        (place,) = own.deciding([one], Known())
        line = None if place is None else example.knowledge.count("\n", 0, place[0])
        found.append((line, time.perf_counter() - start))
    return found


def _chunk_sizes(run: Run) -> Figures:
    _, truth, examples = _rows(run)
    lines: dict[str, list[float]] = {}
    for size in CHUNKS:
        scores, seconds = _timed(run, examples, chunk_size=size)
        found = {"ROC-AUC": st.roc_auc(truth, scores), "ECE": st.ece(truth, scores),
                 "seconds": seconds}
        yield from measured(Key("scale", data=f"{size} tokens"), found)
        for name, value in found.items():
            lines.setdefault(name, []).append(value)
    run.draw({"sweep": {name: {"scale": {"x": list(CHUNKS), "y": line}}
                        for name, line in lines.items()}})


_TRUE = tuple(f"true/{name}" for name in (*SETS, PART))
_SCREENEVAL = ("screeneval",)
_TIME = "Seconds at batch size 1, on this machine."
TABLES = (
    PaperTable("scale", 3, "TRUE, ROC-AUC", _TRUE,
               "The average is over all sets but fever and vitc.", "105,121 texts",
               lambda run: _averaged(_true(run), AVERAGED), any_data=True),
    PaperTable("scale", 4, "TRUE, calibration error (table and figure 3)", _TRUE,
               f"Equations 1 to 3 with {st.N_BINS} bins and without stretching; ŷ is the class "
               "\"consistent\", of which the score is the probability. The authors' notebook "
               "stretches the scores of each set.", "105,121 texts",
               lambda run: _averaged(_calibration(run), SETS), any_data=True),
    PaperTable("scale", 5, "ScreenEval", _SCREENEVAL, _TIME, "624 sentences", _screeneval),
    PaperTable("scale", 6, "ScreenEval beside chat models", _SCREENEVAL,
               f"Macro-F1 at the best threshold on the same sentences. {_TIME}",
               "624 sentences", _macro_f1),
    PaperTable("scale", 7, "ScreenEval, search for the evidence", _SCREENEVAL,
               "Recall: the search ends at an utterance that people marked. Seconds for each "
               "sentence.", "the supported sentences", _retrieval),
    PaperTable("scale", 0, "chunk sizes (figures 4 and 5)", _SCREENEVAL, _TIME,
               "7 x 624 sentences", _chunk_sizes),
)
