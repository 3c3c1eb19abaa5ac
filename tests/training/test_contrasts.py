"""Questions that lose their answer by little, and such that keep it."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from tools.training.asked import find
from tools.training.contrasts import Contrasts, appositions, implied
from tools.training.corrupt import Replacements
from tools.training.examples import ExampleSource, TrainingExample
from tools.training.reader_data import SHARES, in_shares

TEXT = "Ann Brown met Carl Smith in Rome, and she founded a large school there in 1954."
PASSAGE = f"The Browns were teachers. {TEXT} Later the building burned down."
QUESTION = "When did Ann Brown found a large school in Rome?"


@pytest.fixture(scope="module")
def nlp() -> Any:
    from q2_metric.english.parse.parser import load

    return load()


def contrasts(nlp: Any, text: str = TEXT, question: str = QUESTION, seed: int = 0) -> Contrasts:
    names = {"PERSON": ["Zoe Hall"], "GPE": ["Oslo"], "ORG": ["Acme"]}
    words = {"NN": ["bridge"], "VB": ["sell"], "JJ": ["wooden"]}
    pool = Replacements(defaultdict(list, names), defaultdict(list, words), [])
    return Contrasts({text: nlp(text)}, {question: nlp(question)}, pool, {TEXT: PASSAGE},
                     random.Random(seed))


def answered(text: str = TEXT, question: str = QUESTION, answer: str = "1954") -> TrainingExample:
    return TrainingExample(question, text, find(text, answer), "asked_premise")


def test_a_changed_subject_is_another_name_and_never_the_answer(nlp: Any) -> None:
    found = {contrasts(nlp, seed=seed).subject(answered()) for seed in range(30)} - {None}
    assert found
    assert QUESTION not in found
    assert all(one is not None and one.startswith("When did ") for one in found)
    assert any("Carl Smith" in str(one) or "Zoe Hall" in str(one) for one in found)
    who = "Who met Carl Smith in Rome?"
    for seed in range(30):
        changed = contrasts(nlp, question=who, seed=seed).subject(answered(TEXT, who, "Ann Brown"))
        assert changed is None or "Brown" not in changed


def test_names_of_a_list_are_not_changed_for_each_other(nlp: Any) -> None:
    text = "Paul Brown and Carl Smith founded a school in 1954."
    question = "When did Paul Brown found a school?"
    for seed in range(30):
        changed = contrasts(nlp, text, question, seed).subject(answered(text, question))
        assert changed is None or "Carl" not in changed


def test_a_false_premise_is_not_in_the_text(nlp: Any) -> None:
    found = {contrasts(nlp, seed=seed).premise(answered()) for seed in range(40)} - {None}
    assert found
    for changed in found:
        assert changed is not None
        (new,) = set(changed.rstrip("?").split()) - set(QUESTION.rstrip("?").split())
        assert new in ("bridge", "sell", "wooden", "small", "school")


def test_a_text_that_lacks_the_detail(nlp: Any) -> None:
    for seed in range(20):
        left = contrasts(nlp, seed=seed).without(answered())
        assert left is None or (find(left, "1954") is None and len(left.split()) >= 5)
    assert any(contrasts(nlp, seed=seed).without(answered()) for seed in range(20))
    vague = answered(TEXT, "What is it?")
    assert contrasts(nlp).without(vague) is None, "any text answers it"


def test_what_is_reworded_keeps_its_answer_where_it_was(nlp: Any) -> None:
    question = "Where did Ann Brown found a school in 1954?"
    for seed in range(30):
        make = contrasts(nlp, question=question, seed=seed)
        for one in make.of(answered(TEXT, question, "Rome")):
            if one.target is None:
                assert one.source in ("changed_subject", "false_premise", "lacking_detail")
            else:
                assert one.source == "reworded"
                assert one.text[slice(*one.target)] == "Rome"
                assert one.query != question


@pytest.mark.parametrize(("words", "found"), [
    ("the 1880s", "May 21, 1881"), ("the late 19th century", "May 21, 1881"),
    ("1881", "May 21, 1881"), ("the 1890s", None), ("a long time", None),
    ("the 20th century", "1954"),
])
def test_implied_dates(words: str, found: str | None) -> None:
    text = "It was founded on May 21, 1881, and closed in 1954."
    place = implied(text, words)
    assert (None if place is None else text[slice(*place)]) == found
    assert implied("In 1881 and 1884 it burned.", "the 1880s") is None, "which of the two?"


def test_appositions_are_said_as_sentences(nlp: Any) -> None:
    (pair,) = appositions([nlp("Grant Wood, a painter from Iowa, died in 1942.")])
    assert pair.query == "Grant Wood is a painter from Iowa."
    assert pair.target == "supported"


def test_shares_of_the_fourth_stage() -> None:
    def rows(name: str, count: int) -> list[TrainingExample]:
        return [TrainingExample("q", f"{name} {i}", None, name) for i in range(count)]

    human = [ExampleSource("squad", 1.0, rows("squad", 300)),
             ExampleSource("squad-neg", 1.0, rows("neg", 300))]
    made = [ExampleSource(name, 1.0, rows(name, 400)) for name in SHARES if name != "human"]
    found = {one.name: one.rate * len(one.examples) for one in in_shares(human, made, 1000)}
    assert sum(found.values()) == pytest.approx(1000)
    assert found["squad"] + found["squad-neg"] == pytest.approx(1000 * SHARES["human"])
    assert found["squad-neg"] < found["squad"] / 2
