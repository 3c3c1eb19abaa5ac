"""Decides by a claim's values whether a sentence supports it, without an entailment model."""

import re
from collections.abc import Sequence

from q2_metric.english.lexicon import MONTHS
from q2_metric.english.values.compare import ASIDE, compare_values
from q2_metric.english.values.find import values_in, without_values
from q2_metric.english.values.value import Kind, Value
from q2_metric.text.alignment import stem
from q2_metric.text.overlap import content_words

_OPEN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|barely|scarcely|rarely"
    r"|cannot|may|might|could|would|should|if|unless|whether|perhaps|maybe|possibly|allegedly"
    r"|supposedly|reportedly|probably|fail\w*|refus\w*|den(?:y|ie[sd])|doubt\w*|disput\w*|reject\w*"
    r"|false\w*|untrue|wrong\w*|incorrect\w*|myth|hoax|plan(?:s|ned|ning)?|hop(?:e|ed|es|ing)"
    r"|intend\w*|expect\w*|aim\w*|propos\w*|claim\w*|only|except|until|instead|former\w*|rather"
    r"|other|another|respectively|half|than)\b|n['’]t\b|\?", re.IGNORECASE)
"""Words that can change what a sentence says. Such texts are left to the entailment model."""
_FUTURE = re.compile(r"\b(?:will|shall|going to)\b|['’]ll\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|\w+ed)\b", re.IGNORECASE)
_DATING = re.compile(r"(?:\b(?:in|of|since|from|by|until|till|during|before|after|to|and|year|early"
                     rf"|late|mid|summer|winter|spring|autumn|fall|{MONTHS})|[-–(,/])[ ]?$",
                     re.IGNORECASE)
"""Words and signs that can stand directly before a year."""
_NEAR = 24
"""Characters before a year in which such a word is looked for."""


_Token = str | Value
"""The stem of a content word, or a value."""


def follows(claim: str, sentence: str) -> bool:
    """Whether a sentence contains the claim's content words in the same order, and its values in
    any notation.

    False if one of the texts denies something or leaves it open, if only the claim is about the
    future, or if the sentence is and the claim is about the past.

    >>> follows("The trail is about 42 kilometres long.", "The trail is 41.9 km long.")
    True
    >>> follows("A bunk costs €120.", "A cabin costs 120 euros and a bunk costs 45 euros.")
    False
    """
    if _OPEN.search(without_values(claim)) or _OPEN.search(without_values(sentence)):
        return False
    if _FUTURE.search(claim) and not _FUTURE.search(sentence):
        return False
    if _FUTURE.search(sentence) and _PAST.search(claim):
        return False
    own, known = _tokens(claim), _tokens(sentence)
    values = [token for token in own if isinstance(token, Value)]
    if not values or len(values) == len(own):
        return False
    kinds = {value.kind for value in values}
    if "code" in kinds or any(_may_count(claim, value) for value in values):
        return False
    of_kinds = [token for token in known if isinstance(token, Value) and token.kind in kinds]
    if len(of_kinds) == len(values):  # only this value can be meant
        return (_in_order([t for t in own if isinstance(t, str)],
                          [t for t in known if isinstance(t, str)])
                and _in_order(values, of_kinds))
    return any(_matches(own, known[first:], kinds) for first in range(len(known)))


def _may_count(text: str, value: Value) -> bool:
    """As in "1968 rooms", where the number was read as a year."""
    return value.unit == "year" and not _DATING.search(
        text[max(0, value.start - _NEAR) : value.start])


def _in_order(own: Sequence[_Token], known: Sequence[_Token]) -> bool:
    rest = iter(known)
    return all(any(_same(token, other) for other in rest) for token in own)


def _matches(own: Sequence[_Token], known: Sequence[_Token], kinds: set[Kind]) -> bool:
    """From the first token of ``known`` on, without another value of these ``kinds`` in between."""
    at = 0
    for other in known:
        if at < len(own) and _same(own[at], other):
            at += 1
            if at == len(own):
                return True
        elif not at or (isinstance(other, Value) and other.kind in kinds):
            return False
    return False


def _same(token: _Token, other: _Token) -> bool:
    if isinstance(token, Value) and isinstance(other, Value):
        return compare_values(token, other) is True
    return token == other


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    done = 0
    for value in values_in(text):
        found += [*_words(text[done : value.start]), value]
        done = value.end
    return found + _words(text[done:])


def _words(text: str) -> list[str]:
    return [stem(word) for word in content_words(text) if word not in ASIDE]
