"""Finds out how a question can ask for a span of a clause."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from q2_metric.english import lexicon
from q2_metric.english.parse import phrases
from q2_metric.english.parse.clauses import Clause
from q2_metric.english.parse.phrases import kept_modifiers, phrase_bits, spell
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

    def with_and_without(self, others: str) -> "list[Gap]":
        """``others`` is such as "besides red", or "" if nothing is coordinated with the span."""
        return [replace(self, after=others), self] if others else [self]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A span. ``root`` is its head, ``top`` the first word of its coordination, ``above`` the word
    on which this depends, ``holder`` the next one. ``label`` is the span's entity type ("" for
    none), and ``text`` the span in lower case."""

    tree: Tree
    clause: Clause
    root: Word
    top: Word
    label: str
    text: str

    @property
    def above(self) -> Word:
        return self.tree.words[self.top.head]

    @property
    def holder(self) -> Word:
        return self.tree.words[self.above.head]

    @property
    def whole(self) -> int:
        return self.tree.below[self.top.i]

    @property
    def others(self) -> str:
        return phrases.besides(self.tree, self.root)

    @property
    def wh(self) -> str:
        """The question word that the span alone suggests."""
        label, text = self.label, self.text
        # In "about 2 million people", the number is asked for.
        person = self.root.lemma.lower() in lexicon.PEOPLE and not self.tree.child(
            self.root, ("nummod",))
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
        return "how many" if label in ("CARDINAL", "MONEY") else "what"

    def with_part(self, wh: str) -> str:
        """As in "three of his opponents" → "how many of his opponents"."""
        part = self.tree.child(self.root, ("prep",))
        if wh in ("how many", "how much", "what percentage") and part and part.lower == "of":
            return f"{wh} {spell(self.tree, self.tree.members(self.tree.below[part.i]))}"
        return wh

    def is_about_person(self) -> bool:
        subject = self.tree.child(self.clause.verb, ("nsubj",))
        return self.clause.subject in ("he", "she", "I") or (subject is not None and (
            subject.label == "PERSON" or subject.lemma.lower() in lexicon.PEOPLE))


def gaps(
    tree: Tree, clause: Clause, members: Sequence[Word], root: Word, label: str
) -> Iterator[Gap]:
    """The ways in which a question can ask for the span ``members``, best first."""
    top = phrases.top_of(tree, root)
    asked = _Asked(tree, clause, root, top, label, spell(tree, members).lower())
    in_subject = bool(clause.subject_bits >> root.i & 1)
    if top.head == clause.verb.i and top.dep in ("nsubj", "nsubjpass"):
        yield from _subject_gaps(asked)
    elif top.dep in ("poss", "nummod", "amod", "compound", "nmod", "quantmod"):
        yield from _modifier_gaps(asked, in_subject)
    elif _is_torn(tree, members, root) or label == "ORDINAL" or (  # or the label is wrong
            root.tag[:2] == "JJ" and label not in ("NORP", "DATE", "LANGUAGE", "")):
        return
    elif top.dep == "pobj":
        yield from _echo_gaps(asked) if in_subject else _prepositional_gaps(asked)
    elif in_subject:
        return
    elif top.dep in ("npadvmod", "advmod"):
        yield from _adverbial_gaps(asked)
    elif top.dep == "attr":
        yield from _attribute_gaps(asked)
    elif top.dep in ("dobj", "dative", "oprd", "acomp"):
        yield from _object_gaps(asked)


def _subject_gaps(asked: _Asked) -> list[Gap]:
    """As in "Who founded Ford?"."""
    wh = asked.with_part(asked.wh)
    if wh == "when":
        wh = "what"
    elif asked.label == "ORG" and asked.clause.verb.lemma in lexicon.AGENT_VERBS:
        wh = "who"
    return Gap(wh, asked.clause.subject_bits, subject=True).with_and_without(asked.others)


def _modifier_gaps(asked: _Asked, in_subject: bool) -> Iterator[Gap]:
    """As in "three types" → "how many types"."""
    noun, verb = asked.above, asked.clause.verb
    if asked.label == "NORP" and noun.dep == "attr" and (
            asked.is_about_person() or noun.lemma in lexicon.PEOPLE):
        yield Gap("what nationality", phrase_bits(asked.tree, noun))
    gap = _modifier_gap(asked)
    if gap is None:
        return
    if in_subject:
        if noun.head == verb.i:
            yield replace(gap, subject=True, bits=asked.clause.subject_bits)
        return
    before = asked.holder
    if noun.dep == "pobj" and before.head == verb.i:
        gap = replace(gap, wh=f"{before.lower} {gap.wh}", bits=gap.bits | 1 << before.i)
    yield gap


def _echo_gaps(asked: _Asked) -> Iterator[Gap]:
    """As in "The symptoms of what are recurring?"."""
    wh = "whom" if asked.wh == "who" else asked.wh
    if wh in ("whom", "what") and asked.above.lower in ("of", "for", "in", "from", "by", "about"):
        yield Gap(wh, asked.whole, echo=True)


