"""Sentences that deny each other, or leave open what the other affirms."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from q2_metric.models.english.stance import EnglishStances

GOLDEN = Path(__file__).parents[2] / "golden" / "stances.tsv"


def rows() -> list[tuple[str, str, bool]]:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return [(row["claim"], row["known"], row["opposed"] == "yes")
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.fixture(scope="module")
def stances() -> EnglishStances:
    return EnglishStances()


@pytest.mark.parametrize(("claim", "known", "opposed"), rows())
def test_two_sentences(stances: EnglishStances, claim: str, known: str, opposed: bool) -> None:
    assert stances.opposed([(claim, known)]) == [opposed]


def test_sentences_are_judged_in_order(stances: EnglishStances) -> None:
    pairs = [(claim, known) for claim, known, _ in rows()]
    assert stances.opposed(pairs) == [opposed for _, _, opposed in rows()]
    assert stances.opposed([]) == []


@pytest.mark.parametrize(("claim", "known", "affirmed"), [
    ("Breakfast is included.", "Breakfast, wifi and towels are included.", True),
    ("Wifi is included.", "Breakfast, wifi and towels are included.", True),
    ("Parking is included.", "Parking is not included.", False),
    ("Parking is not included.", "Parking is not included.", True),
    ("Dogs are allowed.", "Dogs are allowed in the garden.", False),
    ("All rooms have a balcony.", "Some rooms have a balcony.", False),
    ("Every room has a balcony.", "Some rooms have a balcony.", False),
    ("Rooms have a balcony.", "Only two rooms have a balcony.", False),
    ("All members voted for the plan.", "Most members voted for the plan.", False),
    ("All lines stop at the airport.", "Only the red line stops at the airport.", False),
    ("The chair resigned.", "The vice chair resigned.", False),
    ("The chair resigned.", "The former chair resigned.", False),
    ("The shop sells bread.", "The shop rarely sells bread.", False),
    ("The shop sold bread.", "The shop sold stale bread.", False),
    ("The shop sold bread.", "The shop sold bread and cake in May.", True),
    ("The treasurer resigned.", "The treasurer and the chair resigned on Monday.", True),
    ("The museum is open.", "The museum was open until 1990.", False),
    ("Dogs are allowed in the garden.", "Dogs are allowed.", False),
    ("Harvik won against Solna.", "Harvik beat Solna 3-1 in the final.", True),
    ("Solna won against Harvik.", "Harvik beat Solna 3-1 in the final.", False),
    ("Harvik often beat Solna.", "Harvik beat Solna 3-1 in the final.", False),
    ("Ann taught Ben.", "Ben taught Ann.", False), ("The chair resigned.", "He resigned.", False),
    ("The patch was released.", "The patch may have been released.", False),
    ("The patch was released.", "The patch would be released.", False),
    ("The tram stops here.", "The tram does not stop here without a call.", False),
    ("Dogs are allowed.", "Dogs are allowed, but not on Sundays.", False),
])
def test_a_sentence_states_a_claim(
    stances: EnglishStances, claim: str, known: str, affirmed: bool
) -> None:
    assert stances.affirmed([(claim, known)]) == [affirmed]
