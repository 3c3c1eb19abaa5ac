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
