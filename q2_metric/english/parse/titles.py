"""Joins each quoted title into one word. Otherwise the "I" in "I Want to Hold Your Hand" would be
taken for the speaker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from q2_metric.english.lexicon import SPEAKERS
from q2_metric.text.normalise import words

if TYPE_CHECKING:
    from spacy.tokens import Doc

MOST_WORDS = 10
"""Longer quoted text is speech, not a name."""

_CLOSING = {'"': '"', "“": "”", "«": "»"}
_SPEAKERS = SPEAKERS | words("i'm i'll you your")
_SPEECH = words(", : say says said ask asks asked tell told tells reply replied think thought "
                "answered shouted wrote")
_ENDS = words(", . ! ? ; : …")


def join_titles(doc: Doc) -> Doc:
    """Merges each title that contains a word for the speaker ("My Way"), in ``doc`` itself."""
    with doc.retokenize() as retokenizer:
        for first, last in _titles(doc):
            retokenizer.merge(doc[first:last])
    return doc


def _titles(doc: Doc) -> Iterator[tuple[int, int]]:
    opened = None
    for token in doc:
        if opened is None:
            if token.text in _CLOSING:
                opened = token
        elif token.text == _CLOSING[opened.text]:
            if _is_title(doc, opened.i + 1, token.i):
                yield opened.i + 1, token.i
            opened = None


def _is_title(doc: Doc, first: int, last: int) -> bool:
    inside = doc[first:last]
    if not 2 <= last - first <= MOST_WORDS or inside[-1].text in _ENDS:
        return False
    if _SPEAKERS.isdisjoint(token.lower_ for token in inside):
        return False
    if first > 1 and doc[first - 2].lower_ in _SPEECH:
        return False
    capitals = [token.text[0].isupper() for token in inside if token.is_alpha]
    if capitals and capitals[0] and capitals[-1]:
        return True
    # "I" and the first word of a sentence always have a capital.
    return not any(
        token.text[0].isupper() and token.lower_ != "i" and not token.is_sent_start and token.i
        for token in doc
    )
