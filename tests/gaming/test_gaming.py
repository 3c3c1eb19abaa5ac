"""No answer that says nothing, or nothing sensible, beats good answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gamed import SILENT, TRICKS

from q2_metric import scoring
from q2_metric.metrics.registry import METRICS
from q2_metric.types import Example, Metric

JUDGING = ("q2", "q2_no_nli", "scale", "groundedness", "nli")
COUNTING = ("knowledge_f1", "knowledge_bleu", "word_share")
ROWS = Path(__file__).parents[2] / "examples" / "dialogues.jsonl"


@cache
def rows() -> tuple[list[Example], list[Example]]:
    """All rows, and those that people would call consistent."""
    found = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    examples = [scoring.example(r["response"], [r["knowledge"]], r["history"]) for r in found]
    pairs = zip(examples, found, strict=True)
    return examples, [example for example, row in pairs if row["kind"] == "consistent"]


@cache
def loaded() -> list[Metric]:
    return scoring.load([*(name for name in JUDGING if name in METRICS), *COUNTING], {})


def means(examples: Sequence[Example], no_claim: Any) -> dict[str, float | None]:
    return scoring.ScoredRows.over(loaded(), examples, no_claim=no_claim).system()


@cache
def good() -> dict[str, float | None]:
    return means(rows()[1], "zero")


def test_there_are_enough_rows() -> None:
    assert len(rows()[0]) == 20
    assert len(rows()[1]) >= 8
    assert good()["no_claim"] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("trick", [name for name in TRICKS if name not in SILENT])
def test_nonsense_does_not_beat_good_answers(trick: str) -> None:
    gamed = [replace(row, response=TRICKS[trick](row)) for row in rows()[0]]
    found = means(gamed, "exclude")  # what it scores where it is scored at all
    for name in JUDGING + COUNTING:
        value, best = found[name], good()[name]
        assert best is not None
        # A few shuffled responses have a score; half of them follow by NLI of whole responses.
        assert value is None or value <= (0.6 if name == "nli" else 0.5) * best, (name, value, best)


@pytest.mark.parametrize("trick", SILENT)
def test_silence_scores_nothing(trick: str) -> None:
    gamed = [replace(row, response=TRICKS[trick](row)) for row in rows()[0]]
    zero, left_out = means(gamed, "zero"), means(gamed, "exclude")
    for name in JUDGING:
        assert (zero[name], left_out[name]) == (0.0, None)
    for name in COUNTING:  # they count words, claimed or not
        value, best = zero[name], good()[name]
        assert value is None or (best is not None and value < best)
    assert zero["no_claim"] == left_out["no_claim"] == 1.0


def test_a_model_that_is_silent_at_times_gains_nothing() -> None:
    """Half of the good answers, and silence for the rest: less than all of them."""
    some = [replace(row, response="lol") if i % 2 else row for i, row in enumerate(rows()[1])]
    found = means(some, "zero")
    for name in ("q2", "scale"):
        value, best = found[name], good()[name]
        assert value is not None
        assert best is not None
        assert value < best
    assert found["no_claim"] == pytest.approx(len(some) // 2 / len(some))
