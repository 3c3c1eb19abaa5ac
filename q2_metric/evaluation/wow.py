"""Wizard of Wikipedia: the experiments of the Q² paper, for any metric.

On 600 selected responses (two systems, 150 consistent and 150 inconsistent each) and on
1,088 annotated ones (544 contexts, a response of each system; the 600 are among them).
Differences to the paper, all because of what was published:

- its random sample of responses was not; ours is 150 of each system's annotated responses;
- its overlap leaves out stop words, ours is the token F1 of TRUE's and SCALE's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import SYSTEMS, read_annotated, read_selected
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import (
    Scores,
    compared_with,
    comparison_table,
    detection_curves,
    detection_table,
    title,
)
from q2_metric.evaluation.scores import Columns, Scored, values
from q2_metric.evaluation.statistics import SEED, Interval
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.system import Q2
from q2_metric.types import Example

RANDOM_SAMPLE = 150
"""Responses of a system's random sample, as many as of each selected class."""

SYSTEM_NAMES = {"dodeca": "dodecaDialogue", "memnet": "MemNet"}


def rows() -> list[Labelled]:
    """The 1,088 annotated responses, which all others are among."""
    return read_annotated()


def experiment(columns: Columns, *, control: bool = True) -> Report:
    """All of the paper's tables on Wizard of Wikipedia.

    Args:
        columns: the metrics.
        control: also score consistent responses with knowledge of other turns, which asks
            the metrics for about 440 further scores; foreign metrics have none.

    Raises:
        DataError: the data set is not there.
    """
    annotated, selected = read_annotated(), read_selected()
    by_text = columns.scores([row.example for row in annotated], "annotated")
    places = {_texts(row.example): i for i, row in enumerate(annotated)}
    chosen = [places[_texts(row.example)] for row in selected]
    of_selected = {name: [column[i] for i in chosen] for name, column in by_text.items()}
    tables = [
        _absolute(annotated, by_text, selected, of_selected),
        detection_table(
            "detection_selected",
            f"Response level: the {len(selected)} selected responses",
            _truth(selected),
            of_selected,
            accuracy=published.WOW_ACCURACY,
        ),
        detection_table(
            "detection_annotated",
            f"Response level: all {len(annotated):,} annotated responses",
            _truth(annotated),
            by_text,
            auc=published.WOW_AUC,
        ),
        _systems(annotated, by_text),
        _robustness(selected, of_selected),
    ]
    if len(by_text) > 1:
        tables.append(
            comparison_table(
                {"selected": _truth(selected), "annotated": _truth(annotated)},
                {"selected": of_selected, "annotated": by_text},
                compared_with(columns.names),
            )
        )
    standing = _standing(tables, columns.names)
    if standing is not None:
        tables.insert(0, standing)
    if control:
        tables.append(_random_knowledge(columns, annotated, selected))
    tables.append(_length(annotated, selected))
    return Report(
        name="wow",
        title="Agreement with people on Wizard of Wikipedia",
        tables=tuple(tables),
        signatures=columns.signatures,
        curves=_curves(annotated, by_text, selected, of_selected),
    )


def _texts(example: Example) -> tuple[str, str]:
    return example.response, example.knowledge


def _truth(rows: Sequence[Labelled]) -> list[bool]:
    return [row.consistent for row in rows]


def sample(annotated: Sequence[Labelled], system: str, seed: int = SEED) -> list[int]:
    """Places of a system's random sample among its annotated responses, in order."""
    own = [i for i, row in enumerate(annotated) if row.system == system]
    return sorted(Random(seed).sample(own, min(RANDOM_SAMPLE, len(own))))


# --- ours and the baselines ------------------------------------------------------------------

OURS = (Q2, "scale")
BASELINES = ("f1", "bleu", "nli", "bertscore")

_MEASURES = (
    ("detection_selected", "ROC-AUC", "AUC, selected"),
    ("detection_annotated", "ROC-AUC", "AUC, annotated"),
    ("systems", "Spearman", "system level"),
)


