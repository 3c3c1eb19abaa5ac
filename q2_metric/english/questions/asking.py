"""Turns a clause into a question that asks for some of the clause's words."""

import re
from collections.abc import Iterable, Sequence

from q2_metric.english.lexicon import AUXILIARIES, DROPPED_ADVERBS, GENERIC, UNASKED
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import is_aside, own_phrase, spell, third
from q2_metric.english.parse.tree import Tree, Word, bits_of, first, is_plural, is_verb
from q2_metric.english.questions.gaps import Gap

_MARKS = re.compile(r"(?:(?<!\s)\s+)?[,;:](?:\s*[,;:])+\s*")


def tidy(parts: Iterable[str]) -> str:
    """Joins texts into one question, without stray commas, brackets and quotes."""
    text = " ".join(part for part in parts if part)
    text = re.sub(r"\(\s*\)|\"\s*\"", " ", text)
    if text.count('"') % 2:
        text = text.replace('"', "")
    if text.count("(") != text.count(")"):
        text = re.sub(r"[()]", "", text)
    text = _MARKS.sub(", ", text)
    text = text.replace(" can not ", " cannot ")
    text = re.sub(r" ([,;:])", r"\1", " ".join(text.split()))
    text = text.lstrip(" ,;:.-–—").rstrip(" ,;:.!-–—")
    return f"{text[:1].upper()}{text[1:]}?"


def ask(tree: Tree, clause: Clause, gap: Gap, full: bool) -> str | None:
    """If ``full``, the question keeps subordinate clauses and asides (:func:`dropped`)."""
    verb = clause.verb
    inside = tree.below[verb.i] & ~gap.bits & ~clause.subject_bits & ~clause.auxiliary_bits
    inside &= ~dropped(tree, clause, gap, full)
    rest = tree.members(inside)
    edge = first(clause.subject_bits)
    before = [word for word in rest if word.i < edge and word.dep != "punct"]
    rest = [word for word in rest if word.i > edge]
    # The words before the subject can move: "In 1962, Ann founded it" → "… in 1962?".
    tops = [word for word in before if word.head == verb.i]
    opens_well = tops and all(word.dep in ("prep", "npadvmod") for word in tops)
    moved = spell(tree, before) if opens_well else ""
    if gap.echo:
        return echo_question(tree, clause, gap, rest)
    if gap.subject:
        return subject_question(tree, clause, gap, rest, moved)
    negated = [w for w in rest if w.dep == "neg" and w.head == verb.i]
    rest = [w for w in rest if w not in negated]
    auxiliary = clause.auxiliary or do_form(verb, clause.plural, clause.subject)
    if auxiliary is None:
        return None
    body = [spell(tree, rest)] if clause.auxiliary else with_form(tree, rest, verb, base_form(verb))
    return tidy([gap.wh, auxiliary, clause.subject, "not" * bool(negated), *body, moved, gap.after])


def with_form(tree: Tree, rest: Sequence[Word], verb: Word, form: str) -> list[str]:
    """The texts before and after the verb, and between them this form of it."""
    return [spell(tree, [w for w in rest if w.i < verb.i]), form,
            spell(tree, [w for w in rest if w.i > verb.i])]


def subject_question(tree: Tree, clause: Clause, gap: Gap, rest: list[Word], moved: str) -> str:
    """As in "Who founded Ford?". ``moved`` stood before the subject, and comes at the end."""
    verb = clause.verb
    carried = gap.wh.startswith(("how many", "whose", "what kind", "what year's"))
    if clause.auxiliary:
        singular = {} if carried else {"have": "has", "do": "does", "am": "is"}
        attribute = tree.child(verb, ("attr",))
        if not carried and (attribute is None or not is_plural(tree, attribute)):
            singular |= {"are": "is", "were": "was"}
        parts = [singular.get(clause.auxiliary, clause.auxiliary), spell(tree, rest)]
    else:
        present = verb.tag == "VBP" and not carried
        form = third(base_form(verb)) if present else verb.lower
        parts = with_form(tree, rest, verb, form)
    return tidy([gap.wh, *parts, moved, gap.after])


def echo_question(tree: Tree, clause: Clause, gap: Gap, rest: list[Word]) -> str:
    """As in "The symptoms of what are recurring?"."""
    subject, place = tree.members(clause.subject_bits & ~gap.bits), first(gap.bits)
    before = spell(tree, [word for word in subject if word.i < place])
    after = spell(tree, [word for word in subject if word.i > place])
    attribute = tree.child(clause.verb, ("attr",))
    if attribute is not None and attribute.tag == "NNP" and not after:
        return tidy([gap.wh, clause.auxiliary, spell(tree, rest), before])
    return tidy([before, gap.wh, after, clause.auxiliary, spell(tree, rest)])


def do_form(verb: Word, plural: bool, subject: str) -> str | None:
    """``None`` for a verb form without a tense."""
    if verb.tag in ("VBD", "VBN"):
        return "did"
    if verb.tag == "VBZ":
        return "do" if plural and verb.dep == "relcl" else "does"
    if verb.tag == "VBP":
        return "do" if plural or subject.lower() == "i" else "does"
    return None


def base_form(verb: Word) -> str:
    """The form after "do": "opened" → "open"."""
    return "have" if verb.lower == "'ve" else verb.lemma


# --- the words of a clause that a question leaves out -----------------------------------------


def dropped(tree: Tree, clause: Clause, gap: Gap, full: bool) -> int:
    """If ``full``, adverbial clauses after the verb, relative clauses and asides stay."""
    verb = clause.verb
    gone = 0
    for child in tree.children[verb.i]:
        below = tree.below[child.i]
        held = bool(below & gap.bits)
        if ((child.dep in ("advmod", "npadvmod") and child.lower in DROPPED_ADVERBS)
                or child.dep in UNASKED or (child.dep == "punct" and child.text != "-")
                or (not held and is_left_out(clause, child, full))):
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
    for word in tree.up(tree.words[inner.head]) if inner else ():
        if word.i == verb.i:
            break
        gone |= tree.under(c for c in tree.children[word.i] if c.dep in ("conj", "cc", "preconj")
                           and not tree.below[c.i] & gap.bits)
        if word.dep != "conj":
            continue
        head = tree.words[word.head]
        beside = tree.children[head.i]
        gone |= own_phrase(tree, head) | bits_of(
            c for c in beside if c.dep == "cc" or (c.dep == "punct" and not is_verb(word)))
        if is_verb(word):  # "to create and satisfy the customer"
            gone &= ~bits_of(c for c in beside if c.dep in AUXILIARIES)
        elif tree.child(word, ("det", "poss")) is None:  # "the capital and largest city"
            gone &= ~bits_of([c for c in beside if c.dep == "det"][:1])
    return gone
