"""Sentences by rule, cased or not, tokenised or not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from tokenised import TEXTS

from q2_metric.text.sentences import MAX_SENTENCE, split_sentences


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
        # Lines that are broken at a width, lines of chats, lists, tables and settings.
        ("It is wrong that\nthe fee is due.", ["It is wrong that\nthe fee is due."]),
        ("The bridge was not\nclosed in May.", ["The bridge was not\nclosed in May."]),
        ("Paid within\n5 days. Ok.", ["Paid within\n5 days.", "Ok."]),
        ("It was closed.\nit opened again.", ["It was closed.", "it opened again."]),
        ("It was not closed\n\nit opened.", ["It was not closed", "it opened."]),
        ("That is all I know\noh I see", ["That is all I know", "oh I see"]),
        ("Old bread\nmilk from Kiel", ["Old bread", "milk from Kiel"]),
        ("It is set by the file\nname: Kiel", ["It is set by the file", "name: Kiel"]),
        ("Five and a | half\nof it | six", ["Five and a | half", "of it | six"]),
        ("Really?! Yes… maybe.", ["Really?!", "Yes… maybe."]),
        ("written by j . r . tolkien", ["written by j . r . tolkien"]),
        ("he is called b . He left . I . He", ["he is called b .", "He left .", "I .", "He"]),
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
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


def test_a_sentence_is_cut_only_where_it_is_too_long() -> None:
    for size, pieces in ((MAX_SENTENCE, 1), (MAX_SENTENCE + 1, 2)):
        text = ("word " * MAX_SENTENCE)[: size - 1] + "x"
        bounds = split_sentences(text)
        assert len(bounds) == pieces
        assert " ".join(text[start:end] for start, end in bounds) == text, "at a blank"
    assert split_sentences("x" * (2 * MAX_SENTENCE)) == [
        (0, MAX_SENTENCE), (MAX_SENTENCE, 2 * MAX_SENTENCE)]


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


@pytest.mark.parametrize(("text", "count"), [
    ("Add 4 g. Stir it well.", 2), ("It weighs 4 kg. Mix it.", 2),
    ("He lives at 4 St. James Road.", 1), ("J. R. Tolkien wrote it.", 1),
])
def test_a_unit_after_a_number_ends_a_sentence(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count
