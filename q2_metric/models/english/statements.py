"""Finds what a sentence states with each of its verbs, predicate adjectives and predicate nouns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from q2_metric.models.english.clauses import is_negated, says_false
from q2_metric.models.english.opposites import (
    CONVERSES,
    DENIERS,
    MODALS,
    NEVER,
    NOTHING,
    PERHAPS,
    WISHES,
    WRONGLY,
)
from q2_metric.models.english.tree import Tree, Word, is_verb
from q2_metric.models.english.vocabulary import (
    AUXILIARIES,
    ENDINGS,
    FALSE,
    NOT_DENYING,
    PRESUPPOSING,
    SUBJECTS,
)
from q2_metric.text.alignment import stem

_GOVERNED = ("ccomp", "xcomp", "acl", "pcomp", "advcl")
_PASTS = ("has", "have", "had", "was", "were", "did", "'ve")
_ELLIPTICAL = ("be", "'s", "do", "have", "can", "will", "could", "would")
"""Verbs that can stand for a whole verb phrase: "but the hotel does not"."""
_LOOSE = ("neg", "punct", "cc", "ccomp", "advmod", "mark")
_COPULAS = ("be", "become", "remain", "stay", "'s", "seem")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence states with one of its verbs, predicate adjectives or predicate nouns.

    Attributes:
        key: the stem of this word, or of the verb that stands for it in ``CONVERSES`` ("beat" for
            "lost to"). Only statements with related keys are compared.
        denied: whether the sentence denies the verb or adjective.
        open: whether the sentence leaves the statement open ("may", "plans to", "if").
        would: whether the verb has "would", which leaves open whether the event happened.
        past: whether the verb is in the past tense or the perfect.
        present: whether the verb is in the present tense ("opens").
        ended: whether the sentence says with "until" when the statement stopped being true.
        able: whether the sentence says that something can be done.
        agent: stems of the noun that names who acts, and of nouns compounded with it, without
            coordinated nouns and adjectives.
        patient: the same for the noun that says who or what is acted on.
        agents: for each coordinated agent, the set of stems of its noun and the noun's modifiers.
        patients: the same for each coordinated patient.
        adverbs: stems of the verb's adverbs, without denials.
        said: stems of the nouns, numbers and adjectives that depend on the verb.
        without: stems of what is excluded ("but not on Sundays", "except Mondays").
        asserted: whether the sentence asserts the verb. It does not in "to allow visitors" and "the
            percentage of straying".
        names: stems of the names that belong to the verb, without dates.
        place: stems of the name after "in" or "at".
        verbal: whether the statement is made with a verb, and not with an adjective or noun.
        clause: stems of the nouns, numbers and adjectives of the whole coordinated clause to which
            the verb belongs.
    """

    key: str
    denied: bool
    open: bool
    would: bool
    past: bool
    present: bool
    ended: bool
    able: bool
    agent: frozenset[str]
    patient: frozenset[str]
    agents: frozenset[frozenset[str]]
    patients: frozenset[frozenset[str]]
    adverbs: frozenset[str]
    said: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    asserted: bool = True
    names: frozenset[str] = frozenset()
    place: frozenset[str] = frozenset()
    verbal: bool = True
    clause: frozenset[str] = frozenset()


def statements(tree: Tree) -> Iterator[Statement]:
    """Yields what a sentence states with each of its verbs, predicate adjectives and predicate
    nouns.

    A question states nothing. Clauses without their full verb also state something: "the inn has a
    pool, the hotel does not" and "unlike the hotel, the inn has a pool" say that the hotel has
    none.
    """
    if tree.asks:
        return
    false = says_false(tree) and not any(
        word.lemma in FALSE and _has_clause(tree, word) for word in tree.words)
    without = _excluded(tree)
    by_verb: dict[int, Statement] = {}
    for word in tree.words:
        predicate = is_verb(word) and word.dep not in AUXILIARIES and word.lemma not in _COPULAS
        complement = word.dep in ("acomp", "attr") and tree.words[word.head].lemma in _COPULAS
        if not predicate and not complement:
            continue
        if predicate and word.lemma in DENIERS | WISHES and _has_complement(tree, word):
            continue  # "failed to lower" is about lowering
        verb = tree.words[word.head] if complement else word
        by_verb[verb.i] = statement = _statement(tree, verb, word, false, without)
        yield statement
    for verb in tree.words:
        full = _full_verb(tree, verb)
        if full is not None and full.i in by_verb:
            denied = tree.child(verb, ("neg",)) is not None
            yield _about(tree, tree.child(verb, SUBJECTS), by_verb[full.i], denied)
        if verb.lower == "unlike" and verb.head in by_verb:
            told = by_verb[verb.head]
            yield _about(tree, tree.child(verb, ("pobj",)), told, not told.denied)


