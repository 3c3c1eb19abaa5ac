"""Tables in knowledge: which lines are one, and how their cells are read."""

from __future__ import annotations

import pytest

from q2_metric.text.excerpts import excerpt
from q2_metric.text.tables import read_tables

MARKDOWN = "Towns:\n\n| City | People |\n|---|---:|\n| Aldo | 52,000 |\n| Brena | 18,400 |\n\nEnd."
TABS = "Quarter\tUnits\nQ1\t120\nQ2\t180"
CORNER = "| | Basic | Plus |\n|---|---|---|\n| Reply | 8 h | 2 h |\n| Contacts | 1 | 3 |"
"""As data frames are written, too."""
COMMAS = "year,sales_musd\n2020,41.2\n2021,47.9\n2022,45.0"


@pytest.mark.parametrize(("text", "sentences"), [
    (MARKDOWN, ["The People of Aldo is 52,000.", "The People of Brena is 18,400."]),
    (TABS, ["The Units of Q1 is 120.", "The Units of Q2 is 180."]),
    (CORNER, ["The Plus of Reply is 2 h.", "The Basic of Contacts is 1."]),
    (",price,size\nchair,89,2\ndesk,240,3", ["The price of chair is 89."]),
    (COMMAS, ["The sales musd of 2020 is 41.2.", "The sales musd of 2021 is 47.9."]),
])
def test_a_cell_is_read_with_its_row_and_column(text: str, sentences: list[str]) -> None:
    read = "".join(piece.text for piece in read_tables(text))
    assert [one for one in sentences if one in read.splitlines()] == sentences
    assert "|" not in read
    assert ("Towns:" in read) == ("Towns:" in text)


@pytest.mark.parametrize("text", [
    "It has red, green and blue lamps.\nAnn, Bob and Cid came, too.\nOne, two, three.",
    "a | b", "", "one line", "12,13\n14,15\n16,17", "x || y\nz",
    "Roses are red, my love,\nViolets are blue, my love,\nSugar is sweet, my love,",
])
def test_prose_is_no_table(text: str) -> None:
    assert "".join(piece.text for piece in read_tables(text)) == text


@pytest.mark.parametrize("text", [MARKDOWN, TABS, COMMAS])
def test_a_cell_keeps_its_place(text: str) -> None:
    found = excerpt(text, "", 4)
    for cell in ("18,400", "180", "47.9"):
        if cell in text:
            assert text[found.place(found.text.index(cell)) :].startswith(cell)
