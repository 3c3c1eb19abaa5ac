"""The forms of verbs and of "do" that questions need."""

from __future__ import annotations

from q2_metric.english.parse.inflection import third
from q2_metric.english.parse.tree import Word


def do_form(verb: Word, plural: bool, subject: str) -> str | None:
    """``None`` for a verb form without a tense."""
    if verb.tag in ("VBD", "VBN"):
        return "did"
    if verb.tag == "VBZ":
        return "do" if plural and verb.dep == "relcl" else "does"
    if verb.tag == "VBP":
        return "do" if plural or subject.lower() in ("i", "you", "we", "they") else "does"
    return None


def third_person(verb: Word) -> str:
    """The form after "who" or "what": "have" → "has", "opened" → "opened"."""
    if verb.tag != "VBP" or verb.lemma == "be":
        return verb.lower
    return third("have" if verb.lower == "'ve" else verb.lower)


def base_form(verb: Word) -> str:
    """The form after "do": "opened" → "open"."""
    return "have" if verb.lower == "'ve" else verb.lemma
