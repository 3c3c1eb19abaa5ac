"""Every statistic on inputs that can be worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optional import agreement

from q2_metric.errors import InputError
from q2_metric.evaluation import statistics as st
from q2_metric.evaluation.statistics import (
    ROBUSTNESS,
    Bin,
    Interval,
    aucs,
    robustness,
    system_correlation,
)

pytestmark = agreement()

# Two consistent responses (0.9, 0.4) and two that are not (0.6, 0.1).
FEW = 20
TRUTH, SCORES = [True, True, False, False], [0.9, 0.4, 0.6, 0.1]
# Alternating, so that every threshold changes something.
ZIGZAG, FALLING = [True, False, True, False], [0.9, 0.8, 0.7, 0.1]


@pytest.mark.parametrize(
    ("truth", "scores", "wanted"),
    [
        (TRUTH, SCORES, 3 / 4),  # of 2 x 2 pairs, only (0.4, 0.6) is in the wrong order
        ([1, 0], [0.5, 0.5], 1 / 2),
        ([1, 1, 0], [0.2, 0.5, 0.5], 1 / 4),  # one pair wrong, one equal
        ([1, 0], [2.0, -7.0], 1.0),
    ],
)
def test_roc_auc(truth: list[int], scores: list[float], wanted: float) -> None:
    assert st.roc_auc(truth, scores) == pytest.approx(wanted)


def test_the_ranks_behind_the_interval_give_the_same_auc() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((5, 40)) < 0.4
    scores = rng.integers(0, 6, (5, 40)) / 5  # many equal ones
    assert aucs(truth, scores) == pytest.approx(
        [st.roc_auc(t, s) for t, s in zip(truth, scores, strict=True)]
    )


def test_auc_interval() -> None:
    assert st.auc_interval([1, 1, 0, 0], [4, 3, 2, 1]) == Interval(1.0, 1.0, 1.0)
    found = st.auc_interval(TRUTH, SCORES)
    # A resample can hold only the wrong pair, or none of it.
    assert found == Interval(0.75, 0.0, 1.0)
    assert found == st.auc_interval(TRUTH, SCORES), "the seed is fixed"


def test_auc_interval_covers() -> None:
    # The normal scores of two classes one standard deviation apart: AUC = Phi(1 / sqrt(2)).
    rng = np.random.default_rng(1)
    truth = np.arange(600) % 2 == 0
    found = st.auc_interval(truth, rng.normal(size=600) + truth)
    wanted = (1 + math.erf(0.5)) / 2
    assert found.low < wanted < found.high
    assert found.high - found.low == pytest.approx(0.076, abs=0.01)


def test_auc_difference_by_all_sixteen_exchanges() -> None:
    # Of the 16 ways to exchange ranks, two have so large a difference: none and all.
    interval, p = st.auc_difference([1, 1, 0, 0], [4, 3, 2, 1], [1, 2, 3, 4])
    assert interval == Interval(1.0, 1.0, 1.0)
    assert p == pytest.approx(2 / 16)


def test_auc_difference_of_the_same_scores_is_none() -> None:
    found = st.auc_difference(TRUTH, SCORES, [2 * value for value in SCORES])
    assert found == (Interval(0.0, 0.0, 0.0), 1.0)


def test_auc_difference_is_found_among_many() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(200) < 0.5
    good, bad = truth + rng.normal(size=200), rng.normal(size=200)
    interval, p = st.auc_difference(truth, good, bad)
    assert interval.low > 0
    assert p < 0.01
    other, _ = st.auc_difference(truth, bad, good)
    assert other.value == pytest.approx(-interval.value)


def test_detection() -> None:
    # Above 0.5: 0.9 and 0.6 (right) and 0.7 (wrong); of the two at 0.5 one is right.
    found = st.detection([1, 1, 1, 0, 0], [0.9, 0.6, 0.5, 0.5, 0.7])
    assert found == pytest.approx({
        "accuracy": 3 / 5,
        "balanced accuracy": (2 / 3 + 1 / 2) / 2,
        "F1-macro": (2 / 3 + 1 / 2) / 2,
        "consistent: precision": 2 / 3,
        "consistent: recall": 2 / 3,
        "inconsistent: precision": 1 / 2,
        "inconsistent: recall": 1 / 2,
    })


def test_detection_where_nothing_is_found() -> None:
    found = st.detection([1, 0], [0.1, 0.2])
    assert (found["consistent: precision"], found["consistent: recall"]) == (0.0, 0.0)
    assert (found["inconsistent: precision"], found["inconsistent: recall"]) == (0.5, 1.0)


def test_roc_curve() -> None:
    found = st.roc_curve(ZIGZAG, FALLING)
    assert list(found["threshold"]) == [0.9, 0.8, 0.7, 0.1]
    assert list(found["x"]) == [0.0, 0.5, 0.5, 1.0]
    assert list(found["y"]) == [0.5, 0.5, 1.0, 1.0]


def test_precision_and_recall_of_consistent_responses() -> None:
    found = st.precision_recall(ZIGZAG, FALLING)
    assert list(found["threshold"]) == [0.1, 0.7, 0.8, 0.9]
    assert found["y"] == pytest.approx([2 / 4, 2 / 3, 1 / 2, 1 / 1])
    assert list(found["x"]) == [1.0, 1.0, 0.5, 0.5]


def test_precision_and_recall_of_inconsistent_responses() -> None:
    found = st.precision_recall(ZIGZAG, FALLING, consistent=False)
    assert list(found["threshold"]) == [0.9, 0.8, 0.7, 0.1]
    assert found["y"] == pytest.approx([2 / 4, 2 / 3, 1 / 2, 1 / 1])
    assert list(found["x"]) == [1.0, 1.0, 0.5, 0.5]


def test_average_precision() -> None:
    # Half the recall at precision 1, the other half at 2 / 3.
    assert st.average_precision(ZIGZAG, FALLING) == pytest.approx(0.5 + 0.5 * 2 / 3)


def test_spearman() -> None:
    # Four ranks are off by one: 1 - 6 * 4 / (5 * 24).
    found = st.correlation("spearmanr", [1, 2, 3, 4, 5], [2, 1, 4, 3, 50])
    assert found.value == pytest.approx(0.8)
    assert found.low < 0.8 <= found.high


def test_pearson() -> None:
    found = st.correlation("pearsonr", [1, 2, 3], [1, 2, 4])
    assert found.value == pytest.approx(3 / math.sqrt(2 * 42 / 9))
    assert st.correlation("pearsonr", [1, 2, 3], [6, 4, 2]) == Interval(
        pytest.approx(-1), pytest.approx(-1), pytest.approx(-1)
    )


def test_kendall() -> None:
    # Of the six pairs, five are in order and one is not.
    assert st.correlation("kendalltau", [1, 2, 3, 4], [1, 2, 4, 3]).value == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("good", "bad", "wanted"), [(1.0, 0.0, 1.0), (0.0, 1.0, -1.0), (0.5, 0.5, 0.0)]
)
def test_systems_are_ranked_by_their_quality(good: float, bad: float, wanted: float) -> None:
    found = system_correlation([good] * 5, [bad] * 5, FEW)
    assert found == Interval(pytest.approx(wanted), pytest.approx(wanted), pytest.approx(wanted))


def test_systems_of_a_metric_that_knows_nothing() -> None:
    rng = np.random.default_rng(5)
    found = system_correlation(rng.random(400), rng.random(400), 400)
    assert abs(found.value) < 0.25
    assert found.low < -0.5 < 0.5 < found.high


def test_system_draws_are_paired_by_context() -> None:
    # The better response of a context scores 0.01 more than the worse, contexts differ by
    # far more: with the contexts shared, systems still come in the right order.
    contexts = np.arange(50.0)
    found = system_correlation(contexts + 0.01, contexts, FEW)
    assert found.value == pytest.approx(1.0)


def test_robustness_is_a_straight_line() -> None:
    found = robustness([1.0], [0.2])
    assert [one.value for one in found] == pytest.approx([1 - 0.8 * share for share in ROBUSTNESS])
    assert all(one.low == pytest.approx(one.value) for one in found)


def test_reliability() -> None:
    found = st.reliability([0, 1, 1, 0], [0.05, 0.15, 0.95, 1.0])
    assert found == [
        Bin(0.0, 0.1, 1, 0.05, 0.0),
        Bin(0.1, 0.2, 1, 0.15, 1.0),
        Bin(0.9, 1.0, 2, 0.975, 0.5),
    ]


def test_ece() -> None:
    # (1 * 0.05 + 1 * 0.85 + 2 * 0.45) / 4
    assert st.ece([0, 1, 1, 0], [0.05, 0.15, 0.95, 0.95]) == pytest.approx(0.45)
    assert st.ece([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5]) == 0.0
    assert st.ece([1, 1], [0.0, 0.0], bins=1) == 1.0


def test_min_max() -> None:
    assert list(st.min_max([-2.0, 0.0, 2.0])) == [0.0, 0.5, 1.0]
    assert list(st.min_max([3.0, 3.0])) == [0.5, 0.5]


def test_share_interval() -> None:
    assert st.share_interval([1, 1, 1]) == Interval(1.0, 1.0, 1.0)
    found = st.share_interval([1, 0] * 50)
    assert found.value == 0.5
    assert (found.low, found.high) == (pytest.approx(0.4, abs=0.03), pytest.approx(0.6, abs=0.03))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: st.roc_auc([1, 1], [0.1, 0.2]), "all the same"),
        (lambda: st.roc_auc([1, 0], [0.1]), "2 labels for 1 scores"),
        (lambda: st.detection([1, 0], [math.nan, 0.2]), "not a finite number"),
        (lambda: st.correlation("spearmanr", [1, 2], [1, 2]), "3 pairs"),
        (lambda: st.correlation("pearsonr", [1, 2, 3], [1, 1, 1]), "all values are equal"),
        (lambda: system_correlation([1.0], [0.1, 0.2]), "one of both"),
        (lambda: robustness([], [0.1]), "consistent and inconsistent"),
        (lambda: st.ece([1], [1.5]), r"\[0, 1\]"),
        (lambda: st.ece([], []), "needs at least one response"),
    ],
)
def test_what_is_not_defined(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