def _statement(tree: Tree, verb: Word, word: Word, false: bool, without: int) -> Statement:
    """What a sentence states with a verb.

    Args:
        tree: the sentence.
        verb: the verb.
        word: the verb, or the adjective or noun after it ("closed" in "it is closed").
        false: whether the sentence calls what it states false.
        without: the words that the sentence excludes, as a bit mask over word positions.
    """
    complement = word.i != verb.i
    denied, is_open, would = _stance(tree, verb)
    denied ^= complement and tree.child(word, ("neg",)) is not None
    denied ^= complement and any(c.lower == "no" for c in tree.children[word.i])
    key, converse, through = _key(tree, word)
    subject, done_to = _participants(tree, verb, through)
    if converse:
        subject, done_to = done_to, subject
    below = tree.below[verb.i] & ~_joined_clauses(tree, verb)
    able = any(c.dep == "aux" and c.lower in ("can", "could") for c in tree.children[verb.i])
    agents, patients = (frozenset(_phrase(tree, noun) for noun in _joined(tree, first))
                        for first in (subject, done_to))
    names = frozenset(stem(name.lower) for name in tree.members(below)
                      if name.tag[:3] == "NNP" and name.label not in ("DATE", "TIME"))
    places = [noun for child in tree.children[verb.i] if child.lower in ("in", "at")
              if (noun := tree.child(child, ("pobj",))) is not None]
    return Statement(
        key, denied ^ false, is_open, would, _is_past(tree, verb), verb.tag in ("VBZ", "VBP"),
        _has_ended(tree, verb), able, _heads(tree, subject), _heads(tree, done_to),
        agents, patients,
        frozenset(stem(child.lower) for child in tree.children[verb.i]
                  if child.dep == "advmod" and child.lower not in NEVER),
        _stems(tree, below & ~without), _stems(tree, below & without), _is_asserted(tree, verb),
        names, names.intersection(*(_phrase(tree, noun) for noun in places[:1])) if places else
        frozenset(), not complement, _stems(tree, _clause(tree, verb)))


def _joined_clauses(tree: Tree, verb: Word) -> int:
    """The words of the clauses that are coordinated with a verb's clause, as a bit mask."""
    bits = 0
    for child in tree.children[verb.i]:
        if child.dep in ("conj", "parataxis") and is_verb(child):
            bits |= tree.below[child.i]
    return bits


def _clause(tree: Tree, verb: Word) -> int:
    """The coordinated clause to which a verb belongs, with its subordinate clauses, as a bit mask.

    "it was built in Oslo; it sank near Kiel" has two such clauses.
    """
    top = next(word for word in tree.up(verb)
               if word.head == word.i or (word.dep in ("conj", "parataxis") and is_verb(word)))
    marks = [word.i for word in tree.words if word.text == ";"]
    start = max((mark for mark in marks if mark < verb.i), default=-1)
    end = min((mark for mark in marks if mark > verb.i), default=len(tree.words))
    between = (1 << end) - (1 << start + 1)
    return tree.below[top.i] & ~_joined_clauses(tree, top) & between


def _full_verb(tree: Tree, verb: Word) -> Word | None:
    """The full verb that an elliptical clause leaves out: "has" for the ``verb`` "does" in "the inn
    has a pool, the hotel does not". ``None`` if nothing is left out."""
    if not is_verb(verb) or verb.lemma not in _ELLIPTICAL or tree.child(verb, SUBJECTS) is None:
        return None
    rest = {child.dep for child in tree.children[verb.i]} - {*SUBJECTS, *_LOOSE}
    if rest:
        return None
    beside = any(child.lower in ("whereas", "while") for child in tree.children[verb.i])
    if verb.dep == "conj" or (verb.dep == "advcl" and beside):
        return tree.words[verb.head]
    return next((child for child in tree.children[verb.i]
                 if child.dep in _LOOSE and is_verb(child) and child.i < verb.i), None)


