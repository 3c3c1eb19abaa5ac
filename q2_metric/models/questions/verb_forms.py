"""The form of a verb, or of "do", that a question needs."""

from __future__ import annotations

import re

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
    text = verb.lower
    if verb.tag != "VBP" or verb.lemma == "be":
        return text
    if text in ("have", "'ve"):
        return "has"
    if re.search(r"(?:s|x|z|ch|sh|o)$", text):
        return text + "es"
    if re.search(r"[^aeiou]y$", text):
        return text[:-1] + "ies"
    return text + "s"


def base_form(verb: Word) -> str:
    """The verb after "do"."""
    return "have" if verb.lower == "'ve" else verb.lemma