def _standing(tables: Sequence[Table], names: Sequence[str]) -> Table | None:
    """Which baselines our metrics are above, in words, so that a page cannot leave it out."""
    by_name = {table.name: table for table in tables}
    baselines = [title(name) for name in names if name in BASELINES]
    lines: list[tuple[Cell, ...]] = []
    for own in (title(name) for name in names if name in OURS):
        cells: list[Cell] = [own]
        for name, column, _ in _MEASURES:
            table = by_name[name]
            place = [one.title for one in table.columns].index(column)
            found = {row[0]: row[place] for row in table.rows}
            figures = {key: cell.value for key, cell in found.items() if isinstance(cell, Interval)}
            missed = [one for one in baselines if figures[one] >= figures[own]]
            cells.append(f"not above {', '.join(missed)}" if missed else "above every baseline")
        lines.append(tuple(cells))
    if not lines or not baselines:
        return None
    return Table(
        "standing",
        "In short",
        (Column("metric", "text"), *(Column(heading, "text") for _, _, heading in _MEASURES)),
        tuple(lines),
        f"Baselines here: {', '.join(baselines)}. By the figures below; whether chance explains "
        "a difference in AUC is in the comparison.",
    )


# --- absolute scores (Q², table 2) ----------------------------------------------------------


def _absolute(
    annotated: Sequence[Labelled], by_text: Scores, selected: Sequence[Labelled], chosen: Scores
) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for system in SYSTEMS:
        for kind in ("inconsistent", "consistent", "random"):
            if kind == "random":
                places = sample(annotated, system)
                scores = by_text
            else:
                places = [
                    i for i, row in enumerate(selected)
                    if row.system == system and row.consistent == (kind == "consistent")
                ]
                scores = chosen
            part = {name: [column[i] for i in places] for name, column in scores.items()}
            lines.append((SYSTEM_NAMES[system], kind, len(places), *_asked(part.get(Q2)),
                          *(_mean(values(column)) for column in part.values()),
                          *published.WOW_MEANS.get((system, kind), (None, None, None))))
    names = list(by_text)
    return Table(
        "absolute",
        "Absolute scores",
        (
            Column("system", "text"), Column("responses are", "text"), Column("n", "count"),
            Column("questions", "count"), Column("unanswerable", "percent"),
            Column("coverage", "percent"),
            *(Column(title(name)) for name in names),
            Column("published: Q²"), Column("published: Q² without NLI"),
            Column("published: unanswerable", "percent"),
        ),
        tuple(lines),
        f"random: {RANDOM_SAMPLE} of the system's annotated responses (seed {SEED}); the paper's "
        "own random sample is not published. Coverage: responses with a valid question.",
    )


def _asked(column: Sequence[Scored | None] | None) -> tuple[Cell, Cell, Cell]:
    """Number of questions, share unanswerable, share of responses with a question."""
    if not column:
        return None, None, None
    counts = [item.questions or 0 for item in column if item]
    unanswered = sum(item.unanswered or 0 for item in column if item)
    total = sum(counts)
    share = unanswered / total if total else None
    return total, share, sum(count > 0 for count in counts) / len(column)


def _mean(numbers: Sequence[float]) -> Cell:
    return sum(numbers) / len(numbers) if numbers else None


# --- system level (Q², section 5.1, table 4) ------------------------------------------------


def pairs(annotated: Sequence[Labelled]) -> tuple[list[int], list[int]]:
    """Places of the consistent and of the inconsistent response of the contexts with both."""
    good, bad = [], []
    for first in range(0, len(annotated), len(SYSTEMS)):
        one, other = first, first + 1
        if annotated[one].consistent != annotated[other].consistent:
            good.append(one if annotated[one].consistent else other)
            bad.append(other if annotated[one].consistent else one)
    return good, bad


def _systems(annotated: Sequence[Labelled], scores: Scores) -> Table:
    good, bad = pairs(annotated)
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        numbers = values(column)
        found = st.system_correlation([numbers[i] for i in good], [numbers[i] for i in bad])
        lines.append((title(metric), found, published.WOW_SYSTEM_LEVEL.get(metric)))
    shares = ", ".join(f"{share:g}" for share in st.SYSTEMS.shares)
    return Table(
        "systems",
        "System level: simulated systems",
        (Column("metric", "text"), Column("Spearman"), Column("published")),
        tuple(lines),
        f"{len(good)} contexts have one consistent and one inconsistent response. "
        f"{st.SYSTEMS.size} are drawn with replacement, systems have the share {shares} of "
        f"inconsistent responses; mean over {st.SYSTEMS.repeats:,} repetitions with the 2.5th and "
        f"97.5th percentile (seed {SEED}).",
    )


# --- robustness (Q², section 5.4, figure 4) -------------------------------------------------


