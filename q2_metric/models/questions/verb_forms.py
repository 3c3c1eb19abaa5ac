"""The form of a verb, or of "do", that a question needs."""

from __future__ import annotations

from q2_metric.models.english.inflection import third
from q2_metric.models.english.tree import Word


def do_form(verb: Word, plural: bool, subject: str) -> str | None:
    """The form of "do" that has the tense and number of the verb."""
    if verb.tag in ("VBD", "VBN"):
        return "did"
    if verb.tag == "VBZ":
        return "do" if plural and verb.dep == "relcl" else "does"
    if verb.tag == "VBP":
        return "do" if plural or subject.lower() in ("i", "you", "we", "they") else "does"
    return None


def third_person(verb: Word) -> str:
    """The form after "who" or "what" of a present-tense verb."""
    if verb.tag != "VBP" or verb.lemma == "be":
        return verb.lower
    return third("have" if verb.lower == "'ve" else verb.lower)


def base_form(verb: Word) -> str:
    """The verb after "do"."""
    return "have" if verb.lower == "'ve" else verb.lemma
