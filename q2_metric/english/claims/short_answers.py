"""Rules about yes/no questions and short answers. They need no model."""

import re
from typing import Literal

from q2_metric.text.sentences import split_sentences

LONGEST = 14
"""In words, of a short answer."""

YesNo = Literal["yes", "no"]

_PRONOUN = r"(?:it|he|she|they|there|that|this|you)"
_AUXILIARY = (
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|may)")
_SURELY = r"(?:of course|certainly|absolutely|definitely)"
_YES = re.compile(
    rf"(?:(?:yes|yeah|yep|yup|correct|true|indeed)(?:[,\s]+{_SURELY})?|{_SURELY})"
    rf"(?:[,\s]+{_PRONOUN} {_AUXILIARY})?[\s.!]*", re.IGNORECASE)
_NO = re.compile(
    rf"(?:(?:no|nope|nah|incorrect|false)(?:[,\s]+{_SURELY} not)?|{_SURELY} not)"
    rf"(?:[,\s]+{_PRONOUN} (?:{_AUXILIARY} ?(?:not|n['’]t)|can(?:not|['’]t)|won['’]t))?[\s.!]*",
    re.IGNORECASE)
_POLITE = re.compile(r"(?:and|so|but|ok|okay|then|hi|hello|please)\b[,\s]*", re.IGNORECASE)
_ASKS_FOR_YES = re.compile(
    rf"(?:{_AUXILIARY}|am)\s+(?!you\b|your\b|we\b|n['’]t)", re.IGNORECASE)
_ASKING = re.compile(
    r"(?:who|what|which|when|where|how|in (?:which|what)|is|are|was|were|does|do|did|has|can)\s",
    re.IGNORECASE)


def is_short(response: str) -> bool:
    return len(response.split()) <= LONGEST


def verdict_of(response: str) -> YesNo | None:
    """What a response says, if it says only "yes" or "no".

    >>> verdict_of("Yes, it does."), verdict_of("No."), verdict_of("Yes, on Sundays.")
    ('yes', 'no', None)
    """
    said = response.strip()
    return "yes" if _YES.fullmatch(said) else "no" if _NO.fullmatch(said) else None


def last_question(text: str) -> str:
    """The last sentence of a text if it is a question; otherwise "".

    >>> last_question("I like towers. And when was it built?")
    'when was it built?'
    """
    sentences = split_sentences(text)
    said = text[slice(*sentences[-1])] if sentences else ""
    while (opening := _POLITE.match(said)) is not None and opening.end() < len(said):
        said = said[opening.end() :]
    return said if said.endswith("?") or _ASKING.match(said) else ""


def decides(response: str, question: str | None) -> bool:
    """Whether a response only says "yes" or "no" to a yes/no question."""
    return bool(question and verdict_of(response)
                and _ASKS_FOR_YES.match(last_question(question)))