def _about(tree: Tree, subject: Word | None, full: Statement, denied: bool) -> Statement:
    """A copy of the statement ``full`` about another ``subject``. ``denied`` says whether the copy
    is denied."""
    heads = _heads(tree, subject)
    phrases = frozenset(_phrase(tree, noun) for noun in _joined(tree, subject))
    said = full.said.difference(*full.agents, *full.patients).union(*phrases)
    found = replace(full, denied=denied, open=False, said=said, clause=said)
    if full.agents or not full.patients:
        return replace(found, agent=heads, agents=phrases)
    return replace(found, patient=heads, patients=phrases)


def _is_past(tree: Tree, verb: Word) -> bool:
    """Whether a verb is in the past tense or the perfect: "opened", "was opened", "has opened"."""
    return verb.tag == "VBD" or any(child.dep in ("aux", "auxpass") and child.lower in _PASTS
                                    for child in tree.children[verb.i])


def _has_ended(tree: Tree, verb: Word) -> bool:
    """Whether "until" says when the statement stopped being true: "it was the longest until 1964".
    """
    return any(
        child.lower in ENDINGS or any(below.lower in ENDINGS for below in tree.children[child.i])
        for child in tree.children[verb.i])


def _is_asserted(tree: Tree, verb: Word) -> bool:
    """Whether the sentence asserts the verb. It does not assert a purpose ("to allow visitors"), an
    "-ing" form that depends on another word ("the percentage of straying"), or an order ("check
    with your station")."""
    helped = [child for child in tree.children[verb.i] if child.dep in ("aux", "auxpass")]
    if verb.tag == "VBG":
        return bool(helped) or verb.dep not in ("pcomp", "advcl", "acl")
    if verb.tag == "VB" and not helped and verb.dep == "ROOT":
        return False  # "check with your station"
    return not (verb.dep in ("advcl", "acl") and any(child.tag == "TO" for child in helped))


def _stems(tree: Tree, bits: int) -> frozenset[str]:
    return frozenset(stem(word.lower) for word in tree.members(bits)
                     if word.tag[:2] in ("NN", "CD", "JJ"))


def _excluded(tree: Tree) -> int:
    """The words that a sentence excludes although it affirms its verb, as a bit mask over
    positions.

    An example is "on Sundays" in "it opens on weekdays, but not on Sundays".
    """
    bits = 0
    for word in tree.words:
        if word.lower in ("without", "except", "excluding") and word.dep == "prep":
            inner = tree.child(word, ("pobj",))  # "except Mondays from 10 to 18"
            bits |= tree.below[(inner or word).i] & ~(1 << word.i)
        elif word.dep == "neg" and not is_verb(tree.words[word.head]) and word.lower != "no" and (
                word.i + 1 == len(tree.words)
                or tree.words[word.i + 1].lower not in NOT_DENYING):
            head = tree.words[word.head]
            copula = head.dep in ("acomp", "attr")
            bits |= 0 if copula else tree.below[head.i] & ~((1 << word.i) - 1)
    return bits


def _has_clause(tree: Tree, word: Word) -> bool:
    """Whether a clause after ``word`` says what is false: "it is a myth that …", "the lie that …".
    """
    around = [*tree.children[word.i]]
    head = tree.words[word.head]
    if head.lemma in _COPULAS:
        around += [child for child in tree.children[head.i] if child.dep in ("ccomp", "csubj")]
    return any(child.dep in ("ccomp", "acl", "csubj") and is_verb(child) for child in around)


def _has_complement(tree: Tree, word: Word) -> bool:
    return any(child.dep in ("xcomp", "ccomp") or (
        child.lower == "from" and tree.child(child, ("pcomp",))) for child in tree.children[word.i])


def _key(tree: Tree, word: Word) -> tuple[str, bool, Word | None]:
    """The key under which a verb or adjective is compared with others.

    Returns:
        The key (a stem), whether agent and patient are swapped ("A lost to B" means "B beat A"),
        and the preposition before the patient, or ``None``.
    """
    for child in tree.children[word.i]:
        if (word.lemma, child.lower) in CONVERSES:
            return *CONVERSES[word.lemma, child.lower], child
    return *CONVERSES.get((word.lemma, ""), (stem(word.lemma), False)), None


