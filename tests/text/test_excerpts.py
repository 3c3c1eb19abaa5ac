"""Long knowledge is read in the passages that are nearest to a question."""

from __future__ import annotations

from q2_metric.text.excerpts import PASSAGE, excerpt

FILLER = "The valley has orchards, chapels and a market on the green in autumn. "
LONG = FILLER * 100 + "The dam at Kvern was finished in 1957. " + FILLER * 100


def test_the_passage_that_decides_is_kept_and_its_place_is_known() -> None:
    found = excerpt(LONG, "When was the dam at Kvern finished?", 2)
    assert len(found.text) <= 2 * PASSAGE + 1
    at = found.text.index("1957")
    assert LONG[found.place(at) :].startswith("1957")
    assert found.place(at) == LONG.index("1957")


def test_a_text_that_is_no_longer_than_its_passages_is_read_as_it_is() -> None:
    short = FILLER * 10
    assert excerpt(short, "dam", 4).text == short


def test_every_place_of_an_excerpt_is_the_same_character_of_the_text() -> None:
    numbered = " ".join(f"Sentence {i} tells of thing {i}." for i in range(900))
    found = excerpt(numbered, "thing 7 and thing 501 and thing 880", 3)
    wrong = [at for at, character in enumerate(found.text)
             if character != "\n" and numbered[found.place(at)] != character]
    assert not wrong


def test_a_text_without_any_end_of_sentence_is_cut_too() -> None:
    found = excerpt("word " * 5000 + "needle " + "word " * 5000, "needle", 2)
    assert "needle" in found.text
    assert len(found.text) <= 2 * PASSAGE + 1
