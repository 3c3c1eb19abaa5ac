from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import FakeMetric
from sacrebleu import significance

from q2_metric.errors import InputError
from q2_metric.metrics import bootstrap
from q2_metric.metrics.bootstrap import bootstrap_interval, percentiles, resampled
from q2_metric.metrics.signature import of_metric
from q2_metric.scoring import (
    Aggregate,
    Mean,
    NoClaim,
    ScoredRows,
    row_numbers,
    signature_lines,
)
from q2_metric.scoring.aggregate import sign, system_score
from q2_metric.scoring.outcome import counted
from q2_metric.types import (
    Comparison,
    Example,
    How,
    Question,
    Reason,
    Score,
    Span,
    SystemScore,
)

EXAMPLE = Example("r", "k")


def score(
    value: float | None,
    *hows: How,
    fallback: bool = False,
    no_nli: float | None = None,
) -> Score:
    """A score with one question for each way of comparing."""
    question = Question(Span(EXAMPLE, "r", 0), "What?")
    evidence = tuple(
        Comparison(question, "r", None if how == "no_answer" else "r", 0.0, None, how, 0.0)
        for how in hows
    )
    return Score(EXAMPLE, value, evidence, fallback=fallback, no_nli=no_nli)


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
    assert found.signature == "q2|version:1|no_claim:zero"
    assert found.name == "q2"

    without = system_score("q2_no_nli", scores, "q2|version:1")
    assert without.value == pytest.approx((0.5 + 0.25 + 0.5) / 3)
    assert without.coverage == found.coverage


OF_ALL_KINDS = [
    score(1.0, "equal", "no_answer", no_nli=0.5),
    score(0.25, "nli", "equal", "token_f1", no_nli=0.25),
    score(0.5, fallback=True, no_nli=0.5),
    score(1.0, fallback=True, no_nli=1.0),
    score(None),
    *(Score(EXAMPLE, None, reason=reason) for reason in ("no_claim", "empty", "no_claim")),
    *(Score(EXAMPLE, None, reason=reason) for reason in ("no_knowledge", "fault")),
]
"""Eight responses that count in shares, and two that were not tried."""


@pytest.mark.parametrize(("no_claim", "values"), [
    ("exclude", [1.0, 0.25, 0.5, 1.0]), ("zero", [1.0, 0.25, 0.5, 1.0, 0.0, 0.0, 0.0]),
])
def test_all_that_a_system_score_says(no_claim: NoClaim, values: list[float]) -> None:
    signed = f"signed|no_claim:{no_claim}"
    assert system_score("q2", OF_ALL_KINDS, "signed", no_claim=no_claim) == SystemScore(
        name="q2", value=pytest.approx(sum(values) / len(values)), n=len(values), n_fallback=2,
        interval=bootstrap_interval(values), signature=signed, coverage=2 / 8,
        no_answer_rate=1 / 5, n_questions=5, fallback=2 / 8, no_claim=3 / 8)
    f1 = system_score("knowledge_f1", [score(0.5), Score(EXAMPLE, None, reason="empty")], "signed",
                      no_claim=no_claim)
    half = [0.5] if no_claim == "exclude" else [0.5, 0.0]
    assert f1 == SystemScore("knowledge_f1", sum(half) / len(half), len(half), 0,
                             bootstrap_interval(half), signed)
    assert system_score("scale", OF_ALL_KINDS, "s", no_claim=no_claim).no_claim == 3 / 8


def test_responses_without_a_claim_count_as_0_unless_they_are_left_out() -> None:
    assert Aggregate(["q2"]).no_claim == "zero"
    assert system_score("q2", OF_ALL_KINDS, "s") == system_score(
        "q2", OF_ALL_KINDS, "s", no_claim="zero")


@pytest.mark.parametrize(("value", "reason", "zero", "exclude"), [
    (0.5, None, 0.5, 0.5), (None, None, None, None), (math.nan, None, None, None),
    (None, "no_claim", 0.0, None), (None, "empty", 0.0, None), (None, "no_knowledge", None, None),
    (None, "fault", None, None), (0.5, "no_claim", 0.0, None),
])
def test_what_a_number_counts(
    value: float | None, reason: Reason | None, zero: float | None, exclude: float | None
) -> None:
    assert counted(value, reason, "zero") == zero
    assert counted(value, reason, "exclude") == exclude


