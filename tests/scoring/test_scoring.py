from __future__ import annotations

from typing import get_args

import pytest
from fakes import FakeClaims, FakeMetric

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.rows.plain import REASONS
from q2_metric.scoring.outcome import CLAIMLESS, NOT_TRIED, NoClaim
from q2_metric.types import Example, Reason, Score

KNOWLEDGE = "Rome has 7 hills."
ROWS = [
    Example("Rome has 7 hills.", KNOWLEDGE),
    Example("thanks !", KNOWLEDGE),
    Example(" \n", KNOWLEDGE),
    Example("Rome has 8 hills.", " "),
    Example("Rome breaks it.", KNOWLEDGE),
    Example("Rome has 9 hills.", KNOWLEDGE),
]
TABLE = {"Rome has 7 hills.": 1.0, "Rome has 9 hills.": 0.4}


class Broken(FakeClaims):
    """Fails on one response."""

    def _score(self, example: Example, evidence: bool) -> Score:
        if "breaks" in example.response:
            raise RuntimeError("it broke")
        return super()._score(example, evidence)


def run(no_claim: NoClaim, faults: list[tuple[int, str]] | None = None) -> scoring.ScoredRows:
    told = [] if faults is None else faults
    return scoring.ScoredRows.over(
        [Broken("q2", TABLE), FakeMetric("knowledge_f1", TABLE)], ROWS, no_claim=no_claim,
        on_fault=lambda place, words: told.append((place, words)),
    )


def test_every_row_has_a_score_or_a_reason() -> None:
    faults: list[tuple[int, str]] = []
    found = run("zero", faults)
    assert [row["q2"].reason for row in found.scores] == [
        None, "no_claim", "empty", "no_knowledge", "fault", None]
    assert [row["knowledge_f1"].reason for row in found.scores] == [
        None, None, "empty", "no_knowledge", None, None]
    assert found.column("q2") == [1.0, None, None, None, None, 0.4]
    assert found.column("knowledge_f1") == [1.0, 0.5, None, None, 0.5, 0.4]
    assert faults == [(4, "q2: RuntimeError: it broke")]
    assert found.n() == 4  # in the mean of q2, with two that count as 0
    assert run("exclude", []).n() == 2


def test_what_claims_nothing_counts_as_nothing() -> None:
    system = run("zero").system()
    assert system["q2"] == pytest.approx((1.0 + 0 + 0 + 0.4) / 4)
    assert system["knowledge_f1"] == pytest.approx((1.0 + 0.5 + 0 + 0.5 + 0.4) / 5)


def test_what_claims_nothing_is_left_out() -> None:
    system = run("exclude").system()
    assert system["q2"] == pytest.approx((1.0 + 0.4) / 2)
    assert system["knowledge_f1"] == pytest.approx((1.0 + 0.5 + 0.5 + 0.4) / 4)


@pytest.mark.parametrize("no_claim", ["zero", "exclude"])
def test_shares_are_of_all_that_was_tried(no_claim: NoClaim) -> None:
    system = run(no_claim).system()
    assert list(system) == [
        "q2", "q2_no_nli", "knowledge_f1", "coverage", "fallback", "no_claim", "no_answer_rate"]
    assert (system["no_claim"], system["coverage"], system["fallback"]) == (0.5, 0.0, 0.0)


@pytest.mark.parametrize("no_claim", ["zero", "exclude"])
def test_the_numbers_of_rows_add_up_to_the_system(no_claim: NoClaim) -> None:
    found = run(no_claim)
    system = found.system()
    for name in ("q2", "knowledge_f1"):
        assert name in system
        rows = [scoring.row_numbers({name: row[name]}, no_claim) for row in found.scores]
        for key in rows[0]:
            values = [row[key] for row in rows if row[key] is not None]
            mean = sum(value for value in values if value is not None) / len(values) if values \
                else None
            assert system[key] == (mean if mean is None else pytest.approx(mean)), key


@pytest.mark.parametrize("names", [("nli", "scale"), ("scale", "nli")])
def test_a_share_is_of_the_first_metric_that_scored_the_row(names: tuple[str, str]) -> None:
    example = Example("r", "k")
    scores = {name: Score(example, 1.0) if name == "nli" else Score(example, None, reason="fault")
              for name in names}
    assert scoring.row_numbers(scores, "zero") == {"nli": 1.0, "scale": None, "no_claim": 0.0}
    loaded = [FakeMetric(name) for name in names]
    system = scoring.ScoredRows(loaded, [example], [scores], "zero").system()
    assert system == {"nli": 1.0, "scale": None, "no_claim": 0.0}


def test_every_reason_is_of_one_kind() -> None:
    assert get_args(Reason) == tuple(REASONS)
    assert set(REASONS) == NOT_TRIED | CLAIMLESS
    assert not NOT_TRIED & CLAIMLESS


def test_without_on_fault_an_error_is_raised() -> None:
    with pytest.raises(RuntimeError, match="it broke"):
        scoring.score([Broken("q2")], ROWS)


def test_an_example_is_made_of_passages() -> None:
    made = scoring.example("r", ["a", "b"], ["hi", " ", "you"])
    assert made == Example("r", "a\nb", ("hi", "you"))


def test_explanations_say_why_there_is_nothing() -> None:
    rows = run("zero").explanations()
    assert [row["reason"] for row in rows] == [
        None, "no_claim", "empty", "no_knowledge", "fault", None]
    assert [row["q2"] for row in rows] == [1.0, None, None, None, None, 0.4]


def test_shares_by_metric() -> None:
    assert scoring.share_names(["knowledge_f1"]) == []
    assert scoring.share_names(["scale"]) == ["no_claim"]
    assert scoring.share_names(["scale", "q2"]) == ["no_claim", "coverage", "fallback"]
    assert set(scoring.share_names(["q2"])) == set(scoring.SHARES)


def test_f1_and_bleu_are_never_with_the_knowledge() -> None:
    for name in ("f1", "bleu"):
        with pytest.raises(InputError, match=f"with the knowledge is 'knowledge_{name}'"):
            scoring.load(["q2", name], {})
    with pytest.raises(InputError, match="there is no metric 'gold_f1'"):
        scoring.load("gold_f1", {})
    metrics = scoring.load("knowledge_f1, knowledge_bleu,knowledge_f1", {})
    found = scoring.ScoredRows.over(metrics, ROWS, no_claim="zero")
    assert found.columns() == ["knowledge_f1", "knowledge_bleu"] == list(found.system())


def test_gold_takes_the_best_of_several() -> None:
    found = scoring.against_gold(["a b c d", "e"], [["x y", "a b c d"], ["f"]])
    assert found["f1"] == 0.5
    assert 0 < found["bleu"] < 1


def test_settings_are_checked() -> None:
    assert scoring.check_no_claim("zero") == "zero"
    with pytest.raises(InputError, match="no_claim must be zero or exclude, not 'one'"):
        scoring.check_no_claim("one")
    with pytest.raises(InputError, match="no metric is named"):
        scoring.load("", {})
