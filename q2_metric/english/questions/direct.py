"""Writes questions whose answer is a comparative, an example of a noun or an apposition."""

from __future__ import annotations

from collections.abc import Iterator

from q2_metric.english.lexicon import LOCATIONS, NOUN_TAGS, VAGUE
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import core, named, spell
from q2_metric.english.parse.tree import Tree, Word, bits_of, is_plural
from q2_metric.english.parse.verbs import finite_word, is_finite_clause
from q2_metric.english.questions.asking import tidy
from q2_metric.english.questions.nouns import is_example, own_phrase, top_of
from q2_metric.english.questions.words import is_person


def comparing_question(tree: Tree, clause: Clause, root: Word) -> str | None:
    """As in "Alaska is bigger than Texas" → "How does Alaska compare to Texas?"."""
    than = next((c for c in tree.children[root.i] if c.dep == "prep" and c.lower == "than"), None)
    other = tree.child(than, ("pobj",)) if than is not None else None
    if root.dep != "acomp" or root.head != clause.verb.i or other is None or not clause.subject:
        return None
    past = clause.auxiliary in ("was", "were")
    do = "did" if past else "do" if clause.auxiliary in ("are", "am") else "does"
    compared = spell(tree, tree.members(own_phrase(tree, other)))
    return tidy(["how", do, clause.subject, "compare to", compared])


def direct_questions(tree: Tree, root: Word, label: str) -> Iterator[str]:
    """As in "What is an example of small countries?"."""
    top = top_of(tree, root)
    head = tree.words[top.head]
    noun = tree.words[head.head]
    if top.dep == "pobj" and is_example(tree, head) and noun.tag == "NNS":
        bits = bits_of(core(tree, noun)) & ~tree.under(
            child for child in tree.children[noun.i] if child.dep in ("det", "predet")
            or child.lower in VAGUE or (child.dep == "prep" and child.lower != "of"))
        bits &= ~bits_of(word for word in tree.members(bits) if word.lower == "such")
        if bits & (bits - 1):  # "an example of countries" says too little
            yield tidy(["what is an example of", spell(tree, tree.members(bits))])
    if top is root and root.dep == "appos" and not tree.child(root, ("conj",)):
        if head.tag not in NOUN_TAGS or (head.label in LOCATIONS and label) or head.dep == "appos":
            return
        verb = next((w for w in tree.up(head) if is_finite_clause(tree, w)), None)
        carrier = finite_word(tree, verb) if verb is not None else None
        past = carrier is not None and carrier.tag == "VBD"
        plural = is_plural(tree, head)
        be = ("were" if plural else "was") if past else ("are" if plural else "is")
        person = is_person(tree, head, head.label) or is_person(tree, root, label)
        yield tidy(["who" if person else "what", be, named(tree, head, tree.below[root.i])])
