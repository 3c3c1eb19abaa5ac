"""Dependency trees, and the clauses in them: what the syntactic questions are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from q2_metric.models.english.vocabulary import (
    AUXILIARIES,
    CAUSATIVE,
    CONTRACTED,
    FINITE,
    NAMES,
    PAST_MAKERS,
    REPORTING,
    SUBJECTS,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True)
class Word:
    """A token: its place, forms, part of speech, dependency and entity type.

    ``goes_on`` marks a word inside an entity but not at its start, ``blank`` one that a
    blank follows.
    """

    i: int
    text: str
    lower: str
    lemma: str
    tag: str
    dep: str
    head: int
    label: str
    goes_on: bool
    blank: bool


class Tree:
    """A sentence's dependency tree; sets of its words are the bits of an integer."""

    def __init__(self, doc: Doc, raised: bool = False) -> None:
        """``raised``: the first word has its capital only from the repair."""
        self.raised = raised
        self.words = [
            Word(
                token.i,
                token.text,
                token.lower_.replace("’", "'"),
                token.lemma_,
                token.tag_,
                token.dep_,
                token.head.i,
                token.ent_type_,
                token.ent_iob_ == "I",
                bool(token.whitespace_),
            )
            for token in doc
        ]
        for word in self.words[1:]:
            if word.lower == "that" and word.dep == "det" and self.opens_clause(word):
                head = self.words[self.words[word.head].head]
                self.words[word.i] = replace(word, dep="mark", head=head.i)
            elif word.tag == "VB" and self.is_bare(word):
                self.words[word.i] = replace(word, tag="VBP")
        self.children: list[list[Word]] = [[] for _ in self.words]
        for word in self.words:
            if word.head != word.i:
                self.children[word.head].append(word)

    def opens_clause(self, that: Word) -> bool:
        """Whether "that" before a noun is no determiner: "i know that veganism is ..."."""
        return self.words[that.i - 1].lemma in REPORTING and self.words[that.head].tag[:2] == "NN"

    def is_bare(self, verb: Word) -> bool:
        """Whether an infinitive is in truth a present: "i know that orcs have swords"."""
        own = [word.dep for word in self.words[: verb.i] if word.head == verb.i]
        return "nsubj" in own and "aux" not in own and self.words[verb.head].lemma not in CAUSATIVE

    @cached_property
    def below(self) -> list[int]:
        """For each word, the set of the words of its subtree."""
        sets = [0] * len(self.words)
        for word in self.words:
            bit, ancestor = 1 << word.i, word
            sets[word.i] |= bit
            while ancestor.head != ancestor.i:
                ancestor = self.words[ancestor.head]
                sets[ancestor.i] |= bit
        return sets

    @cached_property
    def asks(self) -> bool:
        """Whether the sentence is itself a question."""
        return any(word.text.endswith("?") for word in self.words[-2:])

    def child(self, word: Word, deps: Iterable[str]) -> Word | None:
        """The first child of ``word`` with one of these dependencies."""
        return next((child for child in self.children[word.i] if child.dep in deps), None)

    def members(self, bits: int) -> list[Word]:
        """The words of a set, in order."""
        found = []
        while bits:
            lowest = bits & -bits
            found.append(self.words[lowest.bit_length() - 1])
            bits ^= lowest
        return found

    def up(self, word: Word) -> Iterator[Word]:
        """``word``, its head, its head's head, up to the root."""
        yield word
        while word.head != word.i:
            word = self.words[word.head]
            yield word


