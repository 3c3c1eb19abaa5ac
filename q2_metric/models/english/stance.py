"""Compares the stances of two sentences: a sentence affirms something, denies it or leaves it open.

A claim and a sentence of the knowledge can have the same words and still disagree. Examples are
"Bluetooth is supported" and "it does not support Bluetooth", "raised" and "may raise", "Ann taught
Ben" and "Ben taught Ann". The rules compare only verbs and adjectives that occur in both texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from q2_metric.models.english.clauses import is_negated, says_false
from q2_metric.models.english.opposites import (
    CONVERSES,
    CUES,
    DENIERS,
    MODALS,
    NEVER,
    NOTHING,
    OPPOSITES,
    PERHAPS,
    WISHES,
    WRONGLY,
)
from q2_metric.models.english.parser import Parser
from q2_metric.models.english.tree import Tree, Word, is_verb
from q2_metric.models.english.vocabulary import (
    AUXILIARIES,
    ENDINGS,
    FALSE,
    NOT_DENYING,
    PRESUPPOSING,
)
from q2_metric.text.alignment import stem

_GOVERNED = ("ccomp", "xcomp", "acl", "pcomp", "advcl")
_PASTS = ("has", "have", "had", "was", "were", "did", "'ve")
_COPULAS = ("be", "become", "remain", "stay", "'s", "seem")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence states with one of its verbs or adjectives.

    Attributes:
        key: the stem of the verb or adjective. Only statements with related keys are compared.
        denied: whether the sentence denies the verb or adjective.
        open: whether the sentence leaves the statement open ("may", "plans to", "if").
        would: whether the verb has "would", which leaves open whether the event happened.
        past: whether the sentence says that the event happened.
        present: whether the verb is in the present tense ("opens").
        ended: whether the sentence says with "until" when the statement stopped being true.
        able: whether the sentence says that something can be done.
        agent: stems of the noun that says who acts, without coordinated nouns and adjectives.
        patient: the same for the noun that says who or what is acted on.
        agents: for each coordinated agent, the set of stems of its noun and the noun's modifiers.
        patients: the same for each coordinated patient.
        adverbs: stems of the verb's adverbs, without denials.
        said: stems of the nouns, numbers and adjectives that belong to the verb.
        without: stems of what is excluded ("but not on Sundays", "without a contract").
        asserted: whether the sentence asserts the verb. It does not in "to allow visitors" and "the
            percentage of straying".
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


class EnglishStances:
    """Tells whether a claim and a sentence of the knowledge agree or disagree about the same thing.

    Args:
        parser: parses the sentences. By default it is a separate parser, so that sentences of the
            knowledge do not push responses out of the shared parser's cache.
    """

    name = "stances"

    def __init__(self, parser: Parser | None = None) -> None:
        self.parser = parser or Parser()

    def opposed(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """For each (claim, sentence of the knowledge), whether the sentence disagrees.

        It disagrees if it denies what the claim affirms (or the reverse), leaves open what the
        claim affirms, or swaps who did something to whom.
        """
        suspects = [pair for pair in dict.fromkeys(pairs) if may_oppose(*pair)]
        found = self._statements(suspects)
        verdicts = {pair: disagree(found[pair[0]], found[pair[1]]) for pair in suspects}
        return [verdicts.get(pair, False) for pair in pairs]

    def affirmed(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """For each (claim, sentence of the knowledge), whether the sentence states the claim."""
        found = self._statements(pairs)
        return [affirms(found[claim], found[known]) for claim, known in pairs]

    def _statements(self, pairs: Sequence[tuple[str, str]]) -> dict[str, list[Statement]]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        return {text: [statement for sentence in parsed.sentences
                       for statement in statements(Tree(sentence.doc, sentence.raised))]
                for text, parsed in zip(texts, self.parser.parse(texts), strict=True)}


def may_oppose(claim: str, known: str) -> bool:
    """Whether a claim and a sentence of the knowledge could disagree, so that both must be parsed.

    They could if one contains a word that denies or leaves something open, or a word that has an
    opposite. They also could if each seems to name two participants ("Ann taught Ben").
    """
    return bool(CUES.search(claim) or CUES.search(known)) or _named(claim) == 2 == _named(known)


def _named(text: str) -> int:
    """The number of names that a text seems to contain, at most 2."""
    names = [word for word in text.split() if word[:1].isupper()]
    return min(2, len(names))


def disagree(claimed: Sequence[Statement], known: Sequence[Statement]) -> bool:
    """Whether the statements of the knowledge disagree with those of the claim.

    For some statement of the claim, at least one statement of the knowledge about the same thing
    must disagree, and no such statement may agree.
    """
    for one in claimed:
        if not one.asserted:
            continue
        alike = [other for other in claimed if other.key == one.key]
        verdicts = [_against(other, each) for other in alike for each in known]
        if True in verdicts and False not in verdicts:
            return True
    return False


def affirms(claimed: Sequence[Statement], known: Sequence[Statement]) -> bool:
    """Whether the claim makes exactly one statement, and the knowledge makes the same statement.

    Verb, stance and participants must be the same, with all modifiers ("all rooms" are not "some
    rooms"). The knowledge may add circumstances to a past event, but not to a present state: "dogs
    are allowed in the garden" does not say that dogs are allowed everywhere.
    """
    if len(claimed) != 1 or claimed[0].open or claimed[0].would or not claimed[0].agents | (
            claimed[0].patients):
        return False
    [one] = claimed
    return any(
        one.key == other.key and one.denied == other.denied and not (other.open or other.would)
        and one.past == other.past and one.adverbs == other.adverbs
        and one.agents <= other.agents and one.patients <= other.patients
        and _rest(one) <= _rest(other) and (one.past or _rest(one) == _rest(other))
        and not one.without and not other.without and not other.ended
        for other in known)


def _rest(statement: Statement) -> frozenset[str]:
    """The stems of a statement's circumstances: its words without verb, agents and patients."""
    return statement.said.difference(*statement.agents, *statement.patients, [statement.key])


def _against(claimed: Statement, known: Statement) -> bool | None:
    """Whether a statement of the knowledge disagrees with one of the claim.

    ``None`` if the two statements are about different things.
    """
    opposite = known.key in OPPOSITES.get(claimed.key, ())
    turned = claimed.key in known.agent and known.key in claimed.agent  # "A is B" and "B is A"
    if claimed.key != known.key and not opposite and not turned:
        return None
    kept_out = claimed.without & known.said or claimed.said & (known.without - known.said)
    if claimed.denied and (known.open or known.would) and not known.denied:
        return None  # "would have been released" and "was not released"
    if (claimed.denied != (known.denied ^ bool(kept_out))) != opposite:
        return True
    if known.ended and known.past and claimed.present and not (
            claimed.ended or claimed.denied or opposite):
        return True
    left_open = known.open or (known.would and claimed.past and not claimed.would)
    if left_open and not (claimed.open or claimed.able or claimed.denied or opposite):
        return True
    return not turned and _swapped(claimed, known)


def _swapped(claimed: Statement, known: Statement) -> bool:
    """Whether agent and patient of the two statements are swapped: "Ann taught Ben", "Ben taught
    Ann"."""
    crossed = claimed.agent & known.patient and claimed.patient & known.agent
    return bool(crossed) and not claimed.agent & known.agent


def statements(tree: Tree) -> Iterator[Statement]:
    """Yields what a sentence states with each of its verbs and predicate adjectives."""
    if tree.asks:
        return
    false = says_false(tree) and not any(
        word.lemma in FALSE and _has_clause(tree, word) for word in tree.words)
    without = _excluded(tree)
    for word in tree.words:
        predicate = is_verb(word) and word.dep not in AUXILIARIES and word.lemma not in _COPULAS
        complement = word.dep in ("acomp", "attr") and tree.words[word.head].lemma in _COPULAS
        if not predicate and not complement:
            continue
        if predicate and word.lemma in DENIERS | WISHES and _has_complement(tree, word):
            continue  # "failed to lower" is about lowering
        verb = tree.words[word.head] if complement else word
        denied, is_open, would = _stance(tree, verb)
        denied ^= complement and tree.child(word, ("neg",)) is not None
        denied ^= complement and any(c.lower == "no" for c in tree.children[word.i])
        key, converse, through = _key(tree, word)
        subject, done_to = _participants(tree, verb, through)
        if converse:
            subject, done_to = done_to, subject
        below = tree.below[verb.i]
        for child in tree.children[verb.i]:
            below &= ~tree.below[child.i] if child.dep == "conj" and is_verb(child) else below
        able = any(c.dep == "aux" and c.lower in ("can", "could") for c in tree.children[verb.i])
        yield Statement(key, denied ^ false, is_open, would, _is_past(tree, verb),
                        verb.tag in ("VBZ", "VBP"), _has_ended(tree, verb), able,
                        _heads(tree, subject), _heads(tree, done_to),
                        frozenset(_phrase(tree, noun) for noun in _joined(tree, subject)),
                        frozenset(_phrase(tree, noun) for noun in _joined(tree, done_to)),
                        frozenset(stem(child.lower) for child in tree.children[verb.i] if
                                  child.dep == "advmod" and child.lower not in NEVER),
                        _stems(tree, below & ~without), _stems(tree, below & without),
                        _is_asserted(tree, verb))


def _is_past(tree: Tree, verb: Word) -> bool:
    """Whether a verb says that something happened: "opened", "was opened", "has opened"."""
    return verb.tag == "VBD" or any(child.dep in ("aux", "auxpass") and child.lower in _PASTS
                                    for child in tree.children[verb.i])


def _has_ended(tree: Tree, verb: Word) -> bool:
    """Whether the verb is said to be true only until a time: "it was the longest until 1964"."""
    return any(
        child.lower in ENDINGS or any(below.lower in ENDINGS for below in tree.children[child.i])
        for child in tree.children[verb.i])


def _is_asserted(tree: Tree, verb: Word) -> bool:
    """Whether the sentence asserts the verb. It does not assert a purpose ("to allow visitors"), a
    topic ("the percentage of straying") or an order ("check with your station")."""
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
        if word.lower == "without" and word.dep == "prep":
            bits |= tree.below[word.i] & ~(1 << word.i)
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
        # A clause before its verb may be only loosely attached: "It is so, it may be said."
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
