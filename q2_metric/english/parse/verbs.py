"""Finds the verbs that form a clause, their subjects and the words that carry their tense."""

from __future__ import annotations

from q2_metric.english.lexicon import AUXILIARIES, FINITE, SUBJECTS
from q2_metric.english.parse.tree import Tree, Word, first, is_verb


def finite_word(tree: Tree, verb: Word) -> Word | None:
    """The first finite auxiliary, or the verb itself; ``None`` without a tense, as in "to open"."""
    subject = tree.child(verb, SUBJECTS)
    for child in tree.children[verb.i]:
        # An auxiliary before the subject is part of a short answer: "yes i do , peta is ...".
        astray = subject is not None and child.i < subject.i < verb.i and not tree.asks
        if child.dep in AUXILIARIES and child.tag in FINITE and not astray:
            return child
    if verb.tag in FINITE or verb.tag == "VBN":
        return verb
    return None


def subject_of(tree: Tree, verb: Word) -> Word | None:
    """In "i can't believe scream was released", the parser reads "scream" as the object of
    "believe"; it is still the subject of "released"."""
    subject = tree.child(verb, ("nsubj", "nsubjpass", "expl", "csubj"))
    if subject is not None or verb.dep != "ccomp" or not tree.child(verb, AUXILIARIES):
        return subject
    before = tree.words[first(tree.below[verb.i]) - 1]
    return before if before.dep == "dobj" and before.head == verb.head else None


def is_finite_clause(tree: Tree, verb: Word) -> bool:
    """Whether ``verb`` has a tense and a subject, perhaps those of a coordinated verb before it."""
    if not is_verb(verb):
        return False
    if any(child.lower == "to" and child.dep == "aux" for child in tree.children[verb.i]):
        return False
    first = first_of(tree, verb)
    return subject_of(tree, first) is not None and finite_word(tree, first) is not None


def first_of(tree: Tree, verb: Word) -> Word:
    """In "it has rooms and allows pets", the result for "allows" is "has". Else it is ``verb``."""
    while (verb.dep == "conj" and is_verb(tree.words[verb.head])
           and subject_of(tree, verb) is None):
        verb = tree.words[verb.head]
    return verb


def is_participle_clause(tree: Tree, verb: Word) -> bool:
    """As in "a sitcom created by …"."""
    return (
        verb.dep == "acl"
        and verb.tag in ("VBN", "VBD", "VBG")
        and not any(child.lower == "to" for child in tree.children[verb.i])
    )


def clause_verb(tree: Tree, word: Word) -> Word | None:
    return next((above for above in tree.up(word) if above is not word and (
        is_finite_clause(tree, above) or is_participle_clause(tree, above))), None)
