"""Questions from the dependency parse, with no weights.

A span is taken out of its clause, and the clause is turned into a question about the gap::

    i ' m not sure , but i know it was created by matt groening .
                               [ it was created by GAP ]            the span's clause
    Who + was + it + created by                                     asked

The clause is the nearest one around the span, so that chit-chat around it ("i know that",
"i'm not sure, but") is never asked about. What the gap is decides the question word, and
where it is decides the order: a subject is replaced in place ("Who founded Ford?"),
anything else is asked for with the auxiliary, or with "do", before the subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from q2_metric.models.english.clauses import (
    Clause,
    Tree,
    Word,
    bits_of,
    clause_of,
    clause_verb,
    core,
    finite_word,
    is_aside,
    is_askable,
    is_finite_clause,
    is_plural,
    is_verb,
    named,
    spell,
)
from q2_metric.models.english.parser import Parser, default_parser
from q2_metric.models.english.vocabulary import (
    AGE,
    AGE_NUMBER,
    AGENT_VERBS,
    AUXILIARIES,
    BARE_TIME,
    COUNTED,
    CURRENCY,
    DROPPED_ADVERBS,
    DURATION,
    ERA,
    FREQUENCY,
    GENERIC,
    IDIOMS,
    LIGHT_NOUNS,
    LOCATIONS,
    LOCATIVE,
    LOOSE,
    NOT_ASKED,
    NOUN_TAGS,
    OLD_YEAR,
    PEOPLE,
    PLACES,
    SCALES,
    TIME_NOUNS,
    UNASKED,
    VAGUE,
    WORKS,
    YEAR,
)
from q2_metric.text.normalise import normalise
from q2_metric.types import Span

MAX_QUESTIONS = 5
"""Candidates for one span (as many as the papers' beam returns)."""

MAX_WORDS = 30
"""Longer questions are not asked: their parse is rarely right."""

# --- gaps ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gap:
    """What a question asks for.

    ``bits`` are the words that are taken out, ``wh`` is put first, with no inversion where
    ``subject`` is set. ``after`` is put last ("besides red"). With ``echo`` the question
    word takes the gap's place ("The symptoms of what are recurring?").
    """

    wh: str
    bits: int
    subject: bool = False
    after: str = ""
    echo: bool = False


def is_person(tree: Tree, root: Word, label: str) -> bool:
    """Whether the span is asked for with "who"."""
    if label:
        return label == "PERSON"
    if tree.child(root, ("nummod",)):
        return False  # "about 2 million people" is what a city has a population of
    return root.label == "PERSON" or root.lemma.lower() in PEOPLE


def plain_wh(tree: Tree, root: Word, label: str, text: str) -> str:
    """Who, what, when or how, where nothing but the span itself decides."""
    if is_person(tree, root, label):
        return "who"
    if AGE.search(text):
        return "how old"
    if label == "DATE" or (label in ("CARDINAL", "") and YEAR.match(text)):
        return "how long" if DURATION.search(text) and text[0].isdigit() else "when"
    if label == "TIME" and DURATION.search(text):
        return "how long"
    if "degrees" in text and label == "QUANTITY":
        return "what temperature"
    if label == "QUANTITY" and tree.words[root.head].lemma == "weigh":
        return "how much"
    if label == "MONEY" and CURRENCY.search(text):
        return "how much"
    if label == "LANGUAGE":
        return "what language"
    if label == "PERCENT":
        return "what percentage"
    if label in ("CARDINAL", "MONEY"):
        return "how many"
    return "what"


def phrase_bits(tree: Tree, noun: Word) -> int:
    """The words of a noun phrase, without clauses that are coordinated with it."""
    bits = tree.below[noun.i]
    for child in tree.children[noun.i]:
        if child.dep == "conj" and is_verb(child):
            bits &= ~tree.below[child.i]
    return bits


def top_of(tree: Tree, root: Word) -> Word:
    """The first member of the coordination that ``root`` belongs to."""
    while root.dep == "conj" and not is_verb(tree.words[root.head]):
        root = tree.words[root.head]
    return root


def besides(tree: Tree, root: Word) -> str:
    """ "besides X and Y", where the span is a member of a coordination, X and Y the others."""
    conjuncts = [top_of(tree, root)]
    while following := tree.child(conjuncts[-1], ("conj",)):
        conjuncts.append(following)
    others = [noun for noun in conjuncts if noun is not root]
    if not 1 <= len(others) <= 4 or len(others) == len(conjuncts):
        return ""
    if any(noun.tag not in NOUN_TAGS for noun in others):
        return ""
    article = tree.child(conjuncts[0], ("det",))
    texts = []
    for noun in others:
        members = tree.members(own_phrase(tree, noun))
        text = spell(tree, members)
        shares = article is not None and noun is not conjuncts[0] and noun.tag == "NN"
        if shares and article and not tree.child(noun, ("det", "poss")) and " " in text:
            text = f"{article.lower} {text}"
        texts.append(text)
    listed = " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)
    return f"besides {listed}"


def own_phrase(tree: Tree, noun: Word) -> int:
    """A coordinated noun's phrase without the nouns after it, and without asides."""
    bits = tree.below[noun.i]
    for child in tree.children[noun.i]:
        if child.dep in ("cc", "conj", "relcl", "acl", "appos", "preconj", "advmod") or (
            child.dep == "punct" and child.text == ","
        ):
            bits &= ~tree.below[child.i]
    return bits


def time_wh(preposition: str, text: str, span_is_date: bool) -> tuple[str, bool] | None:
    """The question word for a time after a preposition, and whether it replaces it."""
    if AGE.search(text):
        return ("at what age" if preposition == "at" else "how old"), True
    if preposition == "over" and DURATION.search(text):
        return "over what period of time", True
    if preposition in ("for", "throughout") and DURATION.search(text):
        return "how long", True
    if not span_is_date:
        return None
    if preposition in ("in", "within") and DURATION.search(text) and COUNTED.match(text):
        return "in how much time", True
    if preposition in BARE_TIME:
        return ("what", False) if preposition in ("after", "before") else ("when", True)
    if preposition == "from" and re.search(r"\b(?:to|until|till)\b", text):
        return "when", True
    if preposition in ("since", "until", "till", "by", "from"):
        return f"{preposition} when", True
    if preposition in ("through", "as", "between"):
        return "when", True
    return None


def prepositional_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """Gaps for the object of a preposition: when, where, or a stranded preposition."""
    preposition = tree.words[top.head]
    after = besides(tree, root)
    whole = tree.below[top.i]
    prep = preposition.lower
    holder = tree.words[preposition.head]
    around = tree.below[preposition.i]
    if holder.tag == "RB" and holder.lower in ("back", "early", "far", "late", "long", "recently"):
        around |= tree.below[holder.i]  # "as far back as 1272"
    if tree.words[preposition.i - 1].lower == "back":
        around |= 1 << (preposition.i - 1)
    date = label == "DATE" or (
        label in ("CARDINAL", "")
        and bool(YEAR.match(text) or ERA.match(text) or (prep == "in" and OLD_YEAR.match(text)))
    )
    when = not label and (root.lemma in TIME_NOUNS or root.lower in TIME_NOUNS)
    time = time_wh(prep, text, date or when)
    if date and prep == "of" and holder.lower == "as":
        yield Gap("when", tree.below[holder.i])
        return
    if time is not None:
        wh, replaces = time
        yield Gap(wh, around if replaces else whole)
        return
    if label == "TIME" and prep in BARE_TIME:
        yield Gap("what time" if prep == "at" else "when", around)
        return
    place = label in LOCATIONS or (not label and root.lemma.lower() in PLACES)
    if place and prep in LOCATIVE and holder.lower not in ("based", "interested"):
        inner = tree.child(root, ("appos", "npadvmod"))
        if inner is not None and inner.label in LOCATIONS and prep in ("in", "at"):
            yield Gap(f"where in {spell(tree, core(tree, inner))}", around)
        if prep == "from":
            yield Gap("where", whole, after=after)
        elif prep in ("on", "around", "across", "throughout") and not label:
            yield Gap("what", whole, after=after)
        else:
            yield Gap("where", around, after=after)
            if after:
                yield Gap("where", around)
        if label:
            return
    if is_example(tree, preposition) or holder.label in ("DATE", "ORDINAL"):
        return
    wh = plain_wh(tree, root, label, text)
    if preposition.dep == "agent" and holder.lemma in AGENT_VERBS and label != "NORP":
        wh = "who"
    existential = any(tree.child(word, ("expl",)) for word in tree.up(holder))
    if root.lemma == "people" and existential:
        return
    if wh in ("how many", "how much", "when", "how long"):
        wh = {"how many": "what number", "when": "what date"}.get(wh, wh)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(wh, whole)
    kept = kept_modifiers(tree, top)
    if kept:
        yield Gap(wh, whole & ~kept)


def is_example(tree: Tree, preposition: Word) -> bool:
    """ "such as", "like" or "including" after a noun."""
    before = tree.words[preposition.i - 1].lower if preposition.i else ""
    if preposition.lower == "as":
        return before == "such"
    noun = tree.words[preposition.head]
    return preposition.lower in ("like", "including") and noun.tag in ("NN", "NNS")


def kept_modifiers(tree: Tree, top: Word) -> int:
    """Prepositional phrases after a noun that make sense without it ("for collectors")."""
    bits = 0
    for child in tree.children[top.i]:
        if child.dep == "prep" and child.i > top.i and child.lower not in ("of", "like", "as"):
            bits |= tree.below[child.i]
    return bits


def modifier_gap(tree: Tree, root: Word, top: Word, label: str, text: str) -> Gap | None:
    """A gap for what modifies a noun, asked with the rest of the noun's phrase.

    "three types of guitar": how many types of guitar; "ford's cars": whose cars.
    """
    noun = tree.words[top.head]
    rest = tree.below[noun.i] & ~tree.below[top.i]
    for child in tree.children[noun.i]:
        before = child.dep in ("amod", "advmod") and child.i < top.i
        after = child.dep == "prep" and child.lower != "of"
        if before or after or child.dep in LOOSE | {"det", "predet"}:
            rest &= ~tree.below[child.i]
    for word in tree.members(rest):
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1:
            rest &= ~tree.below[word.i]
    members = tree.members(rest)
    if not members or noun not in members:
        return None
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | tree.below[top.i])
    determiners = bits_of(c for c in tree.children[noun.i] if c.dep in ("det", "predet"))
    gone = rest | tree.below[top.i] | determiners
    for child in tree.children[noun.i]:
        if child.dep in ("amod", "advmod") and child.i < top.i:
            gone |= tree.below[child.i]
        if child.dep in ("relcl", "acl", "appos", "conj", "cc", "preconj", "punct"):
            gone |= tree.below[child.i]
    if AGE.search(text):
        return None
    if label == "DATE":
        if not YEAR.match(text) or not phrase:
            return None
        return Gap(f"what year's {phrase}", gone)
    if any(child.lower == "top" for child in tree.children[noun.i]):
        return None  # "the top 5 places"
    if (
        top.dep == "nummod"
        and label in ("CARDINAL", "QUANTITY", "")
        and noun.tag in ("NNS", "NNPS")
    ):
        return Gap(f"how many {phrase}", gone)
    if label in ("MONEY", "PERCENT", "ORDINAL", "QUANTITY", "CARDINAL", "TIME"):
        return None
    if top.dep in ("amod", "compound", "nmod") and label and label != "PERSON":
        if noun.tag in ("NNP", "NNPS"):
            return None  # a part of a name
        if noun.lower in ("language", "country", "city", "state"):
            return Gap(f"what {phrase}", gone)
        return Gap(f"what kind of {phrase}", gone)
    return None


