"""Which responses a metric is asked about: the same for every metric, also for a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS, Entry
from q2_metric.types import Example, Score

KNOWLEDGE = "Rome has 7 hills."
ROWS = [
    Example("Rome has 7 hills.", KNOWLEDGE),
    Example("thanks !", KNOWLEDGE),
    Example(" \n", KNOWLEDGE),
    Example("Rome has 8 hills.", " "),
]


class Plain:
    """A metric by the book, whose author knows none of the rules."""

    signature = "plain|version:1"

    def __init__(self, name: str = "plain") -> None:
        self.name = name
        self.asked: list[str] = []

    def score(self, examples: Sequence[Example]) -> list[Score]:
        self.asked += [example.response for example in examples]
        return [Score(example, 1.0) for example in examples]


@pytest.mark.parametrize("name", ["plain", "bertscore", "scale"])
def test_a_metric_is_asked_about_claims_alone(name: str) -> None:
    metric = Plain(name)
    found = scoring.score([metric], ROWS)
    assert [row[name].reason for row in found] == [None, "no_claim", "empty", "no_knowledge"]
    assert metric.asked == [KNOWLEDGE]
    assert scoring.ScoredRows.over([metric], ROWS).system() == {
        name: pytest.approx(1 / 3), "no_claim": pytest.approx(2 / 3)}


def test_a_metric_may_be_of_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "plain", Entry("plain", "Plain", "", any_text=True))
    metric = Plain()
    found = scoring.score([metric, Plain("scale")], ROWS)
    assert [row["plain"].reason for row in found] == [None, None, "empty", "no_knowledge"]
    assert [row["scale"].reason for row in found] == [None, "no_claim", "empty", "no_knowledge"]
    assert metric.asked == [KNOWLEDGE, "thanks !"]
    assert [name for name, one in METRICS.items() if one.any_text] == [
        "knowledge_f1", "overlap", "word_share", "knowledge_bleu", "plain"]


@pytest.mark.parametrize(("row", "message"), [
    (Example(None, "k"), r"the response of examples\[1\] is null"),  # type: ignore[arg-type]
    (Example("r", 3), r"the knowledge of examples\[1\] is a number"),  # type: ignore[arg-type]
    ("text", r"examples\[1\] is a string, not a q2_metric.Example"),
])
def test_wrong_types_are_named_for_every_metric(row: Any, message: str) -> None:
    metric = Plain()
    with pytest.raises(InputError, match=message):
        scoring.score([metric], [ROWS[0], row])
    assert metric.asked == []


def test_a_metric_that_breaks_leaves_the_others() -> None:
    class Broken(Plain):
        def score(self, examples: Sequence[Example]) -> list[Score]:
            raise RuntimeError("no memory")

    told: list[tuple[str, str]] = []
    rows = [Example(f"Rome has {i} hills.", KNOWLEDGE) for i in range(10)]
    rows.append(Example("thanks !", KNOWLEDGE))  # not a mean of 0 by the metric that broke
    run = scoring.ScoredRows.over(
        [Broken("nli"), Plain("scale")], rows, on_fault=lambda *_: None,
        on_break=lambda name, error: told.append((name, str(error))))
    assert run.system() == {
        "nli": None, "scale": pytest.approx(10 / 11), "no_claim": pytest.approx(1 / 11)}
    assert told == [("nli", "nli failed on all 10 responses: RuntimeError: no memory")]
    with pytest.raises(RuntimeError, match="no memory"):
        scoring.ScoredRows.over([Broken("nli")], rows)


@pytest.mark.parametrize(("numbers", "empty"), [
    ({"q2": 0.4, "fallback": 0.3, "no_claim": 0.3}, False),
    ({"q2": 0.4, "fallback": 0.2, "no_claim": 0.3}, True),
    ({"scale": 0.4, "no_claim": 0.6}, False),
    ({"q2": None, "fallback": None, "no_claim": float("nan")}, True),
    ({"knowledge_f1": 0.1}, True),
])
def test_what_chooses_nothing(numbers: dict[str, float | None], empty: bool) -> None:
    assert (scoring.hollow(numbers) == "") == empty
