"""Answers that say nothing or nothing sensible, by the name of the trick."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping

from q2_metric.types import Example

_GERMAN = "Der Fluss ist lang, und die Leute trinken dort gern einen heissen Kaffee."
_SPANISH = "La casa de mi hermana tiene un jardín pequeño con muchas flores amarillas."


def _random_letters(row: Example) -> str:
    draw = random.Random(row.response)
    words = ("".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 9)))
             for _ in range(12))
    return " ".join(words) + " ."


def _shuffled_words(row: Example) -> str:
    """Words of another text, in no order."""
    words = (_OTHER * 2).split()
    random.Random(row.response).shuffle(words)
    return " ".join(words[:12]) + " ."


_OTHER = (
    "a violin has four strings that are tuned in fifths while bakers let the dough rest over "
    "night and the ferry to the island leaves at noon unless the wind turns"
)

_UNTRAINED = (
    'both is take the is holds players as , pastels have is alps ( ( " murder bonds maghrebi one '
    "to of chainsmokers and"
)

TRICKS: Mapping[str, Callable[[Example], str]] = {
    "empty": lambda row: "",
    "blank": lambda row: " \n",
    "full stop": lambda row: ".",
    "colons": lambda row: ":::::",
    "one letter": lambda row: "a",
    "one function word": lambda row: "the",
    "lol": lambda row: "lol",
    "yes": lambda row: "yes .",
    "one word": lambda row: "banana",
    "repeated word": lambda row: "tower " * 20,
    "repeated function word": lambda row: "the " * 20,
    "two words": lambda row: "often popular often often often popular often often .",
    "thanks": lambda row: "thanks!",
    "praise": lambda row: "that's awesome! i love it !",
    "question": lambda row: "what do you think ?",
    "not sure": lambda row: "i do n't know , sorry .",
    "echo": lambda row: row.history[-1] if row.history else "",
    "untrained model": lambda row: _UNTRAINED,
    "random letters": _random_letters,
    "shuffled words": _shuffled_words,
    "other text": lambda row: _OTHER + " .",
    "German": lambda row: _GERMAN,
    "Spanish": lambda row: _SPANISH,
}

SILENT = (
    "empty", "blank", "full stop", "colons", "one letter", "one function word", "lol", "yes",
    "repeated word", "repeated function word", "two words",
    "thanks", "praise", "question", "not sure", "echo",
    "untrained model",
)
"""The tricks that claim nothing."""