def _adverbial_gaps(asked: _Asked) -> Iterator[Gap]:
    """As in "last year" → "when"; "6 feet tall" → "how tall"."""
    timed = asked.label in ("DATE", "TIME")
    often = bool(lexicon.FREQUENCY.search(asked.text))
    holder = asked.above
    if asked.top.dep == "advmod":
        if timed:
            yield Gap("how often" if often else "when", asked.whole)
    elif holder.lower in lexicon.SCALES and holder.head == asked.clause.verb.i:
        yield Gap(f"how {holder.lower}", asked.tree.below[holder.i])
    elif holder.lower in ("later", "before", "after"):
        yield Gap("when", asked.tree.below[holder.i])
    elif often:
        yield Gap("how often", asked.whole)
    elif timed:
        yield Gap("how long" if asked.wh == "how long" else "when", asked.whole)


def _object_gaps(asked: _Asked) -> Iterator[Gap]:
    """The object of the verb, or a name as in "they call him Bob"."""
    whole = phrase_bits(asked.tree, asked.top)
    called = asked.top.dep == "oprd"
    wh = "what" if asked.wh == "when" or called else asked.wh
    after = "" if called else asked.others
    if after:
        yield Gap(wh, whole, after=after)
    yield Gap(asked.with_part(wh), whole)
    kept = kept_modifiers(asked.tree, asked.top)
    if kept and not after:
        yield Gap(asked.with_part(wh), whole & ~kept)


def _is_torn(tree: Tree, members: Sequence[Word], root: Word) -> bool:
    """The span lacks its phrase's start: "tales" of "fairy tales", "bc" of "400 bc"."""
    torn = "nummod" if root.lower in ("bc", "ad") else "compound"
    return any(child.i < members[0].i and (child.lower == "new" or child.dep == torn)
               for child in tree.children[root.i])


def _attribute_gaps(asked: _Asked) -> list[Gap]:
    """As in "it is a band" → "what"."""
    tree, clause, wh = asked.tree, asked.clause, asked.wh
    whole = phrase_bits(tree, asked.top)
    if tree.child(clause.verb, ("expl",)):
        kept = kept_modifiers(tree, asked.top)
        more = any(child.dep == "prep" or child.lower in ("worldwide", "today", "globally")
                   for child in tree.children[clause.verb.i])
        return [Gap(wh, whole & ~kept)] if kept or more else []
    if asked.is_about_person() and wh == "what":
        wh = "who" if clause.subject in ("he", "she") or clause.subject[:1].isupper() else wh
    elif wh == "who" and clause.subject in ("it", "that", "this"):
        wh = "what" if asked.root.label != "PERSON" else "who"
    subject = tree.child(clause.verb, ("nsubj",))
    if wh == "how many" or (wh == "who" and subject is not None and subject.lemma in lexicon.WORKS):
        wh = "what"
    return Gap(wh, whole).with_and_without(asked.others)


# --- modifiers: "three types of guitar" → "how many types of guitar" --------------------------


def _modifier_gap(asked: _Asked) -> Gap | None:
    """As in "ford's cars" → "whose cars"."""
    tree, top, label, noun = asked.tree, asked.top, asked.label, asked.above
    around = [child for child in tree.children[noun.i] if child.dep in AROUND
              or (child.dep in ("amod", "advmod") and child.i < top.i)]
    rest = _repeated(tree, noun, tree.under([top, *around]))
    members = tree.members(rest)
    phrase = spell(tree, members)
    if top.dep == "poss":
        return Gap(f"whose {phrase}", rest | asked.whole)
    # "three more types than you know": the comparison stays in the question.
    gone = rest | tree.under([top, *(c for c in around if c.dep not in ("advcl", "intj"))])
    if label == "ORDINAL" and noun.tag == "NN" and noun.lemma not in (
            lexicon.IDIOMS | lexicon.LIGHT_NOUNS):
        bare = [word for word in members if word.dep != "poss" and word.text != "'s"]
        return Gap(f"what number {spell(tree, bare)}", gone)
    if label == "DATE":
        return Gap(f"what year's {phrase}", gone) if lexicon.YEAR.match(asked.text) else None
    words = _modifier_words(noun, top, label)
    return Gap(f"{words} {phrase}", gone) if words else None


def _repeated(tree: Tree, noun: Word, gone: int) -> int:
    rest = tree.below[noun.i] & ~gone & ~tree.under(
        child for child in tree.children[noun.i] if child.dep == "prep" and child.lower != "of")
    return rest & ~tree.under(
        word for word in tree.members(rest)
        if word.dep in ("relcl", "appos", "acl") and not tree.below[word.i] >> noun.i & 1)


