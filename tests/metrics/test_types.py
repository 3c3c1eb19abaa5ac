"""How scores look where people print them."""

from __future__ import annotations

from q2_metric import Claim, Comparison, Example, Judgement, Question, Score, Span

EXAMPLE = Example("It opened in 1962.", "It opened in 1926. " * 500)


def test_a_printed_score_is_short() -> None:
    judged = Judgement(Claim("It opened in 1962.", 0, 18), 0.04821, "contradicted")
    asked = Comparison(Question(Span(EXAMPLE, "1962", 13), "When did it open?"), "1962", "1926",
                       0.0, None, "token_f1", 0.0)
    score = Score(EXAMPLE, 0.1, (judged, asked))
    assert repr(score) == "Score(0.100, 2 pieces of evidence)"
    assert str(score).splitlines() == [
        "0.100", "0.048 contradicted: It opened in 1962.",
        '0.000 When did it open? response: "1962", knowledge: "1926"']
    assert repr(Score(EXAMPLE, None, reason="no_claim")) == (
        "Score(no score: no_claim, 0 pieces of evidence)")