def test_the_draws_of_a_system_score_are_those_of_sacrebleu() -> None:
    values = [i / 20 for i in range(20)]
    summed = SimpleNamespace(_compute_score_from_stats=lambda sums: float(sums[0]) / len(values))
    _, theirs = significance._bootstrap_resample([[value] for value in values], summed)
    assert bootstrap_interval(values) == pytest.approx(percentiles(theirs), abs=1e-6)


@pytest.mark.parametrize("average", [
    lambda wrong: system_score("f1", [score(1.0)], "f1|version:1", no_claim=wrong),
    lambda wrong: Aggregate(["f1"], wrong),
    lambda wrong: ScoredRows([FakeMetric("f1")], [EXAMPLE], [{"f1": score(1.0)}], wrong),
    lambda wrong: row_numbers({"f1": score(1.0)}, wrong),
    lambda wrong: sign("f1|version:1", wrong),
    lambda wrong: signature_lines([FakeMetric("f1")], wrong),
])
def test_a_wrong_no_claim_is_refused(average: Callable[[Any], Any]) -> None:
    """It was averaged as "exclude" is, and signed as it stood."""
    with pytest.raises(InputError, match="no_claim must be zero or exclude, not 'x'"):
        average("x")


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


def test_an_aggregate_in_blocks_is_the_whole() -> None:
    scores = [score(i / 7, "equal") for i in range(8)]
    aggregate = Aggregate(["q2"])
    aggregate.update({"q2": one} for one in scores[:3])
    aggregate.update({"q2": one} for one in scores[3:])
    whole = aggregate.systems({"q2": "q2|version:1"})["q2"]
    assert whole == system_score("q2", scores, "q2|version:1")
    assert aggregate.compute()["q2"] == whole.value


def test_the_means_of_parts_add_up() -> None:
    parts = Mean.of([1.0, None, 0.5]) + Mean.of([math.nan]) + Mean.of([0.0])
    assert (parts.value, parts.n) == (0.5, 3)
    assert Mean().value is None
    assert math.isnan(Mean().number)


def test_a_signature_differs_wherever_the_number_can() -> None:
    """A mean without the silent says so."""
    scores = [score(1.0), score(0.5), Score(EXAMPLE, None, reason="no_claim")]

    def signed(**how: Any) -> str:
        return system_score("f1", scores, "f1|version:1", **how).signature

    assert signed() == signed(no_claim="zero") == "f1|version:1|no_claim:zero"
    assert signed(no_claim="exclude") == "f1|version:1|no_claim:exclude"
    assert of_metric(f"{signed()}|bootstrap:50|bootstrap_seed:3") == "f1|version:1"
    assert system_score("f1", scores, "").signature == ""


@pytest.mark.parametrize(
    ("values", "interval"),
    [
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
    found = bootstrap_interval([0.0, 1.0] * 200)
    assert found is not None
    half = 1.96 * 0.5 / math.sqrt(400)  # 0.049
    assert found == pytest.approx((0.5 - half, 0.5 + half), abs=0.006)


def test_interval_is_reproducible_and_can_be_left_out() -> None:
    values = [i / 20 for i in range(20)]
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval([]) is None
    assert bootstrap_interval([0.5]) is None
    assert system_score("f1", [score(0.5)], "f1").interval is None


def test_the_ends_of_an_interval_hold_its_middle() -> None:
    import numpy as np

    assert percentiles(np.arange(1001.0)) == pytest.approx((25, 975))


@pytest.mark.parametrize("at_once", [4, 7, 1000])
def test_resamples_that_are_not_usable_are_drawn_again(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    monkeypatch.setattr(bootstrap, "_DRAWS_AT_ONCE", at_once)
    found = resampled(
        2, lambda rows: rows.sum(axis=1).astype(float),
        usable=lambda rows: rows.sum(axis=1) > 0)
    assert len(found) == bootstrap.N_BOOTSTRAP
    assert set(found) == {1.0, 2.0}
    assert np.mean(found) == pytest.approx(4 / 3, abs=0.1)  # two ways to 1, one to 2
    every = resampled(3, lambda rows: rows.mean(axis=1))
    assert np.mean(every) == pytest.approx(1, abs=0.05)
    assert (every.min(), every.max()) == (0, 2), "each place is drawn"
