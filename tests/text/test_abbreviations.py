"""Full stops of abbreviations, in the 200 of ``tests/golden/abbreviations.tsv``."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from q2_metric.text.sentences import split_sentences

GOLDEN = Path(__file__).parents[1] / "golden" / "abbreviations.tsv"
with GOLDEN.open(encoding="utf-8", newline="") as lines:
    ROWS = [(row["abbreviation"], row["text"]) for row in csv.DictReader(lines, delimiter="\t")]
"""Where a sentence ends there is a bar."""


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def tokenised(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"([.,])", r" \1 ", text)).strip().lower()


def test_the_table_is_long_enough() -> None:
    assert len({name for name, _ in ROWS}) >= 200


@pytest.mark.parametrize(("name", "text"), ROWS)
def test_cased_text(name: str, text: str) -> None:
    expected = text.split(" | ")
    assert cut(" ".join(expected)) == expected


CAPITALS = {"Ark.", "Del.", "Ga.", "Ill.", "Ind.", "La.", "Mass.", "Md.", "Miss.", "Mo.", "Ore.",
            "Pa.", "Wash."}
"""States whose lower-case letters are a word."""


@pytest.mark.parametrize(("name", "text"), [row for row in ROWS if row[0] not in CAPITALS])
def test_tokenised_text(name: str, text: str) -> None:
    expected = [tokenised(part) for part in text.split(" | ")]
    assert cut(" ".join(expected)) == expected
