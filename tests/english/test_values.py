"""Values in texts: which notations are one value, which contradict each other."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from q2_metric.english.values.compare import compare_answers, has_wrong_value, in_notation_of
from q2_metric.english.values.find import values_in

GOLDEN = Path(__file__).parents[1] / "golden" / "values.tsv"
SAME = {"yes": True, "no": False, "": None}


def rows() -> list[tuple[str, str, bool | None]]:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return [(row["claimed"], row["known"], SAME[row["same"] or ""])
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.mark.parametrize(("claimed", "known", "same"), rows())
def test_two_answers(claimed: str, known: str, same: bool | None) -> None:
    assert compare_answers(claimed, known) is same


@pytest.mark.parametrize("text", [
    "No one came.", "one another", "It was a second look.", "He may march on.", "each one of them",
    "", "the best of all", "She said so per second.",
])
def test_what_is_no_value(text: str) -> None:
    assert values_in(text) == ()


def test_values_do_not_overlap_and_keep_their_places() -> None:
    text = "About 3 km for €2.5 million, half of it at 8 pm on 4 May 2021 (10.0.0.7), 2nd of 5"
    found = values_in(text)
    assert [text[value.start : value.end] for value in found] == [
        "3 km", "€2.5 million", "half", "8 pm", "4 May 2021", "10.0.0.7", "2nd", "5"]


@pytest.mark.parametrize(("claim", "passage", "wrong"), [
    ("The trail is 24 km long.", "The trail is 41.9 km long.", True),
    ("The trail is 42 km long.", "The trail is 41.9 km long.", False),
    ("It carries 214 passengers.", "It carries 412 passengers and 60 cars.", True),
    ("It carries 60 passengers.", "It carries 412 passengers and 60 cars.", True),
    ("It has 3 decks.", "It carries 412 passengers.", False),
    ("It opened in 1975.", "It opened in 1957 and closed in 1970.", False),
    ("It opened in 1975.", "It opened in 1957.", True),
    ("It opened in 1975.", "It was built in 1957.", False),
])
def test_a_claim_against_a_passage(claim: str, passage: str, wrong: bool) -> None:
    assert has_wrong_value(claim, passage) is wrong


@pytest.mark.parametrize(("claim", "knowledge", "judged"), [
    ("The bus leaves at 11:10 pm.", "It leaves at 23:10.", "The bus leaves at 23:10."),
    ("Twenty-five of 40 came.", "25 people came.", "25 of 40 came."),
    ("She moved in the 1970s.", "She moved in 1972.", "She moved in the 1970s."),
    ("It costs €210.", "It costs 120 euros.", "It costs €210."),
    ("It opens on Friday.", "It opens Tuesday to Sunday.", "It opens on Tuesday to Sunday."),
    ("It opens on Friday.", "Open Tuesday to Sunday, closed on Friday.", "It opens on Friday."),
    ("It's been around since 1881.", "It was founded in 1881.", "It started in 1881."),
    ("It's been around since 1881.", "It has been around since 1881.",
     "It's been around since 1881."),
])
def test_a_claim_in_the_notation_of_the_knowledge(
    claim: str, knowledge: str, judged: str
) -> None:
    assert in_notation_of(knowledge, claim) == judged
