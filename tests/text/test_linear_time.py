"""The functions that read texts take time in proportion to the text, whatever the text is.

``test_patterns.py`` examines each pattern; this file also examines the loops around them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from growth import LIMIT, growth

from q2_metric.english.claims.checkable import has_claim
from q2_metric.english.claims.frames import ending, frame, presents
from q2_metric.english.claims.language import is_language
from q2_metric.english.claims.lists import items
from q2_metric.english.parse.repair import repair
from q2_metric.english.values.compare import follows, in_notation_of
from q2_metric.metrics.rules import ruling
from q2_metric.text.citations import cited, passages
from q2_metric.text.markup import laid_out, squeezed, unmarked
from q2_metric.text.overlap import known_words
from q2_metric.text.sentences import split_sentences
from q2_metric.text.tables import read_tables

CLAIM = "It cost 5 euros in 1999."
READERS: dict[str, Callable[[str], object]] = {
    "has_claim": has_claim,
    "is_language": is_language,
    "unmarked": unmarked,
    "laid_out": lambda text: squeezed(laid_out(text)),
    "repair": lambda text: repair(text.lower(), text),
    "split_sentences": split_sentences,
    "items": items,
    "read_tables": read_tables,
    "frame": lambda text: (frame(text), ending(text), presents(text)),
    "passages": passages,
    "cited": lambda text: cited(8 * text, split_sentences(8 * text)),
    "overlap": lambda text: known_words(text, CLAIM),
}
SLOW: dict[str, Callable[[str], object]] = {
    "in_notation_of": lambda text: (in_notation_of(text, CLAIM), in_notation_of(CLAIM, text)),
    "ruling": lambda text: (ruling(text, CLAIM), ruling(CLAIM, text)),
    "follows": lambda text: follows(text, text),
}
UNITS = (
    *"aA10.,;:!?…-–'’\"“()[]{}<>/\\|*_`#&$%+=@~é塔😀 \n\t",
    "a ", "A ", "1 ", "1,", "1.", "1-", " -", ". ", "a.b", "a. B", "u.s. ", "mr. ", "j . ", "a'b ",
    "n't ", "\n- a", "\n1. ", "a:\n", ":\n- a\n", "\n|", "|a|b|\n", "a,b\n", "a\tb\n", "--\n",
    "<a ", "<a b=c ", "</a>", "<!--", "<think>", "</think>", "<think", "<think>a</think> ", "**a ",
    "_a ", "`a ", "[a](", "[1,", "It is red [1]. ", "&amp;", "www.", "a@", "://", "<3",
    "so ", "yes, ", "i know that ", "it is not said in the text ", "is not said in ", "and ",
    "aB", "ab ", "a-1", "one ", "hundred ", "million ", "5 km ", "$5 ", "10% ",
    "3 May 1999 ", "in 1999 ", "at 5 pm ",
    "It cost 5 euros in 1999. ", "Anna Adler, ", "5 of 6 ", "from 5 to 6 ", "a is bigger than b, ",
    "The price of a is 5.\n", '{"a": ', '"a": 1, ', "half a ", "1 . 5 ", "1,000", "1 000 ",
)


@pytest.mark.parametrize("reader", [
    *READERS.values(), *(pytest.param(reader, marks=pytest.mark.slow) for reader in SLOW.values())
], ids=[*READERS, *SLOW])
def test_time_grows_with_the_text(reader: Callable[[str], object]) -> None:
    for unit in UNITS:
        factor = growth(reader, lambda size, unit=unit: unit * (size // len(unit)) + "a")  # type: ignore[misc]
        assert factor < LIMIT, f"{unit!r}, again and again"