def bits_of(members: Iterable[Word]) -> int:
    """The set of these words."""
    bits = 0
    for word in members:
        bits |= 1 << word.i
    return bits


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb and what belongs to it.

    ``subject`` is written before the verb, ``subject_bits`` is its place in the sentence (0
    where it is borrowed from elsewhere: a shared subject, or the noun of a relative
    clause). ``auxiliary`` is the word that a question fronts ("" calls for "do"),
    ``auxiliary_bits`` its place.
    """

    verb: Word
    subject: str
    subject_bits: int
    auxiliary: str
    auxiliary_bits: int
    plural: bool


def is_verb(word: Word) -> bool:
    """Whether the word is tagged as a verb or a modal."""
    return word.tag[:2] in ("VB", "MD")


def finite_word(tree: Tree, verb: Word) -> Word | None:
    """The word that carries tense: the first finite auxiliary, or the verb itself."""
    subject = tree.child(verb, SUBJECTS)
    for child in tree.children[verb.i]:
        # An auxiliary before the subject belongs to an answer: "yes i do , peta is ...".
        astray = subject is not None and child.i < subject.i < verb.i and not tree.asks
        if child.dep in AUXILIARIES and child.tag in FINITE and not astray:
            return child
    if verb.tag in FINITE or verb.tag == "VBN":
        return verb
    return None


def subject_of(tree: Tree, verb: Word) -> Word | None:
    """The verb's subject, also where the parser took it for the object of the verb before.

    In "i can't believe scream was released in 1996" the small model makes "scream" what is
    believed.
    """
    subject = tree.child(verb, ("nsubj", "nsubjpass", "expl", "csubj"))
    if subject is not None or verb.dep != "ccomp" or not tree.child(verb, AUXILIARIES):
        return subject
    before = tree.words[(tree.below[verb.i] & -tree.below[verb.i]).bit_length() - 2]
    return before if before.dep == "dobj" and before.head == verb.head else None


def is_finite_clause(tree: Tree, verb: Word) -> bool:
    """Whether ``verb`` has tense, and a subject of its own or of the verb before it."""
    if not is_verb(verb):
        return False
    if any(child.lower == "to" and child.dep == "aux" for child in tree.children[verb.i]):
        return False
    first = first_of(tree, verb)
    return subject_of(tree, first) is not None and finite_word(tree, first) is not None


def first_of(tree: Tree, verb: Word) -> Word:
    """The verb whose subject a coordinated verb shares; itself where it has its own."""
    while verb.dep == "conj" and subject_of(tree, verb) is None:
        if not is_verb(tree.words[verb.head]):
            break
        verb = tree.words[verb.head]
    return verb


def is_participle_clause(tree: Tree, verb: Word) -> bool:
    """A participle after a noun: "a sitcom created by ..."."""
    return (
        verb.dep == "acl"
        and verb.tag in ("VBN", "VBD", "VBG")
        and not any(child.lower == "to" for child in tree.children[verb.i])
    )


def clause_verb(tree: Tree, word: Word) -> Word | None:
    """The verb of the nearest clause around ``word``."""
    for candidate in tree.up(word):
        if candidate is not word and (
            is_finite_clause(tree, candidate) or is_participle_clause(tree, candidate)
        ):
            return candidate
    return None


def expand(tree: Tree, word: Word) -> str:
    """The full form of a contracted auxiliary."""
    if word.lower == "'s":
        rest = [w for w in tree.words[word.i + 1 : word.i + 5] if w.dep != "neg"]
        has = any(w.lower in ("been", "got", "had") for w in rest) or (
            word.dep == "aux" and tree.words[word.head].tag == "VBN"
        )
        return "has" if has else "is"
    if word.lower == "'d":
        return "had" if tree.words[word.head].tag == "VBN" else "would"
    return CONTRACTED.get(word.lower, word.lower)


def is_plural(tree: Tree, noun: Word) -> bool:
    """Whether a verb agrees with the noun in the plural."""
    return (
        noun.tag in ("NNS", "NNPS")
        or noun.lower in ("they", "we", "you", "these", "those", "people", "them", "police")
        or any(child.dep == "conj" for child in tree.children[noun.i])
    )


def lowered(tree: Tree, word: Word) -> str:
    """The word as it is written inside a sentence: names with a capital, others without."""
    if word.lower == "n't":
        return "not"
    if word.lower == "us" and word.label == "GPE":
        return "US"
    if word.label in NAMES and word.tag in ("NNP", "NNPS", "JJ") and word.text.islower():
        return word.text.capitalize()
    if word.lower == "i" or word.i > 1 or (word.i == 1 and tree.words[0].text.isalnum()):
        return word.text
    if (word.label in NAMES and word.tag in ("NNP", "NNPS", "JJ")) or not word.text[1:].islower():
        return word.text if len(word.text) > 1 else word.lower
    if word.tag == "NNP" and not tree.raised:
        return word.text
    return word.lower


def spell(tree: Tree, members: Sequence[Word]) -> str:
    """The words as text, blanks as in the sentence where they are neighbours."""
    parts: list[str] = []
    for n, word in enumerate(members):
        if n and not (members[n - 1].i + 1 == word.i and not members[n - 1].blank):
            parts.append(" ")
        if word.lower == "n't" and parts and parts[-1] != " ":
            parts.append(" ")
        parts.append(lowered(tree, word))
    return "".join(parts)


def is_aside(tree: Tree, word: Word) -> bool:
    """An apposition after a comma or a bracket; without one ('the word "pizza"') it is needed."""
    edge = (tree.below[word.i] & -tree.below[word.i]).bit_length() - 1
    return word.dep == "appos" and edge > 0 and tree.words[edge - 1].text in (",", "(", "-", "–")


def core(tree: Tree, noun: Word) -> list[Word]:
    """A noun phrase without what merely adds to it: relative clauses, appositions."""
    bits = tree.below[noun.i]
    for child in tree.children[noun.i]:
        aside = child.dep in ("relcl", "acl", "parataxis", "advcl") or child.text in ",.;:!?"
        if child.dep == "intj" or (child.i > noun.i and (aside or is_aside(tree, child))):
            bits &= ~tree.below[child.i]
    return tree.members(bits)


def named(tree: Tree, noun: Word, without: int = 0) -> str:
    """A noun phrase that has been mentioned before: "a band" is "the band" from then on.

    ``without`` is a set of words to leave out.
    """
    members = [word for word in core(tree, noun) if not without >> word.i & 1]
    while members and members[0].dep in ("cc", "preconj", "punct", "intj"):
        members = members[1:]
    text = spell(tree, members)
    if members and members[0].tag == "DT" and members[0].lower in ("a", "an", "some"):
        text = f"the {spell(tree, members[1:])}"
    elif members and members[0].tag in ("NN", "JJ", "JJS") and noun.tag == "NN":
        text = f"the {text}"
    return text


def owner(tree: Tree, noun: Word) -> tuple[str, bool] | None:
    """Who a clause after ``noun`` is about, and whether that is plural.

    In "it is a sitcom created by ..." the sitcom is "it"; elsewhere it is "the sitcom".
    """
    if noun.dep == "attr":
        verb = tree.words[noun.head]
        subject = tree.child(verb, ("nsubj",))
        known = subject and subject.tag not in ("WDT", "WP") and subject.lower not in ("i", "you")
        if subject and known and verb.lemma in ("be", "'s"):
            return spell(tree, core(tree, subject)), is_plural(tree, subject)
    if noun.tag == "PRP" or noun.lower in ("one", "those", "something", "that"):
        return None
    return named(tree, noun), is_plural(tree, noun)


def antecedent(tree: Tree, verb: Word, subject: Word) -> Word | None:
    """The noun that a relative pronoun, the subject of ``verb``, stands for."""
    if subject.tag not in ("WDT", "WP") and not (verb.dep == "relcl" and subject.lower == "that"):
        return None
    if verb.dep == "relcl":
        return tree.words[verb.head]
    before = subject.i - 1
    if before > 0 and tree.words[before].text == ",":
        before -= 1
    noun = tree.words[before]
    return noun if subject.tag == "WDT" and before >= 0 and noun.tag[:2] == "NN" else None


def finite_clause(tree: Tree, verb: Word) -> Clause | None:
    """The clause of a finite verb, with a subject of its own or a shared one."""
    subject = subject_of(tree, verb)
    if subject is None:
        return shared_clause(tree, verb)
    carrier = finite_word(tree, verb)
    if carrier is None or (subject.i > verb.i and carrier is verb and subject.dep != "expl"):
        return None
    bits = tree.below[subject.i]
    text, plural = spell(tree, core(tree, subject)), is_plural(tree, subject)
    noun = antecedent(tree, verb, subject)
    if noun is not None:
        known = owner(tree, noun)
        if known is None:
            return None
        text, plural = known
    elif subject.tag in ("WDT", "WP", "WRB"):
        return None
    elif verb.dep == "relcl" and not any(w.tag == "WRB" for w in tree.children[verb.i]):
        return None  # the noun is the verb's object or further down
    fronted, fronted_bits = fronted_auxiliary(tree, verb, carrier)
    return Clause(verb, text, bits, fronted, fronted_bits, plural)


def fronted_auxiliary(tree: Tree, verb: Word, carrier: Word) -> tuple[str, int]:
    """The auxiliary that a question fronts, and its place; "" where it takes "do"."""
    if carrier is not verb or verb.lemma in ("be", "'s") or verb.lower in ("'s", "'re", "'m"):
        return expand(tree, carrier), 1 << carrier.i
    return "", 0


def shared_clause(tree: Tree, verb: Word) -> Clause | None:
    """A coordinated verb, with the subject (and the auxiliary) of the first."""
    first = first_of(tree, verb)
    clause = finite_clause(tree, first) if first is not verb else None
    if clause is None:
        return None
    carrier = next(
        (c for c in tree.children[verb.i] if c.dep in AUXILIARIES and c.tag in FINITE), None
    )
    if carrier is not None:
        auxiliary, bits = expand(tree, carrier), 1 << carrier.i
    elif verb.lemma in ("be", "'s") and verb.tag in FINITE:
        auxiliary, bits = expand(tree, verb), 1 << verb.i
    elif verb.tag in ("VBD", "VBZ", "VBP") and not (
        verb.tag == "VBD" and clause.auxiliary in ("was", "were", "is", "are", "been")
    ):
        auxiliary, bits = "", 0
    elif clause.auxiliary and first.lemma != "be":
        auxiliary, bits = clause.auxiliary, 0
    elif verb.tag == "VBN":
        auxiliary, bits = (clause.auxiliary, 0) if clause.auxiliary else ("", 0)
    else:
        return None
    return replace(clause, verb=verb, subject_bits=0, auxiliary=auxiliary, auxiliary_bits=bits)


def participle_clause(tree: Tree, verb: Word) -> Clause | None:
    """A participle's clause, about the noun before it: "the band" was "formed in 1994"."""
    known = owner(tree, tree.words[verb.head])
    if known is None:
        return None
    subject, plural = known
    main = next((w for w in tree.up(tree.words[verb.head]) if is_finite_clause(tree, w)), None)
    carrier = finite_word(tree, main) if main else None
    past = bool(carrier and (carrier.tag == "VBD" or carrier.lower in ("was", "were")))
    if verb.tag != "VBG":
        past = (
            past
            or verb.lemma in PAST_MAKERS
            or any(word.label == "DATE" for word in tree.members(tree.below[verb.i]))
        )
    if verb.tag == "VBG":  # "a dish consisting of ..." is one that consists of it
        tensed = replace(verb, tag="VBD" if past else "VBP")
        return Clause(tensed, subject, 0, "", 0, plural)
    auxiliary = ("were" if plural else "was") if past else ("are" if plural else "is")
    return Clause(verb, subject, 0, auxiliary, 0, plural)


def clause_of(tree: Tree, verb: Word) -> Clause | None:
    """The clause of a verb; ``None`` where its subject cannot be told."""
    if verb.dep == "acl" and not tree.child(verb, SUBJECTS):
        return participle_clause(tree, verb)
    return finite_clause(tree, verb)


def is_askable(tree: Tree, clause: Clause) -> bool:
    """Whether the clause states something: questions, conditions and free relatives do not."""
    verb = clause.verb
    if tree.asks and all(w.dep in ("ROOT", "conj", "aux", "xcomp") for w in tree.up(verb)):
        return False
    for child in tree.children[verb.i]:
        if child.dep == "mark" and child.lower in ("if", "whether", "unless"):
            return False
        if child.tag in ("WP", "WDT") and child.dep not in SUBJECTS:
            return False
        if child.tag == "WRB" and child.lower == "why":
            return False
    return True
