"""Finds the clauses of a sentence. A clause is a verb with the words that depend on it, its subject
and the word that carries its tense."""

from dataclasses import dataclass, replace

from q2_metric.english import lexicon
from q2_metric.english.parse.phrases import core, expand, named, spell
from q2_metric.english.parse.tree import Tree, Word, first, is_plural, is_verb


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, its subject, and the auxiliary that comes first in a question ("" for a form of
    "do"). A bit mask is 0 if its words are not in the clause: a shared subject, an auxiliary to be
    added."""

    verb: Word
    subject: str
    subject_bits: int
    auxiliary: str
    auxiliary_bits: int
    plural: bool


def finite_word(tree: Tree, verb: Word) -> Word | None:
    """The first finite auxiliary, or the verb itself; ``None`` without a tense, as in "to open"."""
    subject = tree.child(verb, lexicon.SUBJECTS)
    for child in tree.children[verb.i]:
        # An auxiliary before the subject is part of a short answer: "yes i do , peta is ...".
        astray = subject is not None and child.i < subject.i < verb.i and not tree.asks
        if child.dep in lexicon.AUXILIARIES and child.tag in lexicon.FINITE and not astray:
            return child
    return verb if verb.tag in lexicon.FINITE | {"VBN"} else None


def subject_of(tree: Tree, verb: Word) -> Word | None:
    """In "i can't believe scream was released", the parser reads "scream" as the object of
    "believe"; it is still the subject of "released"."""
    subject = tree.child(verb, ("nsubj", "nsubjpass", "expl", "csubj"))
    if subject is not None or verb.dep != "ccomp" or not tree.child(verb, lexicon.AUXILIARIES):
        return subject
    before = tree.words[first(tree.below[verb.i]) - 1]
    return before if before.dep == "dobj" and before.head == verb.head else None


def is_finite_clause(tree: Tree, verb: Word) -> bool:
    """Whether ``verb`` has a tense and a subject, perhaps those of a coordinated verb before it."""
    if not is_verb(verb) or any(
            child.lower == "to" and child.dep == "aux" for child in tree.children[verb.i]):
        return False
    first = first_of(tree, verb)
    return subject_of(tree, first) is not None and finite_word(tree, first) is not None


def first_of(tree: Tree, verb: Word) -> Word:
    """In "it has rooms and allows pets", the result for "allows" is "has". Else it is ``verb``."""
    while (verb.dep == "conj" and is_verb(tree.words[verb.head])
           and subject_of(tree, verb) is None):
        verb = tree.words[verb.head]
    return verb


def clause_verb(tree: Tree, word: Word) -> Word | None:
    """The verb of the clause around a word; also of a participle ("a sitcom created by …")."""
    for above in tree.up(word):
        participle = above.dep == "acl" and above.tag in ("VBN", "VBD", "VBG") and not any(
            child.lower == "to" for child in tree.children[above.i])
        if above is not word and (participle or is_finite_clause(tree, above)):
            return above
    return None


def owner(tree: Tree, noun: Word) -> tuple[str, bool] | None:
    """The subject of a clause that modifies ``noun``, and whether it is plural: "it" in "it is a
    sitcom created by …", "the sitcom" in "they watch a sitcom created by …"."""
    if noun.dep == "attr":
        verb = tree.words[noun.head]
        subject = tree.child(verb, ("nsubj",))
        if (subject and subject.tag not in ("WDT", "WP") and verb.lemma == "be"
                and lexicon.SPEAKERS.isdisjoint(
                    word.lower for word in tree.members(tree.below[subject.i]))):
            return spell(tree, core(tree, subject)), is_plural(tree, subject)
    if noun.tag == "PRP" or noun.lower in ("one", "those", "something", "that"):
        return None
    return named(tree, noun), is_plural(tree, noun)


def antecedent(tree: Tree, verb: Word, subject: Word) -> Word | None:
    """The noun that a relative pronoun stands for: "city" for "which" in "the city which grew"."""
    if subject.tag not in ("WDT", "WP") and not (verb.dep == "relcl" and subject.lower == "that"):
        return None
    if verb.dep == "relcl":
        return tree.words[verb.head]
    before = subject.i - 1
    if tree.words[before].text == ",":
        before -= 1
    noun = tree.words[before]
    return noun if subject.tag == "WDT" and before >= 0 and noun.tag[:2] == "NN" else None


