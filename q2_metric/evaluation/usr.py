"""Evaluates metrics on Topical-Chat: correlation with people's ratings (Q², section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.data.usr import QUALITY, Rated
from q2_metric.errors import InputError
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.scores import ScoreColumns, values
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.registry import title


def experiment(columns: ScoreColumns, rated: Sequence[Rated], *, quality: str = QUALITY) -> Report:
    """Measures Spearman's and Pearson's correlation between each metric's scores and the ratings.

    Raises:
        InputError: there are fewer than three responses, or all ratings are equal.
    """
    ratings = [response.rating for response in rated]
    if len(ratings) < 3 or len(set(ratings)) == 1:
        raise InputError("a correlation needs three responses with different ratings")
    scores = columns.scores([response.example for response in rated], "responses")
    lines: list[tuple[Cell, ...]] = []
    for metric, column in scores.items():
        numbers = values(column)
        if len(set(numbers)) == 1:  # the correlation is not defined
            lines.append((title(metric), None, None, None, None))
            continue
        rank, linear = st.spearman(ratings, numbers), st.pearson(ratings, numbers)
        lines.append((title(metric), rank.interval, rank.p, linear.interval, linear.p))
    theirs = published.lines("q2-v1", 6, ("Topical-Chat", "Spearman"), ("Topical-Chat", "Pearson"))
    lines += [(name, rank, None, linear, None) for name, (rank, linear) in theirs]
    contexts = len({response.example.id.split("-")[0] for response in rated if response.example.id})
    table = Table(
        "correlation",
        f"Correlation with “{quality}”",
        (
            Column("metric", "text"), Column("Spearman"), Column("p", "p"),
            Column("Pearson"), Column("p ", "p"),
        ),
        tuple(lines),
        f"{len(rated)} responses to {contexts} contexts with a fact. The rating of a response is "
        f"the mean of its annotators' ratings. Bootstrap over responses ({st.N_BOOTSTRAP:,} "
        f"resamples, seed {SEED}). Q² of arXiv v1: only responses with a question.",
    )
    return Report(
        name="usr",
        title="Agreement with people on Topical-Chat",
        tables=(table,),
        signatures=columns.signatures,
        curves={
            "scatter": {
                title(metric): {metric: {"x": ratings, "y": values(column)}}
                for metric, column in scores.items()
            }
        },
    )
