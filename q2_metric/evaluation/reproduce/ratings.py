"""The tables of the Q² paper on Topical-Chat (USR) and on Dialogue NLI, of both its versions."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from q2_metric.data.catalogue import folder
from q2_metric.data.readers import REFERENCE, read_dnli, read_usr
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.published import Key
from q2_metric.evaluation.reproduce.table import Figures, PaperTable, Run, measured
from q2_metric.evaluation.reproduce.wow import V1, V1_NOTE, asked
from q2_metric.evaluation.scores import ScoreSummary, known

NO_QUESTION = "0 without a question"
THRESHOLD = 0.1
"""A pair with a higher score counts as consistent (EMNLP, section 5.3; v1, section 6.4)."""


def _usr(run: Run, table: int, first: bool) -> Figures:
    """Spearman's and Pearson's correlation with the mean rating of "Uses Knowledge"; in v1, a
    variant has 0 for responses without a question (section 6.3)."""
    rated = run.some(read_usr(folder("usr") / "tc_usr_data.json",
                              leave_out=() if first else (REFERENCE,)))
    settings = V1 if first else {}
    scores = run.scores([one.example for one in rated], ["q2"], **settings)
    variants = ("", NO_QUESTION) if first else ("",)
    for (metric, column), variant in product(scores.items(), variants):
        kept = known(column)
        if variant:
            kept = {i: kept.get(i, 0.0) for i in range(len(column))}
        ratings, numbers = [rated[i].rating for i in kept], list(kept.values())
        if len(set(ratings)) < 2 or len(set(numbers)) < 2 or len(kept) < 3:
            run.notes.append(f"{metric}: all scores or all ratings are equal.")
            continue
        yield from measured(Key(table, metric, "", variant, "Topical-Chat"), {
            "Spearman": st.correlation("spearmanr", ratings, numbers),
            "Pearson": st.correlation("pearsonr", ratings, numbers),
            **({} if variant else _coverage(column))})


def _coverage(column: Sequence[ScoreSummary | None]) -> dict[str, float]:
    return {name: share for name, share in asked(column).items() if name == "coverage"}


def _dnli(run: Run, table: int, first: bool) -> Figures:
    """Accuracy: v1 over the pairs that are not neutral and have a question, EMNLP over all, with
    neutral pairs as inconsistent. NLI alone is right if it finds entailment in consistent pairs."""
    read = run.some(read_dnli(folder("dnli") / "dialogue_nli_verified_test.jsonl",
                              neutral=not first))
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
            yield from measured(Key(table, metric, variant=variant, data=data), {
                **({"accuracy": st.share_interval(right)} if right else {}), **_coverage(column)})


TABLES = (
    PaperTable("q2-emnlp", 5, "ratings of Topical-Chat", ("usr",),
               "The original human responses are left out.", "260 responses",
               partial(_usr, table=5, first=False)),
    PaperTable("q2-emnlp", 6, "Dialogue NLI", ("dnli",),
               f"Consistent: a score above {THRESHOLD}. Neutral pairs are inconsistent. Settings: "
               "personal=keep.", "all pairs", partial(_dnli, table=6, first=False)),
    PaperTable("q2-v1", 5, "Dialogue NLI", ("dnli",),
               f"Consistent: a score above {THRESHOLD}. The paper's coverage is 68.46 %. {V1_NOTE}",
               "the pairs that are not neutral, twice", partial(_dnli, table=5, first=True)),
    PaperTable("q2-v1", 6, "ratings of Topical-Chat", ("usr",),
               f"All 312 responses, of which 258 have a question in the paper. {V1_NOTE}",
               "312 responses", partial(_usr, table=6, first=True)),
)