def _modifier_words(noun: Word, top: Word, label: str) -> str:
    """Such as "how many"; "" if there are none."""
    if top.dep == "nummod" and label in ("CARDINAL", "QUANTITY") and noun.tag in ("NNS", "NNPS"):
        return "how many"
    if (label in AMOUNTS or label == "PERSON" or noun.tag in ("NNP", "NNPS")  # part of the name
            or top.dep not in ("amod", "compound", "nmod")):
        return ""
    return "what" if noun.lower in ("language", "country", "city", "state") else "what kind of"


# --- objects of prepositions ------------------------------------------------------------------


def _prepositional_gaps(asked: _Asked) -> Iterator[Gap]:
    """Yields the ways to ask when or where, or who or what with the preposition, best first."""
    label, root, preposition, holder = asked.label, asked.root, asked.above, asked.holder
    around = _place_around(asked.tree, preposition, holder)
    if time := _time_gap(asked, around):
        yield time
        return
    place = label in lexicon.LOCATIONS or (not label and root.lemma.lower() in lexicon.PLACES)
    if place and preposition.lower in lexicon.LOCATIVE and holder.lower != "based":
        yield from _place_gaps(asked, around)
        if label:
            return
    if not _is_example(asked) and holder.label not in ("DATE", "ORDINAL"):
        yield from _with_preposition(asked)


def _is_example(asked: _Asked) -> bool:
    """Whether the preposition is "such as", "like" or "including" after a noun."""
    preposition = asked.above
    if preposition.lower == "as":
        return preposition.i > 0 and asked.tree.words[preposition.i - 1].lower == "such"
    return preposition.lower in ("like", "including") and asked.holder.tag in ("NN", "NNS")


def _place_around(tree: Tree, preposition: Word, holder: Word) -> int:
    around = tree.below[preposition.i]
    if holder.tag == "RB" and holder.lower in ("back", "early", "far", "late", "long", "recently"):
        around |= tree.below[holder.i]  # "as far back as 1272"
    if preposition.i and tree.words[preposition.i - 1].lower == "back":
        around |= 1 << (preposition.i - 1)
    return around


def _time_gap(asked: _Asked, around: int) -> Gap | None:
    label, text, prep = asked.label, asked.text, asked.above.lower
    if prep == "of" and asked.holder.lower == "as":
        return Gap("when", asked.tree.below[asked.holder.i])
    date = label == "DATE" or (label in ("CARDINAL", "") and bool(
        lexicon.YEAR.match(text) or (prep == "in" and lexicon.OLD_YEAR.match(text))))
    when = not label and not {asked.root.lemma, asked.root.lower}.isdisjoint(lexicon.TIME_NOUNS)
    if wh := _time_words(prep, text, date or when):
        return Gap(wh, asked.whole if wh == "what" else around)
    if label == "TIME" and prep in lexicon.BARE_TIME:
        return Gap("what time" if prep == "at" else "when", around)
    return None


def _time_words(preposition: str, text: str, is_date: bool) -> str:
    """The question words, which replace the preposition: "when" for "in 1990"; but "what" for
    "after 1990" follows it. "" if there are none."""
    if preposition in ("for", "throughout") and lexicon.DURATION.search(text):
        return "how long"
    if not is_date:
        return ""
    counted = lexicon.DURATION.search(text) and lexicon.COUNTED.match(text)
    if preposition in ("in", "within") and counted:
        return "in how much time"
    if preposition in ("after", "before"):
        return "what"
    if preposition in lexicon.BARE_TIME | {"through", "as", "between"} or (
            preposition == "from" and re.search(r"\b(?:to|until|till)\b", text)):
        return "when"
    return f"{preposition} when" if preposition in ("since", "until", "till", "by", "from") else ""


def _place_gaps(asked: _Asked, around: int) -> Iterator[Gap]:
    tree, prep = asked.tree, asked.above.lower
    inner = tree.child(asked.root, ("appos", "npadvmod"))
    if inner is not None and inner.label in lexicon.LOCATIONS and prep in ("in", "at"):
        yield Gap(f"where in {spell(tree, phrases.core(tree, inner))}", around)
    if prep == "from":
        yield Gap("where", asked.whole, after=asked.others)
    elif prep in ("on", "around", "across", "throughout") and not asked.label:
        yield Gap("what", asked.whole, after=asked.others)
    else:
        yield from Gap("where", around).with_and_without(asked.others)


def _with_preposition(asked: _Asked) -> Iterator[Gap]:
    """As in "What is it made of?"."""
    made = asked.above.dep == "agent" and asked.holder.lemma in lexicon.AGENT_VERBS
    wh = "who" if made else {"how many": "what number", "when": "what date"}.get(asked.wh, asked.wh)
    yield from Gap(wh, asked.whole).with_and_without(asked.others)
    if kept := kept_modifiers(asked.tree, asked.top):
        yield Gap(wh, asked.whole & ~kept)
