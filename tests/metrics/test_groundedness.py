"""Groundedness: the arithmetic of its head, what it weighs, and its shape on real text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import FakeBackbone

from q2_metric.cli.main import main
from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.bundled_scale import BundledScale
from q2_metric.metrics.groundedness import Groundedness, Head, evidence
from q2_metric.metrics.scale import Scale
from q2_metric.metrics.settings import Reading, ScaleSettings
from q2_metric.scoring import score_rows
from q2_metric.types import (
    Claim,
    Example,
    Judgement,
    Part,
    Score,
    Verdict,
)

KNOWN_TOWER = "The tower was built by Ann Holm and Bo Lind. It opened in 1889."
HEAD = Head("test", 0.5, {"weakest_third": (1.0, 2.0, 3.0), "numbers": (0.5, 0.25, 1.0)})


def groundedness(head: Head = HEAD) -> Groundedness:
    return Groundedness(Scale(FakeBackbone(), ScaleSettings()), head)


def test_the_head_is_a_logistic_of_standardised_values() -> None:
    parts = HEAD.parts({"weakest_third": 2.0, "numbers": 0.25})
    assert parts == (Part("weakest_third", 2.0, 1.5), Part("numbers", 0.25, -1.0))
    assert HEAD.probability(parts) == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert HEAD.probability((Part("numbers", 0.0, -1.5),)) == pytest.approx(1 / (1 + math.e))
    far = (Part("weakest_third", 0.0, -2000.0),)
    assert HEAD.probability(far) == 0.0, "no overflow"


def test_what_it_weighs() -> None:
    metric = groundedness()
    example = Example("Rome has 3 hills. Oslo has 9.", "Rome has 3 hills and 7 gates.")
    values = evidence(metric.scale.score([example])[0])
    # Sentences: 4 of 4 words and 1 of 3.
    assert values["weakest"] == values["weakest_third"] == pytest.approx(1 / 3)
    assert values["numbers"] == pytest.approx((1 + 0) / 2)  # a claim with 3, and one with 9
    # Two of four claims: a third, rounded up.
    four = judged(*((support, "supported", False) for support in (0.9, 0.2, 0.8, 0.4)))
    assert evidence(four)["weakest_third"] == pytest.approx((0.2 + 0.4) / 2)


def test_numbers_outside_of_claims_do_not_count() -> None:
    known = "Rome has 3 hills and 7 gates."
    response = "I'm not sure about 1,000 things, but Rome has 3 hills and 7 gates."
    claims = (Claim("Rome has 3 hills and 7 gates.", response.index("Rome"), len(response)),
              Claim("Hills and gates.", response.index("hills"), len(response)))
    items = tuple(Judgement(claim, 0.9, "supported") for claim in claims)
    assert evidence(Score(Example(response, known), 0.9, items))["numbers"] == 1.0
    whole = Judgement(Claim(response, 0, len(response)), 0.9, "supported")
    assert evidence(Score(Example(response, known), 0.9, (whole,)))["numbers"] == 2 / 3
    both = evidence(Score(Example(response, known), 0.9, (whole, items[1], items[1])))
    assert both["numbers"] == pytest.approx((2 / 3 + 1) / 2), "a repeated claim counts once"


def judged(*claims: tuple[float, str, bool]) -> Score:
    """A score of SCALE with claims of this support and verdict, and whether a rule decided."""
    found = tuple(Judgement(Claim(f"Claim {i}.", 0, 8), support, verdict,
                            ruling=verdict if by_rule else None)
                  for i, (support, verdict, by_rule) in enumerate(claims))
    return Score(Example("Rome has 3 hills.", "Oslo has 9."), 0.5, found)


@pytest.mark.parametrize(("claims", "value"), [
    ([(0.9, "supported", True)], 0.9),
    ([(0.9, "supported", True), (0.95, "supported", True)], 0.9),
    ([(0.9, "supported", True), (0.95, "supported", False)], None),
    ([(0.1, "contradicted", True), (0.95, "supported", False)], None),
])
def test_rules_outweigh_the_regression(
    claims: list[tuple[float, str, bool]], value: float | None
) -> None:
    low = Head("low", -3.0, {"numbers": (0.5, 0.25, 1.0)})
    (score,) = groundedness(low).of([judged(*claims)])
    assert score.value == pytest.approx(value or low.probability(
        low.parts(evidence(judged(*claims)))))


@pytest.mark.parametrize(("claims", "value"), [
    ([(0.1, "contradicted", True), (0.95, "supported", False)], 0.1),
    ([(0.02, "contradicted", True), (0.1, "contradicted", True)], 0.1),
    ([(0.25, "contradicted", False)], None),
])
def test_the_regression_does_not_outweigh_rules(
    claims: list[tuple[float, str, bool]], value: float | None
) -> None:
    high = Head("high", 5.0, {"numbers": (0.5, 0.25, 1.0)})
    (score,) = groundedness(high).of([judged(*claims)])
    parts = [one for one in score.evidence if isinstance(one, Part)]
    assert score.value == pytest.approx(value or high.probability(parts))
    assert high.probability(parts) == pytest.approx(score.value), "the parts add up"
    assert [one.name for one in parts][1:] == (["rules"] if value else [])


def test_same_value_in_any_batch_and_order() -> None:
    examples = [Example(f"Rome has {i} hills.", "Rome has 3 hills.") for i in range(6)]
    batch = groundedness().score(examples)
    alone = [groundedness().score([example])[0] for example in examples]
    assert batch == alone
    assert groundedness().score(examples[::-1]) == alone[::-1]
    assert max(batch, key=lambda s: s.value or 0).example == examples[3]


def test_beside_scale_it_is_computed_from_its_scores() -> None:
    rows = [Example("Rome has 3 hills.", "Rome has 3 hills."), None, Example("", "Rome.")]
    alone = score_rows([groundedness()], rows, evidence=True)
    scale, grounded = Scale(FakeBackbone()), groundedness()
    both = score_rows([scale, grounded], rows, evidence=True)
    assert [row.get("groundedness") for row in both] == [row.get("groundedness") for row in alone]
    assert grounded.scale.backbone.calls == 0  # type: ignore[attr-defined]
    other = Scale(FakeBackbone(), ScaleSettings(chunk_size=1))
    score_rows([other, grounded], rows)
    assert grounded.scale.backbone.calls == 1, "other settings"  # type: ignore[attr-defined]


def test_nothing_to_judge_has_no_value() -> None:
    [score] = groundedness().score([Example("", "Rome has 3 hills.")])
    assert score.value is None
    assert score.evidence == ()


def test_a_preset_without_a_head_is_refused() -> None:
    with pytest.raises(InputError, match="only for bundled"):
        Groundedness.from_preset("paper")


@pytest.mark.parametrize("other", [{"unit": "claim"}, {"scale_model": "m"}])
def test_what_the_head_was_not_fitted_on_is_refused(other: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"unknown setting|is a setting of SCALE"):
        Groundedness.from_preset("bundled", **other)


def test_a_damaged_head_is_named(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    path.write_text(json.dumps({"name": "x", "intercept": 0, "features": {"words": {}}}))
    with pytest.raises(ModelError, match=r"head\.json"):
        Head.load(path, "consistent")


def test_the_bundled_head_on_real_text() -> None:
    metric = Groundedness.from_preset("bundled")
    knowledge = ("The Joy of Painting was hosted by Bob Ross. It aired on PBS from January 11, "
                 "1983 to May 17, 1994.")
    right, wrong, alien = metric.score([
        Example("It aired on PBS from 1983 to 1994 .", knowledge),
        Example("It aired on NBC from 1991 to 1997 .", knowledge),
        Example("Die Wüste ist sehr trocken und im Winter kalt .", knowledge),
    ])
    assert right.value is not None
    assert wrong.value is not None
    assert alien.reason == "language"
    assert right.value > 0.6 > 0.4 > wrong.value
    assert {part.name for part in right.evidence if isinstance(part, Part)} == {
        "weakest_third", "weakest", "numbers", "rules"}
    assert all(part.contribution > 0 for part in right.evidence[:2] if isinstance(part, Part))


@pytest.mark.slow
def test_other_metrics_do_not_change_it(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"response": said, "knowledge": KNOWN_TOWER}) + "\n"
                            for said in ("It opened in 1889.", "Ann Holm built the tower.")))

    def values(metrics: str, option: str) -> list[float]:
        out = tmp_path / "out.jsonl"
        outcome = CliRunner().invoke(main, [
            "score", str(rows), "-m", metrics, "--out", str(out), "--overwrite",
            *option.split(" ", 1)])
        assert outcome.exit_code == 0, outcome.output
        return [json.loads(line)["groundedness"] for line in out.read_text().splitlines()]

    cached = f"--cache {tmp_path / 'cache'}"
    alone = values("groundedness", cached)
    for metrics in ("q2,groundedness", "groundedness,q2,scale"):
        assert values(metrics, cached) == values(metrics, "--no-cache") == alone


# --- SCALE's two readings ----------------------------------------------------------------

CLAIM = "rome is old."
KNOWN = "rome has hills"


@pytest.mark.parametrize("support", ["attributable", "consistent"])
def test_support_is_the_probability_of_entailment(support: Reading) -> None:
    backbone = FakeBackbone({(KNOWN, CLAIM): Verdict(0.1, 0.88, 0.02)})
    [score] = Scale(backbone, ScaleSettings(support=support)).score(
        [Example(CLAIM, KNOWN)])
    assert score.value == pytest.approx(0.1)  # an invention is not supported, either way


class Halves:
    """Finds the halves of a response as its claims."""

    name = "halves"

    def find(self, examples: Sequence[Example]) -> list[list[Claim]]:
        return [[Claim(half, start, start + len(half), "clause")
                 for half, start in ((e.response[:3], 0), (e.response[3:], 3))] for e in examples]


class HalfScale(BundledScale):
    claims = Halves()


def test_claims_are_judged_in_place_of_sentences() -> None:
    settings = ScaleSettings(recipe="bundled", support="consistent")
    metric = HalfScale(FakeBackbone(), settings)
    [score] = metric.score([Example("redcat", "red dog")], evidence=True)
    assert score.value == 0.5
    assert [(one.claim.text, one.support, one.verdict) for one in score.evidence
            if isinstance(one, Judgement)] == [
        ("red", 1.0, "supported"), ("cat", 0.0, "not found")]
    assert "|recipe:bundled|" in metric.signature
    assert "|claims:halves|" in metric.signature


def test_of_an_attributable_response_each_sentence_is_a_claim() -> None:
    metric = HalfScale(FakeBackbone())
    [score] = metric.score([Example("that is cool! rome is old.", "rome is old")])
    assert [one.claim.text for one in score.evidence if isinstance(one, Judgement)] == [
        "that is cool!", "rome is old."]


@pytest.mark.parametrize("setting", [{"support": "maybe"}, {"unit": "word"}])
def test_unknown_readings_are_refused(setting: dict[str, str]) -> None:
    with pytest.raises(InputError, match=next(iter(setting))):
        ScaleSettings(**setting)