def gaps(
    tree: Tree, clause: Clause, members: Sequence[Word], root: Word, label: str
) -> Iterator[Gap]:
    """The ways to ask for the span ``members`` in its clause, best first."""
    text = spell(tree, members).lower()
    if tree.words[root.head].text in ("'s", "s") and root.dep in ("nummod", "compound", "amod"):
        root = tree.words[root.head]  # "the 1980" of "the 1980's"
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
    elif is_age(tree, clause, label, text) and top.dep in ("attr", "acomp", "dobj"):
        yield Gap("how old", tree.below[top.i])
    elif top.dep == "attr":
        yield from attribute_gaps(tree, clause, root, top, plain_wh(tree, root, label, text))
    elif top.dep in ("dobj", "dative", "oprd", "acomp"):
        yield from object_gaps(tree, members, root, top, label, text)


def with_part(tree: Tree, root: Word, wh: str) -> str:
    """ "how many of his opponents", where the span is the number alone."""
    part = tree.child(root, ("prep",))
    if wh in ("how many", "how much", "what percentage") and part and part.lower == "of":
        return f"{wh} {spell(tree, tree.members(tree.below[part.i]))}"
    return wh


def subject_gaps(tree: Tree, clause: Clause, root: Word, label: str, text: str) -> Iterator[Gap]:
    """Gaps for the subject of the clause."""
    wh = with_part(tree, root, plain_wh(tree, root, label, text))
    if wh == "when":
        wh = "what"
    elif label == "ORG" and wh == "what" and clause.verb.lemma in AGENT_VERBS:
        wh = "who"
    yield Gap(wh, clause.subject_bits, subject=True, after=besides(tree, root))
    if root.dep == "conj" or tree.child(root, ("conj",)):
        yield Gap(wh, clause.subject_bits, subject=True)


