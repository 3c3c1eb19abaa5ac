"""Citations: a wrong passage is told apart from no support."""

from __future__ import annotations

from dataclasses import replace

import pytest

from q2_metric.metrics.scale import Scale
from q2_metric.scoring.codec import from_json, to_json
from q2_metric.text.citations import cited, passages
from q2_metric.types import Example, Judgement, Passage

KNOWLEDGE = "The inn has 12 rooms.\n\nThe ferry sails at 14:00."


@pytest.mark.parametrize(("response", "claims", "names"), [
    ("It is old.[1] It is red [^2].", ["It is old.", "It is red"], [["1"], ["2"]]),
    ("It is old. [1][3] It is red.", ["It is old.", "It is red."], [["1", "3"], []]),
    ("It is old (source: 3) and red [1-3].", ["It is old", "red"], [["3"], ["1", "2", "3"]]),
    ("It is old and red [2].", ["It is old", "red"], [["2"], ["2"]]),
    ("It is old [cite: 2].", ["It is old"], [["2"]]),
    ("It is old. As stated in [2], it is red, and sad [3].", ["It is old.", "it is red", "sad"],
     [[], ["2"], ["3"]]),
    ("It is old. [1] [2] As [3] says, it is red.", ["It is old.", "it is red."],
     [["1", "2"], ["3"]]),
    ("It is [a link](1) and x[10001].", ["It is"], [[]]),
    ("[1]: https://example.org", ["https"], [[]]),
])
def test_what_a_claim_cites(response: str, claims: list[str], names: list[list[str]]) -> None:
    places = [(response.index(one), response.index(one) + len(one)) for one in claims]
    assert cited(response, places) == names


def test_passages_by_their_own_number() -> None:
    text = "Source 3: The inn.\nMore of it.\nSource 9: The ferry."
    assert {name: text[a:b] for name, (a, b) in passages(text).items()} == {
        "3": "Source 3: The inn.\nMore of it.", "9": "Source 9: The ferry."}
    assert passages("") == {}
    assert passages("[\n1] One.") == {"1": (0, 1), "2": (2, 9)}  # no label: it ends on another line


@pytest.fixture(scope="module")
def scale() -> Scale:
    return Scale.from_preset("bundled-small")


@pytest.mark.parametrize(("response", "citation"), [
    ("The inn has 12 rooms [1].", "right"),
    ("The inn has 12 rooms [2].", "wrong passage"),
    ("According to [2], the inn has 12 rooms.", "wrong passage"),
    ("The inn has 12 rooms [7].", "wrong passage"),
    ("The harbour master was born in Madrid in 1901 [1].", "unsupported"),
    ("The inn has 12 rooms.", None),
])
def test_a_wrong_passage_is_no_missing_support(
    scale: Scale, response: str, citation: str | None
) -> None:
    example = Example(response, KNOWLEDGE)
    [score] = scale.score([example], evidence=True)
    assert [one.citation for one in score.evidence if isinstance(one, Judgement)] == [citation]
    [without] = scale.score([example])
    assert without.value == score.value
    assert from_json(example, to_json(score)) == score


def test_passages_of_a_list_by_number_or_id(scale: Scale) -> None:
    start = KNOWLEDGE.index("The ferry")
    listed = (Passage(0, 21), Passage(start, len(KNOWLEDGE), "9"))
    found = scale.score([
        Example(f"The ferry sails at 14:00 [{name}].", KNOWLEDGE, passages=listed)
        for name in ("1", "2", "9")], evidence=True)
    claims = [score.evidence[0] for score in found]
    assert [claim.citation for claim in claims if isinstance(claim, Judgement)] == [
        "wrong passage", "right", "right"]


def test_a_claim_that_cites_nothing_beside_one_that_does(scale: Scale) -> None:
    [score] = scale.score([Example("The inn has 12 rooms [1]. The ferry sails at 14:00.",
                                   KNOWLEDGE)], evidence=True)
    judged = [one for one in score.evidence if isinstance(one, Judgement)]
    assert [(one.cites, one.citation) for one in judged] == [(("1",), "right"), ((), "none")]
    assert replace(judged[1], citation=None).cites == ()
