"""Repair: blanks go, capitals come, and every character keeps its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenised import TEXTS

from q2_metric.text.repair import repair
from q2_metric.text.truecase import capitalised


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
