"""Control experiments of the Q² paper (arXiv v1, appendix B): other knowledge, and length alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import SYSTEMS
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import ScoreColumns, values
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell, Column, Table
from q2_metric.evaluation.wow.responses import SYSTEM_NAMES, asked, mean, sample, truths
from q2_metric.metrics.registry import title
from q2_metric.types import Example


def random_knowledge(
    columns: ScoreColumns, annotated: Sequence[Labelled], selected: Sequence[Labelled]
) -> Table:
    """Scores the consistent selected responses with other turns' knowledge (Q² v1, table 8)."""
    consistent = [row.example for row in selected if row.consistent]
    kinds = {
        "own": consistent,
        "same dialogue": other_knowledge(consistent, annotated, same_dialogue=True),
        "other dialogue": other_knowledge(consistent, annotated, same_dialogue=False),
    }
    lines: list[tuple[Cell, ...]] = []
    names: list[str] = []
    for kind, examples in kinds.items():
        scores = columns.scores(examples, f"knowledge: {kind}", complete=False)
        names = list(scores)
        means = [
            None if all(item is None for item in column) else mean(values(column))
            for column in scores.values()
        ]
        _, share, coverage = asked(scores)
        theirs = [published.value("q2-v1", 8, "q2_no_nli", data=kind, measure=measure)
                  for measure in ("mean", "unanswerable")]
        lines.append((kind, len(examples), share, coverage, *means, *theirs))
    return Table(
        "random_knowledge",
        "Control: knowledge of another turn",
        (
            Column("knowledge of", "text"), Column("n", "count"),
            Column("unanswerable", "percent"), Column("coverage", "percent"),
            *(Column(title(name)) for name in names),
            Column("arXiv v1: Q² without NLI"), Column("arXiv v1: unanswerable", "percent"),
        ),
        tuple(lines),
        "The consistent selected responses, scored with their own knowledge, with that of another "
        "turn of the same dialogue (if the data contains one), or with that of another dialogue "
        f"(drawn with seed {SEED}). A metric that uses the knowledge gives lower scores to the "
        "last two.",
    )


def other_knowledge(
    examples: Sequence[Example],
    annotated: Sequence[Labelled],
    *,
    same_dialogue: bool,
    seed: int = SEED,
) -> list[Example]:
    """Replaces the knowledge of each example by that of another, random turn of ``annotated``.

    An example is left out if there is no such turn.
    """
    by_dialogue: dict[str, list[str]] = {}
    for row in annotated:
        texts = by_dialogue.setdefault(_dialogue(row.example), [])
        if row.example.knowledge not in texts:
            texts.append(row.example.knowledge)
    rng = Random(seed)
    others = []
    for example in examples:
        own = _dialogue(example)
        if same_dialogue:
            pool = by_dialogue.get(own, [])
        else:
            pool = by_dialogue[rng.choice([name for name in by_dialogue if name != own])]
        pool = [knowledge for knowledge in pool if knowledge != example.knowledge]
        if pool:
            others.append(replace(example, knowledge=rng.choice(pool)))
    return others


def _dialogue(example: Example) -> str:
    """A response's id has the form ``episode-round-system``, and an episode is a dialogue."""
    return (example.id or "").split("-")[0]


def length(annotated: Sequence[Labelled], selected: Sequence[Labelled]) -> Table:
    """The mean length of each system's responses (Q² v1, table 9), and the AUC of length alone."""
    lines: list[tuple[Cell, ...]] = []
    for system in SYSTEMS:
        own = [row for row in selected if row.system == system]
        groups: dict[str, list[str]] = {
            "consistent": [row.example.response for row in own if row.consistent],
            "inconsistent": [row.example.response for row in own if not row.consistent],
            "random": [annotated[i].example.response for i in sample(annotated, system)],
        }
        for kind, group in groups.items():
            theirs = [published.value("q2-v1", 9, "", data=f"{system} {kind}", measure=measure)
                      for measure in ("characters", "tokens")]
            lines.append((SYSTEM_NAMES[system], kind, mean([len(text) for text in group]),
                          mean([len(text.split()) for text in group]), *theirs))
    truth, texts = truths(selected), [row.example.response for row in selected]
    characters = st.roc_auc(truth, [len(text) for text in texts])
    tokens = st.roc_auc(truth, [len(text.split()) for text in texts])
    return Table(
        "length",
        "Control: length of the responses",
        (
            Column("system", "text"), Column("responses are", "text"), Column("characters"),
            Column("tokens"), Column("arXiv v1: characters"), Column("arXiv v1: tokens"),
        ),
        tuple(lines),
        f"If length is the score, ROC-AUC × 100 on the selected responses is "
        f"{100 * characters:.1f} for characters and {100 * tokens:.1f} for tokens. The responses "
        "are tokenised already, so tokens are what stands between blanks.",
    )
