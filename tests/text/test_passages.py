"""Passages: a sentence and the ones beside it."""

from __future__ import annotations

import pytest

from q2_metric.text.excerpts import around, in_passages
from q2_metric.text.sentences import split_sentences
from q2_metric.types import Example, Span

FIVE = "Ann sings. Bob reads. Cid swims. Dan runs. Eve rows."


@pytest.mark.parametrize(("word", "expected"), [
    ("Ann", "Ann sings. Bob reads. Cid swims."),
    ("Bob", "Ann sings. Bob reads. Cid swims."),
    ("Cid", "Bob reads. Cid swims. Dan runs."),
    ("Dan", "Cid swims. Dan runs. Eve rows."),
    ("rows.", "Cid swims. Dan runs. Eve rows."),
    ("Bob reads. Cid", "Ann sings. Bob reads. Cid swims. Dan runs."),
    (" ", "Ann sings. Bob reads. Cid swims."),
])
def test_a_passage_has_three_sentences_and_more_for_a_span_across_two(
    word: str, expected: str
) -> None:
    start = FIVE.index(word)
    left, right = around(split_sentences(FIVE), len(FIVE), start, start + len(word))
    assert FIVE[left:right] == expected


@pytest.mark.parametrize("text", [" ", "Ann", " Ann sings. Bob reads.\n", FIVE[:32] + "  "])
def test_up_to_three_sentences_are_whole_with_their_blanks(text: str) -> None:
    for at in range(len(text)):
        assert around(split_sentences(text), len(text), at, at + 1) == (0, len(text))


def test_spans_keep_their_text_label_knowledge_and_history() -> None:
    example = Example(FIVE, "known", ("said",), "7")
    spans = [Span(example, word, FIVE.index(word), "PERSON") for word in ("Ann", "Bob", "Eve")]
    found = in_passages(spans)
    for before, after in zip(spans, found, strict=True):
        assert (after.text, after.label) == (before.text, before.label)
        inside = after.example
        assert inside.response[after.start :].startswith(after.text)
        assert (inside.knowledge, inside.history, inside.id) == ("known", ("said",), "7")
    assert found[0].example is found[1].example


def test_a_span_that_is_not_at_its_place_stays_in_the_whole_response() -> None:
    span = Span(Example(FIVE, ""), "Mary", 11)
    assert in_passages([span]) == [span]
