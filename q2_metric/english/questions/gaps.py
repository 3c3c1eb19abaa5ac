"""Finds out how a question can ask for a span of a clause. ``root`` is the head of the span,
``top`` the first word of its coordination, ``label`` its entity type ("" for none), and ``text``
the span in lower case."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from q2_metric.english import lexicon
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import (
    besides,
    core,
    kept_modifiers,
    phrase_bits,
    spell,
    top_of,
)
from q2_metric.english.parse.tree import Tree, Word

AMOUNTS = frozenset(("MONEY", "PERCENT", "ORDINAL", "QUANTITY", "CARDINAL", "TIME"))
AROUND = lexicon.LOOSE | {"det", "predet"}
"""Dependencies on a noun that the phrase in a question for a modifier of the noun leaves out."""


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


def with_and_without(others: str, gap: Gap) -> list[Gap]:
    """``others`` is such as "besides red", or "" if nothing is coordinated with the span."""
    return [replace(gap, after=others), gap] if others else [gap]


def subject_gaps(tree: Tree, clause: Clause, root: Word, label: str, text: str) -> Iterator[Gap]:
    """As in "Who founded Ford?"."""
    wh = with_part(tree, root, plain_wh(tree, root, label, text))
    if wh == "when":
        wh = "what"
    elif label == "ORG" and clause.verb.lemma in lexicon.AGENT_VERBS:
        wh = "who"
    yield from with_and_without(besides(tree, root), Gap(wh, clause.subject_bits, subject=True))


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
    often = bool(lexicon.FREQUENCY.search(text))
    holder = tree.words[top.head]
    if top.dep == "advmod":
        if timed:
            yield Gap("how often" if often else "when", tree.below[top.i])
    elif holder.lower in lexicon.SCALES and holder.head == clause.verb.i:
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
    if wh == "how many" or (wh == "who" and subject is not None and subject.lemma in lexicon.WORKS):
        wh = "what"
    yield from with_and_without(besides(tree, root), Gap(wh, whole))


# --- modifiers: "three types of guitar" → "how many types of guitar" --------------------------


def modifier_gap(tree: Tree, top: Word, label: str, text: str) -> Gap | None:
    """As in "ford's cars" → "whose cars"."""
    noun = tree.words[top.head]
    around = [child for child in tree.children[noun.i] if child.dep in AROUND
              or (child.dep in ("amod", "advmod") and child.i < top.i)]
    rest = _repeated(tree, noun, tree.under([top, *around]))
    members = tree.members(rest)
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | tree.below[top.i])
    # "three more types than you know": the comparison stays in the question.
    gone = rest | tree.under([top, *(c for c in around if c.dep not in ("advcl", "intj"))])
    if label == "ORDINAL" and noun.tag == "NN" and noun.lemma not in (
            lexicon.IDIOMS | lexicon.LIGHT_NOUNS):
        bare = [word for word in members if word.dep != "poss" and word.text != "'s"]
        return Gap(f"what number {spell(tree, bare)}", gone)
    if label == "DATE":
        return Gap(f"what year's {phrase}", gone) if lexicon.YEAR.match(text) else None
    asked = _asked(noun, top, label)
    return Gap(f"{asked} {phrase}", gone) if asked else None


def _repeated(tree: Tree, noun: Word, gone: int) -> int:
    rest = tree.below[noun.i] & ~gone & ~tree.under(
        child for child in tree.children[noun.i] if child.dep == "prep" and child.lower != "of")
    return rest & ~tree.under(
        word for word in tree.members(rest)
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1)


def _asked(noun: Word, top: Word, label: str) -> str:
    """Such as "how many"; "" if there are none."""
    if top.dep == "nummod" and label in ("CARDINAL", "QUANTITY") and noun.tag in ("NNS", "NNPS"):
        return "how many"
    if label in AMOUNTS or label == "PERSON" or noun.tag in ("NNP", "NNPS"):
        return ""  # a modifier of a proper noun is part of the name
    if top.dep not in ("amod", "compound", "nmod"):
        return ""
    return "what" if noun.lower in ("language", "country", "city", "state") else "what kind of"


# --- objects of prepositions ------------------------------------------------------------------


def prepositional_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """Yields the ways to ask when or where, or who or what with the preposition, best first."""
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    around = _place_around(tree, preposition, holder)
    if time := _time_gap(tree, root, top, around, label, text):
        yield time
        return
    place = label in lexicon.LOCATIONS or (not label and root.lemma.lower() in lexicon.PLACES)
    if place and preposition.lower in lexicon.LOCATIVE and holder.lower != "based":
        yield from _place_gaps(tree, root, top, around, label)
        if label:
            return
    if is_example(tree, preposition) or holder.label in ("DATE", "ORDINAL"):
        return
    yield from _with_preposition(tree, root, top, label, text)


def is_example(tree: Tree, preposition: Word) -> bool:
    """Whether it is "such as", "like" or "including" after a noun."""
    before = tree.words[preposition.i - 1].lower if preposition.i else ""
    if preposition.lower == "as":
        return before == "such"
    noun = tree.words[preposition.head]
    return preposition.lower in ("like", "including") and noun.tag in ("NN", "NNS")


def _place_around(tree: Tree, preposition: Word, holder: Word) -> int:
    around = tree.below[preposition.i]
    if holder.tag == "RB" and holder.lower in ("back", "early", "far", "late", "long", "recently"):
        around |= tree.below[holder.i]  # "as far back as 1272"
    if preposition.i and tree.words[preposition.i - 1].lower == "back":
        around |= 1 << (preposition.i - 1)
    return around


def _time_gap(tree: Tree, root: Word, top: Word, around: int, label: str, text: str) -> Gap | None:
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    prep = preposition.lower
    date = label == "DATE" or (
        label in ("CARDINAL", "")
        and bool(lexicon.YEAR.match(text) or (prep == "in" and lexicon.OLD_YEAR.match(text)))
    )
    when = not label and (root.lemma in lexicon.TIME_NOUNS or root.lower in lexicon.TIME_NOUNS)
    time = time_wh(prep, text, date or when)
    if prep == "of" and holder.lower == "as":
        return Gap("when", tree.below[holder.i])
    if time is not None:
        wh, replaces = time
        return Gap(wh, around if replaces else tree.below[top.i])
    if label == "TIME" and prep in lexicon.BARE_TIME:
        return Gap("what time" if prep == "at" else "when", around)
    return None


def _place_gaps(tree: Tree, root: Word, top: Word, around: int, label: str) -> Iterator[Gap]:
    prep, whole, after = tree.words[top.head].lower, tree.below[top.i], besides(tree, root)
    inner = tree.child(root, ("appos", "npadvmod"))
    if inner is not None and inner.label in lexicon.LOCATIONS and prep in ("in", "at"):
        yield Gap(f"where in {spell(tree, core(tree, inner))}", around)
    if prep == "from":
        yield Gap("where", whole, after=after)
    elif prep in ("on", "around", "across", "throughout") and not label:
        yield Gap("what", whole, after=after)
    else:
        yield from with_and_without(after, Gap("where", around))


def _with_preposition(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """As in "What is it made of?"."""
    preposition = tree.words[top.head]
    holder = tree.words[preposition.head]
    whole = tree.below[top.i]
    wh = plain_wh(tree, root, label, text)
    if preposition.dep == "agent" and holder.lemma in lexicon.AGENT_VERBS:
        wh = "who"
    wh = {"how many": "what number", "when": "what date"}.get(wh, wh)
    yield from with_and_without(besides(tree, root), Gap(wh, whole))
    if kept := kept_modifiers(tree, top):
        yield Gap(wh, whole & ~kept)
