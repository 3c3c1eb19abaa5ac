from __future__ import annotations

import math

import pytest

from q2_metric.metrics import bootstrap
from q2_metric.metrics.bootstrap import bootstrap_interval
from q2_metric.metrics.system import Tally, system_score
from q2_metric.types import Comparison, Example, How, Question, Score, Span

EXAMPLE = Example("r", "k")


def score(
    value: float | None,
    *hows: How,
    fallback: bool = False,
    no_nli: float | None = None,
) -> Score:
    """A score with one question for each way of comparing."""
    question = Question(Span(EXAMPLE, "r", 0), "What?")
    because = tuple(
        Comparison(question, "r", None if how == "no_answer" else "r", 0.0, None, how, 0.0)
        for how in hows
    )
    return Score(EXAMPLE, value, because, fallback=fallback, no_nli=no_nli)


def test_mean_and_counts_of_q2() -> None:
    scores = [
        score(1.0, "equal", "no_answer", no_nli=0.5),
        score(0.25, "no_answer", "nli", "token_f1", no_nli=0.25),
        score(0.5, fallback=True, no_nli=0.5),
        score(None),  # no valid question, and no fallback
    ]
    found = system_score("q2", scores, "q2|version:1")
    assert found.value == pytest.approx((1.0 + 0.25 + 0.5) / 3)
    assert found.n == 3
    assert found.n_fallback == 1
    assert found.coverage == pytest.approx(2 / 4)
    assert found.no_answer_rate == pytest.approx(2 / 5)
    assert found.n_questions == 5
    assert found.signature == "q2|version:1"
    assert found.name == "q2"

    without = system_score("q2_no_nli", scores, "q2|version:1")
    assert without.value == pytest.approx((0.5 + 0.25 + 0.5) / 3)
    assert without.coverage == found.coverage


def test_every_fallback_counts() -> None:
    found = system_score("q2", [score(0.5, fallback=True)] * 3 + [score(0.5, "equal")],
                         "q2|version:1")
    assert (found.n_fallback, found.coverage) == (3, 0.25)


def test_metrics_that_ask_nothing_have_no_coverage() -> None:
    found = system_score("f1", [score(0.5), score(0.7)], "f1")
    assert found.value == pytest.approx(0.6)
    assert (found.coverage, found.no_answer_rate, found.n_questions) == (None, None, None)


def test_nothing_to_average() -> None:
    found = system_score("q2", [score(None), score(None)], "q2")
    assert (found.value, found.interval, found.n) == (None, None, 0)
    assert found.coverage == 0.0
    assert found.no_answer_rate is None
    empty = system_score("q2", [], "q2")
    assert (empty.value, empty.interval, empty.coverage) == (None, None, None)


def test_values_that_are_not_finite_are_left_out() -> None:
    found = system_score("f1", [score(0.5), score(math.nan), score(math.inf)], "f1")
    assert (found.value, found.n) == (0.5, 1)


def test_tally_in_blocks_is_the_whole() -> None:
    scores = [score(i / 7, "equal") for i in range(8)]
    tally = Tally("q2")
    tally.add(scores[:3])
    tally.add(scores[3:])
    assert tally.result("q2") == system_score("q2", scores, "q2")


@pytest.mark.parametrize(
    ("values", "interval"),
    [
        ([0.3], (0.3, 0.3)),  # one value: always drawn
        ([0.4] * 10, (0.4, 0.4)),
        # Means of two draws are 0, 1/2, 1 with 1/4, 1/2, 1/4: both tails hold over 2.5 %.
        ([0.0, 1.0], (0.0, 1.0)),
        # Three zeros or three ones come with 1/27 and 8/27, so both ends are reached.
        ([0.0, 1.0, 1.0], (0.0, 1.0)),
    ],
)
def test_interval_worked_by_hand(values: list[float], interval: tuple[float, float]) -> None:
    assert bootstrap_interval(values) == pytest.approx(interval)


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 20])
def test_interval_of_many_is_the_normal_one(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", at_once)
    found = bootstrap_interval([0.0, 1.0] * 200, n_bootstrap=2000)
    assert found is not None
    half = 1.96 * 0.5 / math.sqrt(400)  # 0.049
    assert found == pytest.approx((0.5 - half, 0.5 + half), abs=0.006)


def test_interval_is_reproducible_and_can_be_left_out() -> None:
    values = [i / 20 for i in range(20)]
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)
    assert bootstrap_interval(values, n_bootstrap=0) is None
    assert bootstrap_interval([]) is None
