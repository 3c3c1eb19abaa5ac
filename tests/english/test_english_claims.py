"""The claims of responses, by a table, and their places in what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from q2_metric.english.claims.find import EnglishClaims
from q2_metric.metrics.claims import without_marks
from q2_metric.types import Claim, Example

GOLDEN = Path(__file__).parents[1] / "golden" / "claims.tsv"
_, *ROWS = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def finder() -> EnglishClaims:
    pytest.importorskip("spacy", reason="claims need spaCy")
    return EnglishClaims()


def find(finder: EnglishClaims, response: str) -> list[Claim]:
    (found,) = finder.find([without_marks(Example(response, ""))])
    return found


def test_the_golden_table(finder: EnglishClaims) -> None:
    assert len(ROWS) > 200
    wrong = {}
    for response, wanted in ROWS:
        claims = find(finder, response.replace("\\n", "\n"))
        found = " // ".join(f"{one.kind}: {one.text}" for one in claims)
        if found != wanted:
            wrong[response] = found
    assert wrong == {}


@pytest.mark.parametrize("response", [row[0].replace("\\n", "\n") for row in ROWS[::4]])
def test_places_are_those_of_the_response_as_it_was_written(
    finder: EnglishClaims, response: str
) -> None:
    for claim in find(finder, response):
        assert 0 <= claim.start < claim.end <= len(response)
        written = response[claim.start : claim.end].lower()
        last = claim.text.lower().rstrip(" .!?)\"'").split()[-1].strip("()\"',")
        assert last[-2:] in written.replace(" ", ""), (claim, written)


def test_a_place_begins_behind_the_frame(finder: EnglishClaims) -> None:
    response = "i ' m not sure , but i do know that garfield was first published in 1978 ."
    (claim,) = find(finder, response)
    assert response[claim.start : claim.end] == "garfield was first published in 1978"
    response = "According to the document, dogs travel **free** [1]."
    (claim,) = find(finder, response)
    assert (claim.text, response[claim.start :]) == (
        "Dogs travel free.", "dogs travel **free** [1].")


@pytest.mark.parametrize(("response", "written"), [
    ("the hotel opened in 1990 , if i ' m not mistaken .", "the hotel opened in 1990"),
    ("Well, the hotel opened in **1990**, I think.", "the hotel opened in **1990"),
    ("The hotel, built in 1990, has 12 rooms, I believe.",
     "The hotel, built in 1990, has 12 rooms"),
])
def test_a_place_ends_before_the_frame(
    finder: EnglishClaims, response: str, written: str
) -> None:
    *_, claim = find(finder, response)
    assert response[claim.start : claim.end] == written


def test_names_get_their_capitals_from_the_knowledge(finder: EnglishClaims) -> None:
    example = Example("i know that it was created by jim davis .", "Jim Davis created Garfield.")
    assert [one.text for one in finder.find([example])[0]] == ["It was created by Jim Davis."]


@pytest.mark.parametrize("response", [
    "", " ", "?", "...", "|", "| |", "|a|\n|-|\n||", "-", "- \n- ", ":\n- a", "a:\n\n\n- b", "1.",
    "I", "i know that", "did you know ?", "and , and , and", "(", "(((a), (b", "that that that",
    "x" * 5000, "a, " * 800, "😀 yes , 😀 it 's red 😀",
])
def test_any_text(finder: EnglishClaims, response: str) -> None:
    for claim in find(finder, response):
        assert 0 <= claim.start <= claim.end <= len(response)


def test_nobody_elses_claims_come_into_a_batch(finder: EnglishClaims) -> None:
    texts = [row[0].replace("\\n", "\n") for row in ROWS[:40]]
    together = finder.find([without_marks(Example(text, "")) for text in texts])
    assert together == [find(finder, text) for text in texts]


@pytest.mark.parametrize(("text", "claims"), [
    ("If it rains, the match is moved to Monday and the tickets stay valid.",
     ["If it rains, the match is moved to Monday and the tickets stay valid."]),
    ("Unless you cancel by May, the contract goes on and you pay again.",
     ["Unless you cancel by May, the contract goes on and you pay again."]),
    ("Because the pump failed, the cellar flooded, and the wine was lost.",
     ["Because the pump failed, the cellar flooded.", "The wine was lost."]),
])
def test_a_condition_stays_with_all_that_it_governs(text: str, claims: list[str]) -> None:
    [found] = EnglishClaims().find([Example(text, "")])
    assert [claim.text for claim in found] == claims
