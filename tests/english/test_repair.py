"""Repair: blanks go, capitals come, and every character keeps its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenised import TEXTS

from q2_metric.english.parse.repair import capitalised, repair


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
        ("he ( a painter ) left .", "He (a painter) left."),
        ("wow ! ! ! i like it . . .", "Wow!!! I like it..."),
        ("born in 1994 , 1995 or so .", "Born in 1994, 1995 or so."),
        ("it’s from france .", "It’s from France."),
        ("He left - I stayed.", "He left - I stayed."),
        ("The end .", "The end."),
        ('yes . " it is red " he said .', 'Yes. "It is red" he said.'),
        ("3d prints are made of ß .", "3d prints are made of ß."),
        ("i'm here , am i ? 'i' is me . i", "I'm here, am I? 'I' is me. I"),
        ("he'd say i'll go on monday .", "He'd say I'll go on Monday."),
        ("a u . k . and a d . c . act , x . y", "A U.K. and a D.C. act, x. y"),
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
    assert repair("Ross is bob .", knowledge).text == "Ross is bob.", "it has capitals of its own"


@pytest.mark.parametrize(("knowledge", "names"), [
    ("Bob Ross painted. Bob sang.", {"bob": "Bob", "ross": "Ross"}),
    ("Bob painted. He met Ann. The ann was sold.", {}),  # at a start, or in lower case too
    ("We saw NASA and a NATO jet, O.", {"nasa": "NASA", "nato": "NATO"}),
    ("It is on YouTube; Youtube is on it.", {"youtube": "YouTube"}),
    ("Is that The One?", {}),
    ("Rome IS old. Bob A. Ross", {"ross": "Ross"}),
    ("", {}),
])
def test_names_of_the_knowledge(knowledge: str, names: dict[str, str]) -> None:
    assert capitalised(knowledge) == names


def test_starts_of_sentences_are_told_from_names() -> None:
    found = repair("it is bob . so i say .", "He is Bob.")
    assert found.text == "It is Bob. So I say."
    assert found.raised == {0, 11}
    assert repair("It is.").raised == frozenset()


@pytest.mark.parametrize(("said", "words"), [
    ("It's", "it ' s"), ("co-op", "co - op"), ("op.", "op ."), ("a", "a"),
])
def test_places_of_a_repaired_text(said: str, words: str) -> None:
    original = "it ' s a co - op ."
    found = repair(original)
    assert found.text == "It's a co-op."
    start, end = found.text.index(said), found.text.index(said) + len(said)
    left, right = found.to_original(start, end)
    assert original[left:right] == words
    assert found.from_original(left, right) == (start, end)
    assert found.from_original(2, 3) is None, "a blank that is gone"


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
