"""Short answers with their questions, by a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from q2_metric.english.claims.find import EnglishClaims
from q2_metric.english.claims.statements import stated
from q2_metric.types import Claim, Example

GOLDEN = Path(__file__).parents[1] / "golden" / "answers.tsv"
_, *ROWS = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def test_the_golden_table() -> None:
    pytest.importorskip("spacy", reason="answers need spaCy")
    assert len(ROWS) > 100
    found = stated([Example(said, "", question=asked) for asked, said, _ in ROWS])
    wrong = {(asked, said): one for (asked, said, wanted), one in zip(ROWS, found, strict=True)
             if (one or "") != wanted}
    assert wrong == {}


def test_the_claim_stands_where_the_answer_stands() -> None:
    pytest.importorskip("spacy", reason="claims need spaCy")
    answer = Example("  1889. ", "", question="When did it open?")
    whole = Example("It opened in 1889.", "", question="When did it open?")
    unstated = Example("Yes.", "", question="Is it red or blue?")
    found = EnglishClaims().find([answer, whole, unstated])
    assert found == [[Claim("It opened in 1889.", 2, 7, "answer")],
                     [Claim("It opened in 1889.", 0, 18, "sentence")], []]
