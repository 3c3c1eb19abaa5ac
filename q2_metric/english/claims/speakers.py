"""Tells facts from opinions and from what speakers say about themselves."""

from __future__ import annotations

from collections.abc import Sequence

from q2_metric.english.claims.checkable import is_content
from q2_metric.english.lexicon import LIKING, LINKING, OPINIONS, POINTING, SPEAKERS
from q2_metric.english.parse.clauses import finite_clause
from q2_metric.english.parse.tree import Tree, Word
from q2_metric.english.parse.verbs import subject_of


def is_personal(tree: Tree, head: Word, *, coordinated: bool) -> bool:
    """As in "i love it", "my cat is old". If ``coordinated``, the verb may share a subject."""
    subject = subject_of(tree, head)
    if subject is None and coordinated and (clause := finite_clause(tree, head)):
        return clause.subject.lower() in SPEAKERS
    return subject is not None and bool(
        {word.lower for word in (subject, *tree.children[subject.i])} & SPEAKERS)


def is_liking(tree: Tree, word: Word) -> bool:
    """As in ", which I really like"."""
    subject = subject_of(tree, word) if word.lemma in LIKING and word.dep == "relcl" else None
    return subject is not None and subject.lower in SPEAKERS


def is_opinion(tree: Tree, verb: Word, words: Sequence[Word]) -> bool:
    """As in "that cat is so funny": only an opinion of something named before."""
    subject = subject_of(tree, verb)
    if verb.lemma not in LINKING or subject is None or any(word.tag == "MD" for word in words):
        return False
    pointing = {subject.lower, *(child.lower for child in tree.children[subject.i])}
    if pointing.isdisjoint(POINTING):
        return False  # "the reviews are terrible" can be checked
    said = [word.lower for word in words
            if not tree.below[subject.i] >> word.i & 1 and word.text.isalnum()]
    return (not OPINIONS.isdisjoint(said)
            and not any(is_content(word) and word not in OPINIONS for word in said))