def modifier_gaps(
    tree: Tree, clause: Clause, root: Word, top: Word, label: str, text: str
) -> Iterator[Gap]:
    """Gaps for what modifies a noun, asked where the noun is."""
    noun = tree.words[top.head]
    if label == "NORP" and noun.dep == "attr" and about_person(tree, clause, noun):
        yield Gap("what nationality", phrase_bits(tree, noun))
    gap = modifier_gap(tree, root, top, label, text)
    if gap is None:
        return
    if clause.subject_bits >> root.i & 1:
        if noun.dep in ("nsubj", "nsubjpass") and noun.head == clause.verb.i:
            yield replace(gap, subject=True, bits=clause.subject_bits)
        return
    before = tree.words[noun.head]
    if noun.dep == "pobj" and before.head == clause.verb.i:
        gap = replace(gap, wh=f"{before.lower} {gap.wh}", bits=gap.bits | 1 << before.i)
    yield gap


def echo_gaps(tree: Tree, root: Word, top: Word, label: str, text: str) -> Iterator[Gap]:
    """Gaps inside the subject, which only an echo can ask for."""
    if tree.words[top.head].lower in ("of", "for", "in", "from", "by", "about"):
        wh = plain_wh(tree, root, label, text)
        wh = "whom" if wh == "who" else wh
        if wh in ("whom", "what"):
            yield Gap(wh, tree.below[top.i], echo=True)


