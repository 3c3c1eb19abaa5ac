"""Evaluates evidence on ScreenEval: does SCALE's tree search find a supporting utterance?

The search runs for each supported sentence. It is correct if it ends at an utterance that people
marked as support.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from q2_metric.data.screeneval import Supported
from q2_metric.engine.cached import Progress
from q2_metric.errors import InputError
from q2_metric.evaluation import published
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.detection import detection_curves, detection_table
from q2_metric.evaluation.scores import Bar, MetricSource, ScoreColumns, silent
from q2_metric.evaluation.statistics import SEED
from q2_metric.evaluation.tables import Cell, Column, Report, Table
from q2_metric.metrics.scale import Scale, ScaleSettings
from q2_metric.metrics.signature import parse, signature
from q2_metric.text.normalise import token_f1
from q2_metric.types import Example, Judgement, Score

UNITS = "utterance"


class Utterances:
    """A splitter at newlines, so that SCALE searches for an utterance instead of a sentence."""

    def split(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The characters [start, end) of each non-empty line of each text."""
        return [[match.span() for match in re.finditer(r"[^\s](?:.*[^\s])?", text)]
                for text in texts]


def experiment(
    scale: MetricSource,
    columns: ScoreColumns,
    rows: Sequence[Supported],
    *,
    branches: int = ScaleSettings().branches,
    bar: Bar = silent,
) -> Report:
    """Measures the search's recall at 1, and the metrics' ROC-AUC if there are both classes.

    ``branches`` is the setting of ``scale``, for the signature.

    Raises:
        InputError: no supported sentence has a marked utterance.
    """
    searched = [row for row in rows if row.consistent and row.relevant]
    if not searched:
        raise InputError("no supported sentence has a marked utterance ('rel_utt')")
    with bar("evidence", len(searched)) as progress:
        places = search(scale, [row.example for row in searched], progress)
    lexical = [_most_overlap(row) for row in searched]
    chance = [len(row.relevant) / len(row.utterances) for row in searched]
    lines: list[tuple[Cell, ...]] = [
        ("SCALE, tree search", _recall(searched, places)),
        ("token F1, every utterance", _recall(searched, lexical)),
        ("chance", sum(chance) / len(chance)),
    ]
    lines += [(name, *found) for name, found in
              published.lines("scale", 7, ("ScreenEval", "recall"))]
    tables = [
        Table(
            "recall",
            "Recall of a supporting utterance at 1",
            (Column("search", "text"), Column("recall")),
            tuple(lines),
            f"{len(searched)} of {len(rows)} sentences are supported and have marked utterances. "
            f"In brackets: 95 % bootstrap intervals ({st.N_BOOTSTRAP:,} resamples, seed {SEED}). "
            "Chance: an utterance is drawn at random.",
        )
    ]
    curves = {}
    truth = [row.consistent for row in rows]
    if any(truth) and not all(truth):
        scores = columns.scores([row.example for row in rows], "sentences")
        tables.append(detection_table(
            "detection", "Supported or not", truth, scores,
            published=published.lines("scale", 5, ("ScreenEval", "ROC-AUC"))))
        curves = detection_curves({f"{len(rows):,} sentences": (truth, scores)})
    signatures = {**columns.signatures, "evidence": _signature(scale, branches)}
    return Report("evidence", "Evidence in long dialogues", tuple(tables), signatures, curves)


def search(
    scale: MetricSource, examples: Sequence[Example], progress: Progress
) -> list[int | None]:
    """The line, from 0, at which each search ends; ``None`` if nothing was searched."""

    keys = scale.keys(f"evidence by {UNITS}", examples)
    lines = dict[str, int | None]()
    for block in scale.missing(keys, examples, lines, progress):
        metric = cast(Scale, scale.metric)
        settings = replace(metric.settings, recipe="paper")  # the sentence counts as one claim
        own = Scale(metric.backbone, Utterances(), settings)
        scores = own.score(list(block.values()), evidence=True)
        lines.update(zip(block, map(_line, scores), strict=True))
    return [lines[key] for key in keys]


def _line(score: Score) -> int | None:
    judged = cast("tuple[Judgement, ...]", score.evidence)
    start = judged[0].passage_start if judged else None
    return None if start is None else score.example.knowledge.count("\n", 0, start)


def _most_overlap(row: Supported) -> int:
    overlaps = [token_f1(row.example.response, line) for line in row.utterances]
    return overlaps.index(max(overlaps))


def _recall(rows: Sequence[Supported], lines: Sequence[int | None]) -> st.Interval:
    hits = [place in row.relevant for row, place in zip(rows, lines, strict=True)]
    return st.share_interval(hits)


def _signature(scale: MetricSource, branches: int) -> str:
    _, settings = parse(scale.signature)
    version = settings.pop("version")
    return signature(
        "evidence", {**settings, "units": UNITS, "branches": branches, "version": version}
    )
