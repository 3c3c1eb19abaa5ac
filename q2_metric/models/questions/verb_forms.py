"""The forms of verbs and of "do" that questions need."""

from __future__ import annotations

from q2_metric.models.english.inflection import third
from q2_metric.models.english.tree import Word


def do_form(verb: Word, plural: bool, subject: str) -> str | None:
    """The form "did", "does" or "do"; ``None`` for a verb form without a tense."""
    if verb.tag in ("VBD", "VBN"):
        return "did"
    if verb.tag == "VBZ":
        return "do" if plural and verb.dep == "relcl" else "does"
    if verb.tag == "VBP":
        return "do" if plural or subject.lower() in ("i", "you", "we", "they") else "does"
    return None


def third_person(verb: Word) -> str:
    """The form of a verb after the subject "who" or "what": "have" → "has", "opened" → "opened"."""
    if verb.tag != "VBP" or verb.lemma == "be":
        return verb.lower
    return third("have" if verb.lower == "'ve" else verb.lower)


def base_form(verb: Word) -> str:
    """The form of a verb after "do": "opened" → "open"."""
    return "have" if verb.lower == "'ve" else verb.lemma
