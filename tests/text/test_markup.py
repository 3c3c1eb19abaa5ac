"""Marks that claim nothing: what is overwritten, and what must stay."""

from __future__ import annotations

import pytest

from q2_metric.english.claims.checkable import has_claim
from q2_metric.metrics.claims import unclaimed
from q2_metric.text.markup import body, unmarked
from q2_metric.text.overlap import known_numbers, known_words, word_tokens
from q2_metric.types import Example


def words(text: str) -> str:
    return " ".join(unmarked(text).split())


@pytest.mark.parametrize(("text", "left"), [
    ("It opened in 1889 [1].", "It opened in 1889 ."),
    ("It opened.[1][2, 3] [^4]", "It opened."),
    ("It opened [doc 2] (source: doc 12) 【4:1†source】.", "It opened ."),
    ("It opened.[citation needed]", "It opened."),
    ('<p class="x">It <b>opened</b>.<br/></p><!-- no -->', "It opened ."),
    ("It **opened** in `1889`, *early* and __late__.", "It opened in 1889 , early and late ."),
    ("## Answer\nIt [opened](https://a.org/b_(c)x 'y') [there](http://a.b).",
     "Answer It [opened](https://a.org/b_(c)x 'y') there ."),
    ("1. It opened.\n2. It closed.", "- It opened. - It closed."),
    ("Two plans: 1) Basic, 2) Pro 3) Max.", "Two plans: Basic, Pro , Max."),
    ("As stated in [1] and [2], it opened.", "it opened."),
    ("It is old. [1] states that it opened, according to [2].", "It is old. it opened ."),
    ("As [1] says, it opened, as [doc 2] notes.", "it opened ."),
    ("It opened [Doc 1, Doc 2].", "It opened ."),
    ("It opened [Source 1; Source 2].", "It opened ."),
    ("It opened (Sources 1 and 2).", "It opened ."), ("It opened (see [1]).", "It opened ."),
    ("It opened ([Doc 2]).", "It opened ."), ("It opened ^[1]^.", "It opened ."),
    ("It opened (see Doc 1 for details).", "It opened ."),
    ("It opened.¹", "It opened."), ("It opened.^1", "It opened."),
    ("It opened<sup>1</sup>.", "It opened ."),
    ("It opened ([source](https://x.io)).", "It opened ."),
    ("It opened 😀 👍🏽", "It opened"), ("It opened :)", "It opened"),
])
def test_marks_are_overwritten(text: str, left: str) -> None:
    assert words(text) == left
    assert len(unmarked(text)) == len(text)


@pytest.mark.parametrize("text", [
    "In [1984] he wrote it", "2 * 3 * 4 and x < y > z", "snake_case_name, a_b", "i <3 you",
    "`` a quote '' and `another'",
    "7. It is one line.", "the (2019) film", "list[10001]", "C# and F#",
    "3. third\n1. first", "<the tower is tall>", "【1 the tower is tall】", "[the tower is tall]",
    "(source: the tower is tall)", "[1: the tower is tall]", "as in (1) and (2a)",
    "Reports that it fell are false.", "It says that [sic].", "10^6 rows of 5 m²", "x^2 and km²",
    "from 8:30 (or 9:00)", "Wi-Fi ✓, pool ✗",
])
def test_what_is_said_stays(text: str) -> None:
    assert unmarked(text) == text


def test_places_and_ends_of_line_stay() -> None:
    text = "a <b\n>c</b> [1] d"
    found = unmarked(text)
    assert [found[i] for i in (0, 4, 6, 16)] == ["a", "\n", "c", "d"]


def test_words_have_no_accents() -> None:
    assert word_tokens("Zürich, Łódź and Straße") == ["zurich", "łodz", "and", "straße"]
    assert known_words("Zürich.", "He is rich.") == 0.0
    assert known_words("Zürich.", "Zurich is in Switzerland.") == 1.0


def test_marks_are_no_words_or_numbers() -> None:
    assert known_words("It <b>opened</b> in 1889 [7].", "It opened in 1889.") == 1.0
    assert known_numbers("It <b>opened</b> in 1889 [7].", {"1889"}) == 1.0


THOUGHTS = [
    ("<think>It opened in 1901.\nOr not?</think>\n\nIt opened in 1889.", "It opened in 1889."),
    ("<thinking>a</thinking>It opened.", "It opened."),
    ("It is tall, so it opened in 1901.\n</think>\nIt opened in 1889.", "It opened in 1889."),
    ("<THINK>It opened in 1901. Then", ""),
    ("<think></think>It opened.", "It opened."),
    ("I think it opened. <b>It</b> did.", "I think it opened.    It     did."),
]


@pytest.mark.parametrize(("text", "answer"), THOUGHTS)
def test_thoughts_are_no_part_of_the_answer(text: str, answer: str) -> None:
    found = unmarked(text)
    assert len(found) == len(text)
    assert found.strip() == answer
    assert found.index(answer or " ") == (text.index(answer) if answer in text and answer else 0)
    assert has_claim(found) == bool(answer)


def test_fenced_code_is_overwritten_with_its_length_kept() -> None:
    text = "Run this:\n```python\nx = 4\n```\nIt prints 4.\n~~~\nan open block"
    bare = body(text)
    assert len(bare) == len(text)
    assert bare.split() == ["Run", "this:", "It", "prints", "4."]
    assert body("a `word` and ``two``") == "a `word` and ``two``"


def test_code_claims_nothing_but_words_about_it_do() -> None:
    code = "```\nx = 4\nprint(x)\n```"
    assert unclaimed(Example(code, "The program prints 5.")) == "no_claim"
    assert unclaimed(Example(f"{code}\nIt prints 4.", "The program prints 5.")) is None


FRAMED = [
    "Dear customer,\n\nIt opened in 1889.\n\nKind regards,\nJane\nAcme Inc.",
    "Hi Ann!\nIt opened in 1889.\nCheers,\nBob",
    "Dear Ms. Smith,\nIt opened in 1889.\nKind regards,\nDr. Eva Holm\nHead of Support",
    "Hello Prof. Okafor,\nIt opened in 1889.\nYours sincerely,\nMs. A. Smith",
    "It opened in 1889.\n\nBest wishes\nEva",
    "It opened in 1889.\n\n### References\n- [Policy](https://acme.com)\n- https://b.example",
    "It opened in 1889.[^1]\n\n[^1]: Annual report 2020",
    "It opened in 1889.\n\nCitations: [1], [2]",
    "It opened in 1889 (Source: a.pdf, p. 4).", "It opened in 1889 [Doc 1, p. 3].",
]


@pytest.mark.parametrize("text", FRAMED)
def test_what_stands_around_an_answer_is_overwritten(text: str) -> None:
    bare = unmarked(body(text))
    assert len(bare) == len(text)
    assert " ".join(bare.split()).replace(" .", ".") == "It opened in 1889."


@pytest.mark.parametrize("text", [
    "It is old.\nBest,\nthe tower is in Rome.",
    "It is old.\nReferences:\n- The tower is in Rome.",
    "Dear me, it is old.", "It is old (and in Rome).", "Dear all. It is old,\nand in Rome.",
])
def test_no_claim_hides_around_an_answer(text: str) -> None:
    assert unmarked(body(text)).split() == unmarked(text).split()