def _stance(tree: Tree, verb: Word) -> tuple[bool, bool, bool]:
    """Whether the sentence denies the verb, whether it leaves the verb open, and whether "would"
    modifies it or a verb that governs it."""
    denied = is_open = would = False
    word, came_by = verb, ""
    while True:
        for child in tree.children[word.i]:
            denied ^= child.lower in NEVER and child.dep in ("advmod", "neg") and (
                child.dep != "neg" or is_negated(tree, word)) and (
                came_by != "ccomp" or word.lemma not in PRESUPPOSING)
            denied ^= child.lower in WRONGLY and child.dep == "advmod"
            is_open |= child.dep == "aux" and child.lower in MODALS and (
                came_by != "ccomp" or word.lemma not in PRESUPPOSING)
            would |= child.dep == "aux" and child.lower == "would"
            is_open |= child.lower in PERHAPS or (
                child.dep == "mark" and child.lower in ("if", "unless", "whether"))
            denied ^= word is verb and _is_nothing(tree, child)
        head = tree.words[word.head]
        if word.dep == "pcomp":
            denied ^= head.lower == "without"
            head = tree.words[head.head]
            if head.lemma not in DENIERS | WISHES:
                return denied, is_open, would
        # A clause before its governing verb may be loosely attached: "It is so, it may be said."
        beside = word.dep == "ccomp" and word.i < head.i
        if word.dep not in _GOVERNED or head.i == word.i or beside:
            return denied, is_open, would
        governor = head
        if head.lemma in _COPULAS:  # "it is false that", "it is likely that"
            governor = tree.child(head, ("acomp", "attr")) or head
        denied ^= governor.lemma in DENIERS
        is_open |= governor.lemma in WISHES
        if word.dep == "advcl":
            return denied, is_open, would
        word, came_by = head, word.dep


def _is_nothing(tree: Tree, child: Word) -> bool:
    """Whether a verb's subject or object is negative: "nobody came", "it has no pool"."""
    if child.dep not in ("nsubj", "nsubjpass", "dobj", "attr"):
        return False
    return child.lower in NOTHING or any(
        below.lower in ("no", "neither") and below.dep in ("det", "neg", "preconj")
        for below in tree.children[child.i])


def _participants(
    tree: Tree, verb: Word, through: Word | None
) -> tuple[Word | None, Word | None]:
    """The nouns that are agent and patient of a verb; ``None`` for one that is missing.

    ``through`` is the preposition before the patient, as in "lost to B", or ``None``.
    """
    subject = tree.child(verb, ("nsubj",))
    if through is not None:
        done_to = tree.child(through, ("pobj",))
    else:
        done_to = next((found for deps in (("nsubjpass",), ("dative",), ("dobj",))
                        if (found := tree.child(verb, deps)) is not None), None)
    by = next((c for c in tree.children[verb.i] if c.dep == "agent"), None)
    return tree.child(by, ("pobj",)) if by is not None else subject, done_to


def _heads(tree: Tree, noun: Word | None) -> frozenset[str]:
    """The stems of a noun and of the nouns compounded with it; empty for a pronoun."""
    if noun is None or noun.tag[:3] in ("PRP", "WP", "WDT"):
        return frozenset()
    names = [noun, *(child for child in tree.children[noun.i] if child.dep == "compound")]
    return frozenset(stem(word.lower) for word in names)


def _joined(tree: Tree, noun: Word | None) -> Iterator[Word]:
    """Yields a noun and the nouns coordinated with it: "breakfast, wifi and towels"."""
    while noun is not None and noun.tag[:3] not in ("PRP", "WP", "WDT"):
        yield noun
        noun = tree.child(noun, ("conj",))


def _phrase(tree: Tree, noun: Word) -> frozenset[str]:
    """The stems of a noun and of the modifiers before it, without articles."""
    return frozenset(stem(word.lower) for word in (noun, *tree.children[noun.i])
                     if word.i <= noun.i and word.lower not in ("the", "a", "an"))
