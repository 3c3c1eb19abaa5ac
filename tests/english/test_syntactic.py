"""The syntactic questions, word for word; and what they must never do."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from q2_metric.english.parse.parser import Parser, SpacyPersonal, SpacySpans
from q2_metric.english.parse.tree import Tree
from q2_metric.english.questions.syntactic import MAX_QUESTIONS, SyntacticQuestions
from q2_metric.text.normalise import normalise, words
from q2_metric.types import Example, Span

GOLDEN = Path(__file__).parents[1] / "golden" / "questions.tsv"

PIECES = sorted(
    words(
        "it they he who which that to be is was were has been had do did can not and or but , . ? "
        "ford founded wrote lived in of by with since for 1994 three years the a an red cars band"
    )
)
"""Words that make sentences of every kind, and nonsense."""


def golden() -> list[tuple[str, str, str]]:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["sentence"], row["span"], row["question"]) for row in rows]


@pytest.fixture(scope="module")
def spans() -> dict[tuple[str, str], Span]:
    """The first span of each (sentence, text)."""
    sentences = list(dict.fromkeys(sentence for sentence, _, _ in golden()))
    finder = SpacySpans()
    found = finder.find([Example(sentence, "") for sentence in sentences])
    table: dict[tuple[str, str], Span] = {}
    for sentence, members in zip(sentences, found, strict=True):
        for span in members:
            table.setdefault((sentence, span.text), span)
    return table


def ask(response: str, text: str, knowledge: str = "") -> list[str]:
    span = Span(Example(response, knowledge), text, response.index(text))
    return SyntacticQuestions().generate([span])[0]


def test_the_table_is_large_enough() -> None:
    assert len(golden()) >= 150


@pytest.mark.parametrize(("sentence", "text", "question"), golden())
def test_top_question(
    sentence: str,
    text: str,
    question: str,
    spans: dict[tuple[str, str], Span],
) -> None:
    assert (sentence, text) in spans, "the finder no longer finds the span"
    found = SyntacticQuestions().generate([spans[sentence, text]])[0]
    assert found[:1] == [question]


def test_questions_are_well_formed(spans: dict[tuple[str, str], Span]) -> None:
    members = list(spans.values())
    for span, found in zip(members, SyntacticQuestions().generate(members), strict=True):
        assert len(found) <= MAX_QUESTIONS
        assert len(set(found)) == len(found)
        for question in found:
            assert question.endswith("?")
            assert question[0].isupper()
            assert "  " not in question
            assert f" {normalise(span.text)} " not in f" {normalise(question)} "


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("it ' s great .", "it"),  # a pronoun tells nobody what it answers
        ("i love it .", "i"),
        ("do you like jazz ?", "jazz"),  # a question states nothing
        ("if he wins the cup , he will retire .", "the cup"),  # nor does a condition
        ("It did not open in 1889.", "1889"),  # what is denied has the answers of the contrary
        ("He doesn't eat meat.", "meat"),
        ("cats can ' t taste sweet food .", "cats"),
        ("He was not a rich man.", "a rich man"),
        ("did you know that honey never spoils ?", "honey"),
        ("he wasn't able to win the cup in 1999.", "1999"),
        ("It is not true that the tower opened in 1889.", "1889"),
        ("i don't think that the tower opened in 1889 .", "1889"),
        ("He denied that the tower opened in 1889.", "1889"),
        ("yes , an american painter .", "an american painter"),  # no verb
        ("it ' s one of the best of all time .", "all time"),  # a set phrase
        ("it has a lot of sand .", "a lot"),  # half a phrase
        ("he joined guil__unk__ in 2009 .", "guil__unk"),  # an unknown word
    ],
)
def test_no_question(response: str, text: str) -> None:
    assert ask(response, text) == []


@pytest.mark.parametrize(
    "response",
    [
        "i did not know that it opened in 1889 !",
        "i can ' t believe that it opened in 1889 .",
        "i am not sure , but i know that it opened in 1889 .",
        "It not only opened in 1889 but closed then.",
        "It did not open until 1889.",
        "The tower, which is not a true skyscraper, opened in 1889.",
        "It did not close: it opened in 1889.",
        "It is true that it opened in 1889.",
    ],
)
def test_what_is_said_beside_a_denial_is_asked_about(response: str) -> None:
    assert ask(response, "1889")


def test_an_embedded_clause_of_a_question_is_asked_about() -> None:
    assert ask("did you know that it was formed in 1994 ?", "1994") == [
        "When was it formed?"
    ]


def test_names_take_the_capitals_of_the_knowledge() -> None:
    knowledge = "The show follows painter Bob Ross as he teaches."
    response = "bob ross was born in florida ."
    assert ask(response, "florida", knowledge)[0] == "Where was Bob Ross born?"


def test_order_and_batching_do_not_matter(
    spans: dict[tuple[str, str], Span]
) -> None:
    members = list(spans.values())[:40]
    generator = SyntacticQuestions()
    one_by_one = [generator.generate([span])[0] for span in members]
    assert generator.generate(members) == one_by_one
    assert generator.generate(members[::-1]) == one_by_one[::-1]


def test_a_span_that_is_not_in_the_response_gets_no_question() -> None:
    span = Span(Example("it was built in 1994 .", ""), "nowhere", 400)
    assert SyntacticQuestions().generate([span]) == [[]]


def test_a_preposition_may_be_the_first_word_and_back_the_last() -> None:
    assert ask("for thirty days you can have it back", "thirty days")


def test_a_long_chain_of_verbs_is_no_trouble() -> None:
    response = "he " + "ran , jumped , swam and " * 80 + "won the cup ."
    found = SpacySpans().find([Example(response, "")])[0]
    assert len(SyntacticQuestions().generate(found)) == len(found)


@given(st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join))
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_asked_about(text: str) -> None:
    spans = SpacySpans().find([Example(text, "")])[0]
    for span, found in zip(spans, SyntacticQuestions().generate(spans), strict=True):
        for question in found:
            assert question.endswith("?")
            assert f" {normalise(span.text)} " not in f" {normalise(question)} "


def test_nothing_in_nothing_out() -> None:
    assert SyntacticQuestions().generate([]) == []


def test_subtrees_are_sets_of_words() -> None:
    doc = Parser().parse(["Ford wrote a very long book."])[0].sentences[0].doc
    tree = Tree(doc)
    book = next(word for word in tree.words if word.lower == "book")
    assert [word.text for word in tree.members(tree.below[book.i])] == ["a", "very", "long", "book"]


@pytest.mark.slow
def test_coverage_of_dialogue_responses() -> None:
    """At least 91 % of the annotated WoW responses get a question that is not personal."""
    folder = os.environ.get("Q2_DATA_DIR")
    path = Path(folder or "", "wow_q2", "cross_annotation.csv")
    if not folder or not path.is_file():
        pytest.skip("Q2_DATA_DIR does not hold wow_q2/cross_annotation.csv")
    with path.open(encoding="utf-8", newline="") as file:
        examples = [
            Example(row[column], row["knowledge"])
            for row in csv.DictReader(file)
            for column in ("dodeca_response", "memnet_response")
        ]
    found = SpacySpans().find(examples)
    questions = SyntacticQuestions().generate([span for spans in found for span in spans])
    flat = [question for candidates in questions for question in candidates]
    personal = dict(zip(flat, SpacyPersonal().personal(flat), strict=True))
    remaining = iter(questions)
    covered = 0
    for members in found:
        candidates = [question for _ in members for question in next(remaining)]
        covered += any(not personal[question] for question in candidates)
    assert len(examples) == 1088
    assert covered / len(examples) >= 0.91