def adverbial_gaps(
    tree: Tree, clause: Clause, root: Word, top: Word, label: str, text: str
) -> Iterator[Gap]:
    """Gaps for times and measures with no preposition: "last year", "6 feet tall"."""
    timed = label in ("DATE", "TIME")
    often = bool(FREQUENCY.search(text))
    holder = tree.words[top.head]
    if top.dep == "advmod":
        if timed:
            yield Gap("how often" if often else "when", tree.below[top.i])
    elif holder.lower in SCALES and holder.head == clause.verb.i:
        yield Gap(f"how {holder.lower}", tree.below[holder.i])
    elif holder.lower in ("ago", "later", "before", "after"):
        yield Gap("when", tree.below[holder.i])
    elif often:
        yield Gap("how often", tree.below[top.i])
    elif timed or YEAR.match(text) or ERA.match(text):
        wh = plain_wh(tree, root, label, text)
        yield Gap("how long" if wh == "how long" else "when", tree.below[top.i])


def object_gaps(
    tree: Tree, members: Sequence[Word], root: Word, top: Word, label: str, text: str
) -> Iterator[Gap]:
    """Gaps for the object of the verb, or what somebody is called."""
    wh = plain_wh(tree, root, label, text)
    whole = phrase_bits(tree, top)
    called = top.dep == "oprd"
    if wh == "when" or called:
        wh = "what"
    after = "" if called else besides(tree, root)
    if after:
        yield Gap(wh, whole, after=after)
    count = tree.child(root, ("nummod",))
    if count is not None and count.i < members[0].i and root.tag == "NNS":
        # Only a part of "122 Pulitzer prizes" is asked for: "What has it won 122 of?"
        yield Gap(wh, whole & ~tree.below[count.i], after="of")
    yield Gap(with_part(tree, root, wh), whole)
    kept = kept_modifiers(tree, top)
    if kept and not after:
        yield Gap(with_part(tree, root, wh), whole & ~kept)


