"""What a metric is not asked about, the same by every metric and door."""

from __future__ import annotations

from typing import Any

import pytest

from q2_metric import Example, InputError
from q2_metric.metrics import load_metrics
from q2_metric.types import Metric

NAMES = (
    "q2", "scale", "groundedness", "nli", "knowledge_f1", "overlap", "knowledge_bleu", "word_share")
KNOWLEDGE = "The Eiffel Tower in Paris was completed in 1889 by Gustave Eiffel. It is 330 m tall."


@pytest.fixture(scope="module")
def metrics() -> dict[str, Metric]:
    return {one.name: one for one in load_metrics(NAMES)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("response", "knowledge", "reason"), [
    ("", KNOWLEDGE, "empty"), (" \u200b\n", KNOWLEDGE, "empty"),
    ("It is tall.", "", "no_knowledge"), ("", " ", "no_knowledge"),
])
def test_blank_texts_have_no_score(
    metrics: dict[str, Metric], name: str, response: str, knowledge: str, reason: str
) -> None:
    blank = Example(response, knowledge)
    found = metrics[name].score([blank, Example("It was completed in 1889.", KNOWLEDGE)])
    assert (found[0].value, found[0].reason) == (None, reason)
    assert found[1].value is not None
    assert found[1].value > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("examples", "message"), [
    (["a"], r"examples\[0\] is a string, not a q2_metric.Example"),
    (Example("a", "b"), "examples are one Example, not a list"),
    ("abc", "examples are a string, not a list"),
    ([Example("a", None)], r"the knowledge of examples\[0\] is null, not a string"),  # type: ignore[arg-type]
    ([Example("a", "b \ud800")], r"the knowledge of examples\[0\] is not valid Unicode at char"),
    ([Example("a", "b", "hi there")],  # type: ignore[arg-type]
     r"the history of examples\[0\] is a string, not a tuple of strings"),
    ([Example("a", "b", ("hi", 3))],  # type: ignore[arg-type]
     r"the history of examples\[0\] is a list with a number in it, not a tuple of strings"),
])
def test_what_is_no_example(
    metrics: dict[str, Metric], name: str, examples: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        metrics[name].score(examples)


def test_the_turns_before_may_be_a_list(metrics: dict[str, Metric]) -> None:
    turns = ["It was built in 1889."]
    as_list = Example("It was built in 1889.", KNOWLEDGE, turns)  # type: ignore[arg-type]
    for name in ("q2", "scale", "groundedness"):
        (score,) = metrics[name].score([as_list])
        assert (score.reason, score.example.history) == ("no_claim", tuple(turns))


@pytest.mark.parametrize("name", ["q2", "scale", "groundedness", "word_share"])
@pytest.mark.parametrize("marked", [
    "The Eiffel Tower was completed in 1889 [1].",
    "The <b>Eiffel Tower</b> was completed in 1889.<br/>",
    "The **Eiffel Tower** was completed in `1889`.",
    "The Eiffel Tower was completed in 1889 (source: doc 2).",
])
def test_marks_change_no_score(metrics: dict[str, Metric], name: str, marked: str) -> None:
    plain = Example("The Eiffel Tower was completed in 1889.", KNOWLEDGE)
    found, wanted = metrics[name].score([Example(marked, KNOWLEDGE), plain])
    assert wanted.value is not None
    assert found.value == pytest.approx(wanted.value, abs=0.02)


def test_marks_leave_no_blanks_in_what_is_shown(metrics: dict[str, Metric]) -> None:
    text, known = "It was <b>completed</b> in 1889 [1].", f"<p>{KNOWLEDGE}</p>"
    scale: Any = metrics["scale"]
    (found,) = scale.score([Example(text, known)], evidence=True)
    (judged,) = found.evidence
    assert judged.claim.text == "It was completed in 1889."
    assert text[judged.claim.start : judged.claim.end] == text
    assert known[judged.passage_start :].startswith(judged.passage)
    assert judged.passage.startswith("The Eiffel Tower")


