"""What a question asks for, and the question word for a span (arguments as in ``gaps``)."""

import re
from dataclasses import dataclass

from q2_metric.english import lexicon
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import spell
from q2_metric.english.parse.tree import Tree, Word


@dataclass(frozen=True, slots=True)
class Gap:
    """The words of a clause that a question asks for (``bits``), and how: ``wh`` has the question
    words ("how many types"), ``after`` a text at the end ("besides red"). ``subject``: they are the
    subject, so that the word order stays. ``echo``: ``wh`` stands in their place ("The symptoms of
    what are recurring?")."""

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False


def plain_wh(tree: Tree, root: Word, label: str, text: str) -> str:
    """The question word that the span alone suggests."""
    # In "about 2 million people", the number is asked for.
    person = root.lemma.lower() in lexicon.PEOPLE and not tree.child(root, ("nummod",))
    if label == "PERSON" or (not label and person):
        return "who"
    if label == "DATE" or lexicon.YEAR.match(text):
        return "how long" if lexicon.DURATION.search(text) and text[0].isdigit() else "when"
    if label == "TIME" and lexicon.DURATION.search(text):
        return "how long"
    if label == "MONEY" and lexicon.CURRENCY.search(text):
        return "how much"
    if label == "PERCENT":
        return "what percentage"
    if label in ("CARDINAL", "MONEY"):
        return "how many"
    return "what"


def time_wh(preposition: str, text: str, span_is_date: bool) -> tuple[str, bool] | None:
    """The question word, and true if it replaces the preposition: "in 1990" → ("when", True),
    "after 1990" → ("what", False)."""
    if preposition in ("for", "throughout") and lexicon.DURATION.search(text):
        return "how long", True
    if not span_is_date:
        return None
    counted = lexicon.DURATION.search(text) and lexicon.COUNTED.match(text)
    if preposition in ("in", "within") and counted:
        return "in how much time", True
    if preposition in lexicon.BARE_TIME:
        return ("what", False) if preposition in ("after", "before") else ("when", True)
    if preposition in ("through", "as", "between") or (
            preposition == "from" and re.search(r"\b(?:to|until|till)\b", text)):
        return "when", True
    if preposition in ("since", "until", "till", "by", "from"):
        return f"{preposition} when", True
    return None


def with_part(tree: Tree, root: Word, wh: str) -> str:
    """As in "three of his opponents" → "how many of his opponents"."""
    part = tree.child(root, ("prep",))
    if wh in ("how many", "how much", "what percentage") and part and part.lower == "of":
        return f"{wh} {spell(tree, tree.members(tree.below[part.i]))}"
    return wh


def about_person(tree: Tree, clause: Clause, noun: Word | None = None) -> bool:
    """Whether the clause is about a person, or ``noun`` names a role of people."""
    if clause.subject in ("he", "she", "I"):
        return True
    subject = tree.child(clause.verb, ("nsubj",))
    if subject is not None and (
            subject.label == "PERSON" or subject.lemma.lower() in lexicon.PEOPLE):
        return True
    return noun is not None and noun.lemma in lexicon.PEOPLE
