"""Compares the stances of two sentences: a sentence affirms something, denies it or leaves it open.

A claim and a sentence of the knowledge can have the same words and still disagree. Examples are
"Bluetooth is supported" and "it does not support Bluetooth", "raised" and "may raise", "Ann taught
Ben" and "Ben taught Ann". The rules compare only words that occur in both texts, and words
of opposite or converse meaning ("open" and "closed", "beat" and "lost to").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from q2_metric.models.english.opposites import CUES, OPPOSITES
from q2_metric.models.english.parser import Parser
from q2_metric.models.english.statements import Statement, statements
from q2_metric.models.english.tree import Tree
from q2_metric.models.english.vocabulary import SPEAKING
from q2_metric.text.alignment import stem
from q2_metric.text.overlap import stems

_SPEAKING = frozenset(map(stem, SPEAKING))
_LIFE = frozenset(map(stem, ("bear", "die")))
"""Verbs whose places are compared: "born in Brno; died in Vienna". Places of other verbs are not
compared, because one place may lie in the other ("in Brno", "in Moravia")."""
_JOINED = re.compile(r"[;(]|\b(?:and|but|while|whereas)\b")
"""Matches what can stand between two clauses of a sentence."""


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

        It disagrees if it denies what the claim affirms (or the reverse), leaves it open, says that
        it was true only until some time, or swaps who did something to whom. It also disagrees if
        the claim takes a verb from one of its clauses and a name from another.
        """
        cued = {pair: may_oppose(*pair) for pair in dict.fromkeys(pairs)}
        suspects = [pair for pair, cue in cued.items() if cue or may_misattach(*pair)]
        found = self._statements(suspects)
        verdicts = {(claim, known): (cued[claim, known] and disagree(found[claim], found[known]))
                    or misattached(found[claim], found[known]) for claim, known in suspects}
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


def may_misattach(claim: str, known: str) -> bool:
    """Whether a claim could combine words of several clauses of a sentence, so that both must be
    parsed. The sentence may lack at most one content word of the claim."""
    return bool(_JOINED.search(known)) and len(stems(claim) - stems(known)) <= 1


def _named(text: str) -> int:
    """The number of names that a text seems to contain, at most 2."""
    names = [word for word in text.split() if word[:1].isupper()]
    return min(2, len(names))


def disagree(claimed: Sequence[Statement], known: Sequence[Statement]) -> bool:
    """Whether the statements of the knowledge disagree with those of the claim.

    They disagree if, for some verb or adjective of the claim, one statement of the knowledge
    disagrees and none agrees. ``known`` are the statements of one sentence.
    """
    for one in claimed:
        if not one.asserted:
            continue
        alike = [other for other in claimed if other.key == one.key]
        verdicts = [_against(other, each) for other in alike for each in _closest(other, known)]
        if True in verdicts and False not in verdicts:
            return True
    return False


def _closest(claimed: Statement, known: Sequence[Statement]) -> list[Statement]:
    """The statements of the knowledge without those about other participants.

    Of the statements with the claim's key, only those remain whose participants share most words
    with the claim's. For the claim "cats are welcome" and the sentence "dogs are welcome, but cats
    are not", the statement about dogs is dropped.
    """
    own = frozenset[str]().union(*claimed.agents, *claimed.patients)
    shared = [len(own.intersection(frozenset[str]().union(*other.agents, *other.patients)))
              if other.key == claimed.key else 0 for other in known]
    most = max(shared, default=0)
    return [other for other, words in zip(known, shared, strict=True)
            if words == most or other.key != claimed.key]


def misattached(claimed: Sequence[Statement], known: Sequence[Statement]) -> bool:
    """Whether a claim combines a verb from one clause of a sentence with a name from another.

    "Bo directed it" does so if the sentence is "Ann directed it, and Bo wrote the score", and "Bo
    was born in Vienna" if it is "Bo (born in Brno; died in Vienna) sang". Only the first statement
    of the claim is examined. If the claim has several, its first verb must report what somebody
    said.
    """
    if not claimed or (len(claimed) > 1 and claimed[0].key not in _SPEAKING):
        return False
    one = claimed[0]
    if one.denied or not one.verbal:
        return False
    words = frozenset[str]().union(*(other.clause for other in known))
    same = [other for other in known if other.key == one.key and other.asserted]
    lives = [other.place for other in known if other.key in _LIFE and other.key != one.key]
    if one.key in _LIFE and one.place in lives and all(
            other.place and other.place.isdisjoint(one.place) for other in same):
        return bool(same)
    return bool(same) and all(_from_another_clause(one, other, words) for other in same)


def _from_another_clause(claimed: Statement, known: Statement, words: frozenset[str]) -> bool:
    """Whether the claim has a name of another clause of the sentence, in place of a name in the
    clause of ``known``. ``words`` are the stems of the whole sentence.

    Only names are compared, because other nouns may mean the same persons ("the duo").
    """
    pairs = [(one, other) for mine, others in (
        (claimed.agents, known.agents), (claimed.patients, known.patients))
        if len(mine) == len(others) == 1 for one in mine for other in others]
    return any(one <= claimed.names and other <= known.names and other - one
               and one - other and one <= words and (one - other).isdisjoint(known.clause)
               for one, other in pairs)


def affirms(claimed: Sequence[Statement], known: Sequence[Statement]) -> bool:
    """Whether the claim makes exactly one statement, and the knowledge makes the same statement.

    Verb, stance, tense and adverbs must be the same. The knowledge must name all participants of
    the claim with the same modifiers ("all rooms" are not "some rooms"). The knowledge may add
    circumstances to a past event, but not to a present state: "dogs are allowed in the garden" does
    not say that dogs are allowed everywhere.
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

    ``None`` if the two statements are about different things, or if the claim denies what the
    knowledge only leaves open.
    """
    opposite = known.key in OPPOSITES.get(claimed.key, ())
    turned = claimed.key in known.agent and known.key in claimed.agent  # "A is B" and "B is A"
    if claimed.key != known.key and not opposite and not turned:
        return None
    if _contrasted(claimed.agents, known.agents) or _contrasted(claimed.patients, known.patients):
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


def _contrasted(
    claimed: frozenset[frozenset[str]], known: frozenset[frozenset[str]]
) -> bool:
    """Whether two participants are told apart by opposite adjectives: "the old inn", "the new inn".
    """
    return any(theirs & OPPOSITES.get(word, frozenset())
               for own in claimed for word in own for theirs in known)


def _swapped(claimed: Statement, known: Statement) -> bool:
    """Whether agent and patient of the two statements are swapped: "Ann taught Ben", "Ben taught
    Ann"."""
    crossed = claimed.agent & known.patient and claimed.patient & known.agent
    return bool(crossed) and not claimed.agent & known.agent
