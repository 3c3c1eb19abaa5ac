"""Chooses the words of a clause that a question leaves out."""

from __future__ import annotations

from q2_metric.english.lexicon import AUXILIARIES, DROPPED_ADVERBS, GENERIC, UNASKED
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import is_aside
from q2_metric.english.parse.tree import Tree, Word, bits_of, is_verb
from q2_metric.english.questions.nouns import own_phrase
from q2_metric.english.questions.words import Gap


def dropped(tree: Tree, clause: Clause, gap: Gap, full: bool) -> int:
    """If ``full``, adverbial clauses after the verb, relative clauses and asides stay."""
    verb = clause.verb
    gone = 0
    for child in tree.children[verb.i]:
        below = tree.below[child.i]
        held = bool(below & gap.bits)
        if (
            (child.dep in ("advmod", "npadvmod") and child.lower in DROPPED_ADVERBS)
            or child.dep in UNASKED
            or (child.dep == "punct" and child.text != "-")
            or (not held and is_left_out(clause, child, full))
        ):
            gone |= below
    for word in tree.words:
        if tree.below[word.i] & (gap.bits | 1 << verb.i):
            continue
        needed = word.dep == "relcl" and tree.words[word.head].lower in GENERIC
        if (word.dep == "relcl" or is_aside(tree, word)) and not full and not needed:
            gone |= tree.below[word.i]
    return gone | other_conjuncts(tree, verb, gap)


def is_left_out(clause: Clause, child: Word, full: bool) -> bool:
    before = child.i < clause.verb.i
    if child.dep == "advcl":
        return before or not full
    if child.dep == "nsubj":
        return not clause.subject_bits >> child.i & 1
    return child.dep == "ccomp" and before


def other_conjuncts(tree: Tree, verb: Word, gap: Gap) -> int:
    """As "illness and" in "it results in illness and cirrhosis of the liver", for the question
    "What does it result in cirrhosis of?"."""
    inner = next((w for w in tree.members(gap.bits) if not gap.bits >> w.head & 1), None)
    gone = 0
    if inner is None:
        return gone
    for word in tree.up(tree.words[inner.head]):
        if word.i == verb.i:
            break
        gone |= tree.under(c for c in tree.children[word.i] if c.dep in ("conj", "cc", "preconj")
                           and not tree.below[c.i] & gap.bits)
        if word.dep == "conj" and is_verb(word):
            first = tree.words[word.head]  # "to create and satisfy the customer"
            auxiliaries = bits_of(c for c in tree.children[first.i] if c.dep in AUXILIARIES)
            gone |= own_phrase(tree, first) & ~auxiliaries
            gone |= bits_of(c for c in tree.children[first.i] if c.dep == "cc")
        elif word.dep == "conj":
            first = tree.words[word.head]
            gone |= own_phrase(tree, first) | bits_of(
                child for child in tree.children[first.i] if child.dep in ("cc", "punct")
            )
            article = tree.child(first, ("det",))
            if article is not None and tree.child(word, ("det", "poss")) is None:
                gone &= ~(1 << article.i)  # "the capital and largest city": both nouns share "the"
    return gone
