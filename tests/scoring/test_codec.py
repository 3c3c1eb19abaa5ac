"""A score as JSON says what each item is; what cannot be read is told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from q2_metric.scoring.codec import from_json, readable, to_json
from q2_metric.types import Claim, Comparison, Example, Judgement, Part, Question, Score, Span

EXAMPLE = Example("Rome has 7 hills.", "Rome has 7 hills.")
ASKED = Comparison(Question(Span(EXAMPLE, "7", 9), "How many?"), "7", "7", 1.0, None, "equal", 1.0)
JUDGED = Judgement(Claim("Rome has 7 hills.", 0, 17), 0.9, "supported", cites=("1", "2"))
PART = Part("scale", 0.9, 0.2)


@pytest.mark.parametrize(("item", "kind"), [
    (ASKED, "comparison"), (JUDGED, "judgement"), (PART, "part"),
])
def test_each_item_says_what_it_is(item: Any, kind: str) -> None:
    score = Score(EXAMPLE, 0.5, evidence=(item,))
    written = json.loads(json.dumps(to_json(score)))
    assert written["evidence"][0]["kind"] == kind
    assert from_json(EXAMPLE, written) == score
    for other in ("evidence", "", None):
        written["evidence"][0]["kind"] = other
        assert not readable(written)


@pytest.mark.parametrize("value", [1, None, "abc", [], {}, {"evidence": [{}]}])
def test_what_is_no_score_is_not_read(value: Any) -> None:
    assert not readable(value)