def _robustness(selected: Sequence[Labelled], scores: Scores) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        lines.append((title(metric), *(one.value for one in _falling(selected, column))))
    return Table(
        "robustness",
        "Score by share of inconsistent responses",
        (Column("metric", "text"), *(Column(f"{share:g}") for share in st.ROBUSTNESS.shares)),
        tuple(lines),
        f"Mean score of systems of {st.ROBUSTNESS.size} selected responses, drawn with "
        f"replacement {st.SYSTEMS.repeats:,} times (seed {SEED}).",
    )


def _falling(selected: Sequence[Labelled], column: Sequence[Scored | None]) -> list[Interval]:
    numbers = values(column)
    good = [number for row, number in zip(selected, numbers, strict=True) if row.consistent]
    bad = [number for row, number in zip(selected, numbers, strict=True) if not row.consistent]
    return st.robustness(good, bad)


# --- controls (Q², appendices C and D, tables 10 and 11) ------------------------------------


def _random_knowledge(
    columns: Columns, annotated: Sequence[Labelled], selected: Sequence[Labelled]
) -> Table:
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
            None if all(item is None for item in column) else _mean(values(column))
            for column in scores.values()
        ]
        _, share, coverage = _asked(scores.get(Q2))
        theirs = published.WOW_RANDOM_KNOWLEDGE.get(kind, (None, None))
        lines.append((kind, len(examples), share, coverage, *means, *theirs))
    return Table(
        "random_knowledge",
        "Control: knowledge of another turn",
        (
            Column("knowledge of", "text"), Column("n", "count"),
            Column("unanswerable", "percent"), Column("coverage", "percent"),
            *(Column(title(name)) for name in names),
            Column("published: Q²"), Column("published: unanswerable", "percent"),
        ),
        tuple(lines),
        "The consistent selected responses, with the knowledge of another turn of the same "
        "dialogue (where the data has one) or of another dialogue, drawn with seed "
        f"{SEED}. A metric that looks at the knowledge falls.",
    )


def other_knowledge(
    examples: Sequence[Example],
    annotated: Sequence[Labelled],
    *,
    same_dialogue: bool,
    seed: int = SEED,
) -> list[Example]:
    """The examples with another turn's knowledge; those for which there is none are left out."""
    by_dialogue: dict[str, list[str]] = {}
    for row in annotated:
        found = by_dialogue.setdefault(_dialogue(row.example), [])
        if row.example.knowledge not in found:
            found.append(row.example.knowledge)
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
    """The episode of an id ``episode-round-system``."""
    return (example.id or "").split("-")[0]


def _length(annotated: Sequence[Labelled], selected: Sequence[Labelled]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for system in SYSTEMS:
        own = [row for row in selected if row.system == system]
        groups: dict[str, list[str]] = {
            "consistent": [row.example.response for row in own if row.consistent],
            "inconsistent": [row.example.response for row in own if not row.consistent],
            "random": [annotated[i].example.response for i in sample(annotated, system)],
        }
        for kind, group in groups.items():
            theirs = published.WOW_LENGTH[kind] if system == "dodeca" else (None, None)
            lines.append((SYSTEM_NAMES[system], kind, _mean([len(text) for text in group]),
                          _mean([len(text.split()) for text in group]), *theirs))
    truth, texts = _truth(selected), [row.example.response for row in selected]
    characters = st.roc_auc(truth, [len(text) for text in texts])
    tokens = st.roc_auc(truth, [len(text.split()) for text in texts])
    return Table(
        "length",
        "Control: length of the responses",
        (
            Column("system", "text"), Column("responses are", "text"), Column("characters"),
            Column("tokens"), Column("published: characters"), Column("published: tokens"),
        ),
        tuple(lines),
        f"ROC-AUC × 100 of length alone on the selected responses: {100 * characters:.1f} by "
        f"characters, {100 * tokens:.1f} by tokens (what stands between blanks; the responses "
        "come tokenised).",
    )


# --- figures --------------------------------------------------------------------------------


def _curves(
    annotated: Sequence[Labelled], by_text: Scores, selected: Sequence[Labelled], chosen: Scores
) -> dict[str, Any]:
    curves = detection_curves(
        {
            f"{len(selected)} selected responses": (_truth(selected), chosen),
            f"{len(annotated):,} annotated responses": (_truth(annotated), by_text),
        }
    )
    curves["robustness"] = {
        f"{len(selected)} selected responses": {
            metric: {
                "x": list(st.ROBUSTNESS.shares),
                "y": [one.value for one in falling],
                "low": [one.low for one in falling],
                "high": [one.high for one in falling],
            }
            for metric, column in chosen.items()
            for falling in [_falling(selected, column)]
        }
    }
    return curves