def is_mislabelled(root: Word, label: str) -> bool:
    """Ordinals, and adjectives that are taken for names."""
    adjective = root.tag[:2] == "JJ" and label not in ("NORP", "DATE", "LANGUAGE", "")
    return label == "ORDINAL" or adjective


def is_age(tree: Tree, clause: Clause, label: str, text: str) -> bool:
    """Whether the span is the age of a person ("he was ten")."""
    numeral = label in ("DATE", "CARDINAL") and AGE_NUMBER.match(text) is not None
    return numeral and clause.verb.lemma in ("be", "'s") and about_person(tree, clause)


def is_torn(tree: Tree, members: Sequence[Word], root: Word) -> bool:
    """Whether an entity is a part of a phrase: "tales" of "fairy tales", "bc" of "400 bc"."""
    if any(child.lower == "new" and child.i < members[0].i for child in tree.children[root.i]):
        return True
    torn = "nummod" if root.lower in ("bc", "ad") else "compound"
    return any(child.dep == torn and child.i < members[0].i for child in tree.children[root.i])


def about_person(tree: Tree, clause: Clause, noun: Word | None = None) -> bool:
    """Whether the clause's subject is a person."""
    if clause.subject in ("he", "she", "I", "who"):
        return True
    subject = tree.child(clause.verb, ("nsubj",))
    return (
        subject is not None and (subject.label == "PERSON" or subject.lemma.lower() in PEOPLE)
    ) or (noun is not None and noun.lemma in PEOPLE and clause.subject not in ("it", "that"))


def attribute_gaps(tree: Tree, clause: Clause, root: Word, top: Word, wh: str) -> Iterator[Gap]:
    """Gaps for "it is SPAN"."""
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
    if wh == "who" and subject is not None and subject.lemma in WORKS:
        wh = "what"
    if wh == "how many":
        wh = "what"
    after = besides(tree, root)
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(wh, whole)


# --- questions -----------------------------------------------------------------------


