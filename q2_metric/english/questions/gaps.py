"""Finds out how a question can ask for a span of a clause. ``root`` is the head of the span,
``top`` the first word of its coordination, ``label`` its entity type ("" for none), and ``text``
the span in lower case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from q2_metric.english.lexicon import AGENT_VERBS, FREQUENCY, SCALES, WORKS
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import spell
from q2_metric.english.parse.tree import Tree, Word
from q2_metric.english.questions.modifiers import modifier_gap
from q2_metric.english.questions.nouns import besides, kept_modifiers, phrase_bits, top_of
from q2_metric.english.questions.prepositions import prepositional_gaps
from q2_metric.english.questions.words import Gap, about_person, plain_wh, with_part


def gaps(
    tree: Tree, clause: Clause, members: Sequence[Word], root: Word, label: str
) -> Iterator[Gap]:
    """The ways in which a question can ask for the span ``members``, best first."""
    text = spell(tree, members).lower()
    top = top_of(tree, root)
    in_subject = bool(clause.subject_bits >> root.i & 1)
    if top.head == clause.verb.i and top.dep in ("nsubj", "nsubjpass"):
        yield from subject_gaps(tree, clause, root, label, text)
    elif top.dep in ("poss", "nummod", "amod", "compound", "nmod", "quantmod"):
        yield from modifier_gaps(tree, clause, root, top, label, text)
    elif is_torn(tree, members, root) or is_mislabelled(root, label):
        return
    elif top.dep == "pobj" and in_subject:
        yield from echo_gaps(tree, root, top, label, text)
    elif top.dep == "pobj":
        yield from prepositional_gaps(tree, root, top, label, text)
    elif in_subject:
        return
    elif top.dep in ("npadvmod", "advmod"):
        yield from adverbial_gaps(tree, clause, root, top, label, text)
    elif top.dep == "attr":
        yield from attribute_gaps(tree, clause, root, top, plain_wh(tree, root, label, text))
    elif top.dep in ("dobj", "dative", "oprd", "acomp"):
        yield from object_gaps(tree, root, top, label, text)


def subject_gaps(tree: Tree, clause: Clause, root: Word, label: str, text: str) -> Iterator[Gap]:
    """As in "Who founded Ford?"."""
    wh = with_part(tree, root, plain_wh(tree, root, label, text))
    if wh == "when":
        wh = "what"
    elif label == "ORG" and clause.verb.lemma in AGENT_VERBS:
        wh = "who"
    yield Gap(wh, clause.subject_bits, subject=True, after=besides(tree, root))
    if root.dep == "conj" or tree.child(root, ("conj",)):
        yield Gap(wh, clause.subject_bits, subject=True)


def modifier_gaps(
    tree: Tree, clause: Clause, root: Word, top: Word, label: str, text: str
) -> Iterator[Gap]:
    """As in "three types" → "how many types"."""
    noun = tree.words[top.head]
    if label == "NORP" and noun.dep == "attr" and about_person(tree, clause, noun):
        yield Gap("what nationality", phrase_bits(tree, noun))
    gap = modifier_gap(tree, top, label, text)
    if gap is None:
        return
    if clause.subject_bits >> root.i & 1:
        if noun.head == clause.verb.i:
            yield replace(gap, subject=True, bits=clause.subject_bits)
        return
    before = tree.words[noun.head]
    if noun.dep == "pobj" and before.head == clause.verb.i:
        gap = replace(gap, wh=f"{before.lower} {gap.wh}", bits=gap.bits | 1 << before.i)
    yield gap


def echo_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """As in "The symptoms of what are recurring?"."""
    if tree.words[top.head].lower in ("of", "for", "in", "from", "by", "about"):
        wh = plain_wh(tree, root, label, text)
        wh = "whom" if wh == "who" else wh
        if wh in ("whom", "what"):
            yield Gap(wh, tree.below[top.i], echo=True)


def adverbial_gaps(
    tree: Tree, clause: Clause, root: Word, top: Word, label: str, text: str
) -> Iterator[Gap]:
    """As in "last year" → "when"; "6 feet tall" → "how tall"."""
    timed = label in ("DATE", "TIME")
    often = bool(FREQUENCY.search(text))
    holder = tree.words[top.head]
    if top.dep == "advmod":
        if timed:
            yield Gap("how often" if often else "when", tree.below[top.i])
    elif holder.lower in SCALES and holder.head == clause.verb.i:
        yield Gap(f"how {holder.lower}", tree.below[holder.i])
    elif holder.lower in ("later", "before", "after"):
        yield Gap("when", tree.below[holder.i])
    elif often:
        yield Gap("how often", tree.below[top.i])
    elif timed:
        wh = plain_wh(tree, root, label, text)
        yield Gap("how long" if wh == "how long" else "when", tree.below[top.i])


def object_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """The object of the verb, or a name as in "they call him Bob"."""
    wh = plain_wh(tree, root, label, text)
    whole = phrase_bits(tree, top)
    called = top.dep == "oprd"
    if wh == "when" or called:
        wh = "what"
    after = "" if called else besides(tree, root)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(with_part(tree, root, wh), whole)
    kept = kept_modifiers(tree, top)
    if kept and not after:
        yield Gap(with_part(tree, root, wh), whole & ~kept)


def is_mislabelled(root: Word, label: str) -> bool:
    adjective = root.tag[:2] == "JJ" and label not in ("NORP", "DATE", "LANGUAGE", "")
    return label == "ORDINAL" or adjective


def is_torn(tree: Tree, members: Sequence[Word], root: Word) -> bool:
    """The span lacks its phrase's start: "tales" of "fairy tales", "bc" of "400 bc"."""
    torn = "nummod" if root.lower in ("bc", "ad") else "compound"
    return any(child.i < members[0].i and (child.lower == "new" or child.dep == torn)
               for child in tree.children[root.i])


def attribute_gaps(tree: Tree, clause: Clause, root: Word, top: Word, wh: str) -> Iterator[Gap]:
    """As in "it is a band" → "what"."""
    whole = phrase_bits(tree, top)
    if tree.child(clause.verb, ("expl",)):
        kept = kept_modifiers(tree, top)
        rest = [
            child
            for child in tree.children[clause.verb.i]
            if child.dep == "prep" or child.lower in ("worldwide", "today", "globally")
        ]
        if kept or rest:
            yield Gap(wh, whole & ~kept)
        return
    if about_person(tree, clause) and wh == "what":
        wh = "who" if clause.subject in ("he", "she") or clause.subject[:1].isupper() else wh
    elif wh == "who" and clause.subject in ("it", "that", "this"):
        wh = "what" if root.label != "PERSON" else "who"
    subject = tree.child(clause.verb, ("nsubj",))
    if wh == "how many" or (wh == "who" and subject is not None and subject.lemma in WORKS):
        wh = "what"
    after = besides(tree, root)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(wh, whole)
