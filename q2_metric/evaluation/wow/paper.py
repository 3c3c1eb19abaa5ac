"""The tables of the Q² paper, and a table that compares our metrics with baselines."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.data.labelled import Labelled
from q2_metric.data.wow import SYSTEMS
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import Scores, ScoreSummary, values
from q2_metric.evaluation.statistics import SEED, Interval
from q2_metric.evaluation.tables import Cell, Column, Table
from q2_metric.evaluation.wow.responses import (
    RANDOM_SAMPLE,
    SYSTEM_NAMES,
    asked,
    mean,
    pairs,
    sample,
)
from q2_metric.metrics.registry import METRICS, entry, title

_MEASURES = (
    ("detection_selected", "ROC-AUC", "AUC, selected"),
    ("detection_annotated", "ROC-AUC", "AUC, annotated"),
    ("systems", "Spearman", "system level"),
)
_V1 = (("q2", "mean"), ("q2_no_nli", "mean"), ("q2", "unanswerable"))


def standing(tables: Sequence[Table], names: Sequence[str]) -> Table | None:
    """Which baselines (such as token F1) each of our metrics does not beat, if there are both."""
    by_name = {table.name: table for table in tables}
    # Our metrics have evidence, baselines have none. Metrics from a file are left out.
    baselines = [title(name) for name in names if name in METRICS and not entry(name).details]
    lines: list[tuple[Cell, ...]] = []
    for own in (title(name) for name in names if entry(name).details):
        cells: list[Cell] = [own]
        for name, column, _ in _MEASURES:
            table = by_name[name]
            place = [heading.title for heading in table.columns].index(column)
            cells_of = {row[0]: row[place] for row in table.rows}
            figures = {key: cell.value for key, cell in cells_of.items()
                       if isinstance(cell, Interval)}
            missed = [baseline for baseline in baselines if figures[baseline] >= figures[own]]
            cells.append(f"not above {', '.join(missed)}" if missed else "above every baseline")
        lines.append(tuple(cells))
    if not lines or not baselines:
        return None
    return Table(
        "standing",
        "In short",
        (Column("metric", "text"), *(Column(heading, "text") for _, _, heading in _MEASURES)),
        tuple(lines),
        f"The baselines are {', '.join(baselines)}. \"Above\" compares the figures of the tables "
        "below. The comparison with token F1 shows which differences in AUC may be due to chance.",
    )


def absolute(
    annotated: Sequence[Labelled], by_text: Scores, selected: Sequence[Labelled], chosen: Scores
) -> Table:
    """Mean scores by system and class (Q², table 2); ``chosen`` are those of ``selected``."""
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
            lines.append((SYSTEM_NAMES[system], kind, len(places), *asked(part),
                          *(mean(values(column)) for column in part.values()),
                          *(published.value("q2-v1", 2, metric, data=f"{system} {kind}",
                                            measure=measure) for metric, measure in _V1)))
    names = list(by_text)
    return Table(
        "absolute",
        "Absolute scores",
        (
            Column("system", "text"), Column("responses are", "text"), Column("n", "count"),
            Column("questions", "count"), Column("unanswerable", "percent"),
            Column("coverage", "percent"),
            *(Column(title(name)) for name in names),
            Column("arXiv v1: Q²"), Column("arXiv v1: Q² without NLI"),
            Column("arXiv v1: unanswerable", "percent"),
        ),
        tuple(lines),
        f"Random: {RANDOM_SAMPLE} of the system's annotated responses (seed {SEED}), because the "
        "paper's own random sample is not published. Unanswerable: questions that the knowledge "
        "does not answer. Coverage: responses with a valid question. arXiv v1: the first "
        "version of the Q² paper (table 2), with T5-base, ALBERT-xlarge and RoBERTa.",
    )


def systems(annotated: Sequence[Labelled], scores: Scores) -> Table:
    """A table of the system-level correlations (Q², table 4)."""
    good, bad = pairs(annotated)
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        numbers = values(column)
        correlation = st.system_correlation([numbers[i] for i in good], [numbers[i] for i in bad])
        lines.append((title(metric), correlation))
    lines += [(name, *figure) for name, figure in
              published.lines("q2-emnlp", 4, ("WoW", "Spearman"))]
    shares = ", ".join(f"{share:g}" for share in st.SYSTEMS.shares)
    return Table(
        "systems",
        "System level: simulated systems",
        (Column("metric", "text"), Column("Spearman")),
        tuple(lines),
        f"{len(good)} contexts have one consistent and one inconsistent response. A simulated "
        f"system has {st.SYSTEMS.size} responses to these contexts, drawn with replacement. The "
        f"systems' shares of inconsistent responses are {shares}. The table shows the mean over "
        f"{st.SYSTEMS.repeats:,} repetitions, and in brackets the 2.5th and 97.5th percentile "
        f"(seed {SEED}).",
    )


def robustness(selected: Sequence[Labelled], scores: Scores) -> Table:
    """A table of the mean scores of simulated systems (Q², figure 4)."""
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        lines.append((title(metric), *(point.value for point in falling(selected, column))))
    return Table(
        "robustness",
        "Score by share of inconsistent responses",
        (Column("metric", "text"), *(Column(f"{share:g}") for share in st.ROBUSTNESS.shares)),
        tuple(lines),
        f"The columns are shares of inconsistent responses. Each figure is the mean score of "
        f"{st.SYSTEMS.repeats:,} simulated systems with {st.ROBUSTNESS.size} responses, which are "
        f"drawn with replacement from the selected responses (seed {SEED}).",
    )


def falling(selected: Sequence[Labelled], column: Sequence[ScoreSummary | None]) -> list[Interval]:
    """The mean score of simulated systems, at each share of inconsistent responses."""
    numbers = values(column)
    good = [number for row, number in zip(selected, numbers, strict=True) if row.consistent]
    bad = [number for row, number in zip(selected, numbers, strict=True) if not row.consistent]
    return st.robustness(good, bad)