def dropped(tree: Tree, clause: Clause, gap: Gap, full: bool) -> int:
    """The words of the clause that the question leaves out, beside the gap."""
    verb = clause.verb
    gone = 0
    for child in tree.children[verb.i]:
        below = tree.below[child.i]
        held = bool(below & gap.bits)
        adverb = child.dep in ("advmod", "npadvmod") and child.lower in DROPPED_ADVERBS
        if adverb and held:
            gone |= 1 << child.i
        elif (
            adverb
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
    gone |= other_conjuncts(tree, verb, gap)
    return gone


def is_left_out(clause: Clause, child: Word, full: bool) -> bool:
    """Whether a question about something else leaves out this dependent of the verb."""
    before = child.i < clause.verb.i
    if child.dep == "advcl":
        return before or not full
    if child.dep == "nsubj":
        return not clause.subject_bits >> child.i & 1
    return child.dep == "ccomp" and before


def other_conjuncts(tree: Tree, verb: Word, gap: Gap) -> int:
    """What is coordinated with a noun phrase that holds the gap.

    From "it results in illness and cirrhosis of GAP" only "it results in cirrhosis of GAP"
    can be asked.
    """
    inner = next((w for w in tree.members(gap.bits) if not gap.bits >> w.head & 1), None)
    gone = 0
    if inner is None:
        return gone
    for word in tree.up(tree.words[inner.head]):
        if word.i == verb.i:
            break
        for child in tree.children[word.i]:
            if child.dep in ("conj", "cc", "preconj") and not tree.below[child.i] & gap.bits:
                gone |= tree.below[child.i]
        if word.dep == "conj" and is_verb(word):
            first = tree.words[word.head]  # "to create and satisfy the customer"
            auxiliaries = bits_of(c for c in tree.children[first.i] if c.dep in AUXILIARIES)
            gone |= own_phrase(tree, first) & ~auxiliaries
            gone |= bits_of(c for c in tree.children[first.i] if c.dep == "cc")
        elif word.dep == "conj" and word.tag == "IN" and tree.words[word.head].tag != "IN":
            for first in tree.up(tree.words[word.head]):
                if first.lower == word.lower:  # "as a team of six or as a hero"
                    gone |= tree.below[first.i] & ~tree.below[word.i]
                    break
        elif word.dep == "conj":
            first = tree.words[word.head]
            gone |= own_phrase(tree, first) | bits_of(
                child for child in tree.children[first.i] if child.dep in ("cc", "punct")
            )
            article = tree.child(first, ("det",))
            if article is not None and tree.child(word, ("det", "poss")) is None:
                gone &= ~(1 << article.i)  # "the capital and largest city" share theirs
    return gone


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


_STUTTER = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
_LOOSE = re.compile(r"\s+([,;:])")
_ENDS = re.compile(r"^[\s,;:.\-–—]+|[\s,;:.!\-–—]+$")


def tidy(parts: Iterable[str]) -> str:
    """One line with a capital and a question mark, no stray commas, brackets or quotes."""
    text = " ".join(part for part in parts if part)
    text = re.sub(r"\(\s*\)|\"\s*\"", " ", text)
    if text.count('"') % 2:
        text = text.replace('"', "")
    if text.count("(") != text.count(")"):
        text = re.sub(r"[()]", "", text)
    text = re.sub(r"(?:\s*[,;:]\s*){2,}", ", ", text)
    text = text.replace(" can not ", " cannot ")
    text = _ENDS.sub("", _LOOSE.sub(r"\1", re.sub(r"\s+", " ", text)))
    return f"{text[:1].upper()}{text[1:]}?"


def ask(tree: Tree, clause: Clause, gap: Gap, full: bool) -> str | None:
    """The clause as a question about the gap."""
    verb = clause.verb
    inside = tree.below[verb.i] & ~gap.bits & ~clause.subject_bits & ~clause.auxiliary_bits
    inside &= ~dropped(tree, clause, gap, full)
    rest = tree.members(inside)
    edge = (clause.subject_bits.bit_length() - 1) if clause.subject_bits else -1
    if clause.subject_bits:
        start = (clause.subject_bits & -clause.subject_bits).bit_length() - 1
        edge = start
    before = [word for word in rest if word.i < edge]
    rest = [word for word in rest if word.i > edge]
    moved = (
        spell(tree, [w for w in before if w.dep != "punct"])
        if opens_well(tree, before, verb)
        else ""
    )
    if gap.echo:
        return echo_question(tree, clause, gap, rest)
    if gap.subject:
        return subject_question(tree, clause, gap, rest, moved)
    auxiliary = clause.auxiliary
    negated = [w for w in rest if w.dep == "neg" and w.head == verb.i]
    rest = [w for w in rest if w not in negated]
    if not auxiliary:
        form = do_form(verb, clause.plural, clause.subject)
        if form is None:
            return None
        auxiliary = form
        head = [w for w in rest if w.i < verb.i]
        tail = [w for w in rest if w.i > verb.i]
        body = [spell(tree, head), base_form(verb), spell(tree, tail)]
    else:
        body = [spell(tree, rest)]
    return tidy(
        [gap.wh, auxiliary, clause.subject, "not" if negated else "", *body, moved, gap.after]
    )


def base_form(verb: Word) -> str:
    """The verb after "do"."""
    return "have" if verb.lower == "'ve" else verb.lemma


def opens_well(tree: Tree, before: Sequence[Word], verb: Word) -> bool:
    """Whether what stands before the subject can follow the clause instead."""
    if not before:
        return False
    tops = [w for w in before if w.head == verb.i and w.dep != "punct"]
    return bool(tops) and all(w.dep in ("prep", "npadvmod") for w in tops)


def subject_question(
    tree: Tree, clause: Clause, gap: Gap, rest: list[Word], moved: str
) -> str | None:
    """ "Who founded Ford?": the subject is asked for where it stands."""
    verb = clause.verb
    parts: list[str] = []
    carried = gap.wh.startswith(("how many", "whose", "what kind", "what year's"))
    carrier = finite_word(tree, verb)
    if carrier is None:
        return None
    if clause.auxiliary:
        auxiliary = clause.auxiliary
        if not carried:
            auxiliary = {"have": "has", "do": "does", "am": "is"}.get(auxiliary, auxiliary)
            attribute = tree.child(verb, ("attr",))
            if attribute is None or not is_plural(tree, attribute):
                auxiliary = {"are": "is", "were": "was"}.get(auxiliary, auxiliary)
        parts.append(auxiliary)
        parts.append(spell(tree, rest))
    else:
        head = [w for w in rest if w.i < verb.i]
        tail = [w for w in rest if w.i > verb.i]
        parts += [
            spell(tree, head),
            verb.lower if carried else third_person(verb),
            spell(tree, tail),
        ]
    return tidy([gap.wh, *parts, moved, gap.after])


def echo_question(tree: Tree, clause: Clause, gap: Gap, rest: list[Word]) -> str | None:
    """ "The symptoms of what are recurring?", "What is Paris the capital of?"."""
    subject = tree.members(clause.subject_bits & ~gap.bits)
    place = (gap.bits & -gap.bits).bit_length() - 1
    before = [word for word in subject if word.i < place]
    after = [word for word in subject if word.i > place]
    attribute = tree.child(clause.verb, ("attr",))
    if attribute is not None and attribute.tag == "NNP" and clause.auxiliary and not after:
        return tidy([gap.wh, clause.auxiliary, spell(tree, rest), spell(tree, before)])
    finite = clause.auxiliary or ""
    return tidy([spell(tree, before), gap.wh, spell(tree, after), finite, spell(tree, rest)])


def direct_questions(tree: Tree, root: Word, label: str) -> Iterator[str]:
    """Questions that need no clause: for an example of a noun, or an apposition to one."""
    top = top_of(tree, root)
    head = tree.words[top.head]
    noun = tree.words[head.head]
    if top.dep == "pobj" and is_example(tree, head) and noun.tag == "NNS":
        bits = bits_of(core(tree, noun))
        for child in tree.children[noun.i]:
            if (
                child.dep in ("det", "predet")
                or child.lower in VAGUE
                or (child.dep == "prep" and child.lower != "of")
            ):
                bits &= ~tree.below[child.i]
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


def is_sound(question: str, span: str) -> bool:
    """Whether the question can be asked: it is short, says something, and hides its answer."""
    asked, answer = normalise(question), normalise(span)
    length = len(question.split())
    return (
        2 < length <= MAX_WORDS
        and f" {answer} " not in f" {asked} "
        and not _STUTTER.search(question)
    )


def has_complement(tree: Tree, noun: Word) -> bool:
    """Whether "of ..." follows the noun and belongs to it."""
    for child in tree.children[noun.i]:
        infinitive = child.dep == "acl" and tree.words[child.i - 1].lower == "to"
        if infinitive and noun.lemma in ("ability", "right", "attempt", "tendency", "need"):
            return True
        if child.dep == "appos" and child.i > noun.i and not is_aside(tree, child):
            return True  # 'the word "pizza"'
        if child.dep == "prep" and child.lower == "of":
            inner = tree.child(child, ("pobj",))
            return inner is None or inner.lemma not in ("time", "world", "day", "year")
    return False


def questions(tree: Tree, first: int, last: int, label: str, text: str) -> list[str]:
    """Candidate questions for the words [first, last) of the sentence, best first."""
    members = tree.words[first:last]
    inside = range(first, last)
    root = next((w for w in members if w.head not in inside or w.head == w.i), None)
    if (
        root is None
        or text.lower() in NOT_ASKED - ({"us"} if label else set())
        or root.tag in ("WP", "WDT", "EX", "WRB")
    ):
        return []
    cut = not label and members[0].goes_on
    cut |= last < len(tree.words) and tree.words[last].text == "-" and not members[-1].blank
    if "__" in text or cut or (last < len(tree.words) and tree.words[last].goes_on):
        return []  # an unknown word, or a piece of an entity
    idiom = root.dep == "pobj" and root.lemma in IDIOMS and not label and len(members) < 4
    if idiom and not (root.lower == "time" and "long" in text):
        return []
    light = root.lemma in LIGHT_NOUNS or root.dep != "attr"
    if not label and light and has_complement(tree, root):
        return []
    found = {q: None for q in direct_questions(tree, root, label) if is_sound(q, text)}
    verb = clause_verb(tree, root)
    clause = clause_of(tree, verb) if verb is not None else None
    if clause is None or not is_askable(tree, clause):
        return list(found)
    if not label and root.label not in ("CARDINAL", "ORDINAL"):
        label = root.label  # "the us" is where, as "us" is
    for full in (False, True):
        for gap in gaps(tree, clause, members, root, label):
            question = ask(tree, clause, gap, full)
            if question and is_sound(question, text):
                found.setdefault(question)
    return list(found)[:MAX_QUESTIONS]


class SyntacticQuestions:
    """Asks about spans by rearranging the clause around them; the bundled generator.

    Pronouns, and spans in questions, conditions or fragments, get no question.
    """

    name = "syntactic"
    decoding = "none"

    def __init__(self, parser: Parser | None = None) -> None:
        self.parser = parser or default_parser()

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        """Candidate questions for each span, the best first; may be empty."""
        parses = self.parser.parse(
            [span.example.response for span in spans], [span.example.knowledge for span in spans]
        )
        trees: dict[int, Tree] = {}
        results: list[list[str]] = []
        for span, parsed in zip(spans, parses, strict=True):
            found = parsed.tokens(span.start, span.start + len(span.text))
            if found is None:
                results.append([])
                continue
            sentence, tokens = found
            tree = trees.get(id(sentence))
            if tree is None:
                tree = trees[id(sentence)] = Tree(sentence.doc, sentence.raised)
            results.append(questions(tree, tokens.start, tokens.end, span.label, tokens.text))
        return results
