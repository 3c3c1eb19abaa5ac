"""What fools the scores: the page says what was measured, and tricks do what they are called."""

from __future__ import annotations

from q2_metric.types import Example
from tools.benchmarks import gaming, gaming_page

ROW = Example("It opened in 1889.", "The tower was opened in 1889. It is 300 metres high.")


def test_the_page_is_made_from_the_results() -> None:
    written = gaming.OUT.with_suffix(".md").read_text(encoding="utf-8")
    assert written == gaming_page.page(), "run python -m tools.benchmarks gaming_page"


def test_tricks() -> None:
    tricks = {name: trick(ROW) for made in gaming.TRICKS.values() for name, trick in made.items()}
    assert all(tricks.values())
    assert tricks['"TOPIC exists."'] == "The tower exists."
    assert tricks["copy of the first sentence, five times"].count("The tower was opened") == 5
    assert tricks["last five words of the knowledge"] == "It is 300 metres high."
    assert tricks['"not" after the first verb'].startswith("The tower was not opened")
    assert sorted(tricks["words of the knowledge, shuffled"].rstrip(".").split()) == sorted(
        ROW.knowledge.rstrip(".").split())


def test_a_row_that_is_left_as_it_is_is_not_bent() -> None:
    same = gaming.tricked("the knowledge, changed", lambda row: row.knowledge, [ROW])
    assert same == []
    assert len(gaming.tricked(gaming.COPIES, lambda row: row.knowledge, [ROW])) == 1