def finite_clause(tree: Tree, verb: Word) -> Clause | None:
    """The clause of a finite verb; ``None`` if the verb has no tense or its subject is unknown."""
    subject = subject_of(tree, verb)
    if subject is None:
        return shared_clause(tree, verb)
    carrier = finite_word(tree, verb)
    if carrier is None or (subject.i > verb.i and carrier is verb and subject.dep != "expl"):
        return None
    bits = tree.below[subject.i]
    text, plural = spell(tree, core(tree, subject)), is_plural(tree, subject)
    if noun := antecedent(tree, verb, subject):
        if (known := owner(tree, noun)) is None:
            return None
        text, plural = known
    elif subject.tag in ("WDT", "WP"):
        return None
    elif verb.dep == "relcl" and not any(w.tag == "WRB" for w in tree.children[verb.i]):
        return None  # the noun is the verb's object or depends on the object
    fronted, fronted_bits = fronted_auxiliary(tree, verb, carrier)
    return Clause(verb, text, bits, fronted, fronted_bits, plural)


def fronted_auxiliary(tree: Tree, verb: Word, carrier: Word) -> tuple[str, int]:
    """The auxiliary verb that comes first in the question, and its position as a bit mask; ("", 0)
    for a form of "do". ``carrier`` is the word that carries the tense of ``verb``."""
    if carrier is not verb or verb.lemma == "be":
        return expand(tree, carrier), 1 << carrier.i
    return "", 0


def shared_clause(tree: Tree, verb: Word) -> Clause | None:
    """In "it has rooms and allows pets", the clause of "allows" gets the subject "it". In "they are
    tested and may eat and drink", "drink" gets "may"."""
    before = tree.words[verb.head]
    clause = finite_clause(tree, before) if first_of(tree, verb) is not verb else None
    if clause is None:
        return None
    carrier = finite_word(tree, verb)
    auxiliary, bits = "", 0
    if carrier is not None and carrier.tag in lexicon.FINITE:
        auxiliary, bits = fronted_auxiliary(tree, verb, carrier)
    is_participle = verb.tag == "VBD" and clause.auxiliary in ("was", "were", "is", "are")
    if not auxiliary and (is_participle or verb.tag not in ("VBD", "VBZ", "VBP")):
        if verb.tag != "VBN" and (not clause.auxiliary or before.lemma == "be"):
            return None
        if sum(child.dep in lexicon.AUXILIARIES for child in tree.children[before.i]) > 1:
            return None  # "it has been rebuilt and extended": one auxiliary would not do
        auxiliary = clause.auxiliary
    return replace(clause, verb=verb, subject_bits=0, auxiliary=auxiliary, auxiliary_bits=bits)


def participle_clause(tree: Tree, verb: Word) -> Clause | None:
    """As in "the band formed in 1994" → "the band was formed …"."""
    if (known := owner(tree, tree.words[verb.head])) is None:
        return None
    subject, plural = known
    main = next((w for w in tree.up(tree.words[verb.head]) if is_finite_clause(tree, w)), None)
    carrier = finite_word(tree, main) if main else None
    past = carrier is not None and carrier.tag == "VBD"
    if verb.tag == "VBG":  # "a dish consisting of ..." is a dish that consists of it
        tensed = replace(verb, tag="VBD" if past else "VBP")
        return Clause(tensed, subject, 0, "", 0, plural)
    past = past or verb.lemma in lexicon.PAST_MAKERS or any(
        word.label == "DATE" for word in tree.members(tree.below[verb.i]))
    auxiliary = ("were" if plural else "was") if past else ("are" if plural else "is")
    return Clause(verb, subject, 0, auxiliary, 0, plural)


def clause_of(tree: Tree, verb: Word) -> Clause | None:
    if verb.dep == "acl" and not tree.child(verb, lexicon.SUBJECTS):
        return participle_clause(tree, verb)
    return finite_clause(tree, verb)


def is_askable(tree: Tree, clause: Clause) -> bool:
    """Whether the clause affirms something, so that Q² can ask a question about it."""
    verb = clause.verb
    asked = tree.asks and all(w.dep in ("ROOT", "conj", "aux", "xcomp") for w in tree.up(verb))
    return not asked and not is_denied(tree, verb) and not any(
        (child.dep == "mark" and child.lower in ("if", "whether", "unless"))
        or (child.tag in ("WP", "WDT") and child.dep not in lexicon.SUBJECTS)
        or child.lower == "why" for child in tree.children[verb.i])


def is_denied(tree: Tree, verb: Word) -> bool:
    """As in "it did not open" and "i do not think that it opened". A question would be answered as
    if the clause were affirmed."""
    for word in tree.up(verb):
        if is_negated(tree, word):
            return word.i == verb.i or word.lemma not in lexicon.PRESUPPOSING
        if word.i != verb.i and word.lemma in lexicon.DENYING:
            return True
        if word.dep not in ("ccomp", "xcomp"):
            break
    return False


def is_negated(tree: Tree, verb: Word) -> bool:
    """Not by "not only" or "not … until"."""
    negation = tree.child(verb, ("neg",))
    if negation is None or any(child.lower in lexicon.ENDINGS for child in tree.children[verb.i]):
        return False
    following = tree.words[negation.i + 1 : negation.i + 2]
    return all(word.lower not in lexicon.NOT_DENYING for word in following)
