"""Finds the entities that a dialogue mentions, also if a speech recogniser misheard their names."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from q2_metric.errors import optional
from q2_metric.knowledge.types import Dialogue, Pool, Turn
from q2_metric.text.alignment import STOP_WORDS

Entity = tuple[str, str]
"""(domain, entity id)"""
_Forms = dict[str, tuple[str, list[tuple[Entity, float]]]]

Matching = Literal["exact", "fuzzy"]

CLOSE = 0.8
"""Minimum similarity of a name and its mention (rapidfuzz's ratio, without blanks)."""
SURE_LENGTH = 5
"""Names with at most this many letters must match exactly: short words resemble many others."""
READINGS = 3
"""Transcriptions of a turn in which names are searched."""
SLAB = 4096
"""Number of word sequences that are compared at a time, to limit memory."""
COMMON = 0.04
"""A word that more than this share of the entities has does not distinguish them."""

_DIGITS = "zero one two three four five six seven eight nine".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()


class NameMention(NamedTuple):
    """The words [start, end) of a turn (of :func:`spoken_words`) mention an entity's name.
    ``closeness`` is their similarity, ``share`` the part of the name that was said: in (0, 1]."""

    entity: Entity
    turn: int
    start: int
    end: int
    closeness: float
    share: float

    @property
    def strength(self) -> float:
        return self.closeness * self.share


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents and punctuation; "&" becomes "and".

    >>> plain_words("Café B&B's")
    ['cafe', 'b', 'and', 'bs']
    """
    text = unicodedata.normalize("NFKD", text.lower().replace("&", " and "))
    text = "".join(c for c in text if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", re.sub(r"['’`]", "", text))


def spoken_words(text: str) -> list[str]:
    """The :func:`plain_words` of a text, with numbers as they are spoken.

    >>> spoken_words("Nineteen 06, 7D, 24 Hour")
    ['nineteen', 'zero', 'six', 'seven', 'd', 'twenty', 'four', 'hour']
    """
    words: list[str] = []
    for word in plain_words(text):
        for part in re.findall(r"\d+|\D+", word):
            words += _said(part) if part.isdigit() else [part]
    return words


def _said(digits: str) -> list[str]:
    if len(digits) != 2 or digits[0] == "0":
        return [_DIGITS[int(digit)] for digit in digits]
    ten, one = map(int, digits)
    if ten == 1:
        return [_TEENS[one]]
    return [_TENS[ten], _DIGITS[one]] if one else [_TENS[ten]]


class MentionFinder:
    """Finds the entities of one knowledge pool in dialogues. "exact" matching finds a name if all
    its words occur in the turn. "fuzzy" also finds names that were misheard, split, or shortened by
    their common words ("the yale" for "Yale Hotel"), and searches the speech recogniser's other
    hypotheses. MissingExtra: "fuzzy" needs rapidfuzz, which is not installed."""

    def __init__(self, pool: Pool, matching: Matching = "exact") -> None:
        self.matching = matching
        # Plain passages have no entity.
        subjects = {(s.domain, s.entity_id): s.subject for s in pool}
        named = {entity: name for entity, name in subjects.items() if name}
        self._exact: dict[tuple[str, ...], list[Entity]] = defaultdict(list)
        for entity, name in named.items():
            if words := tuple(spoken_words(name)):
                self._exact[words].append(entity)
        self._longest = max((len(words) for words in self._exact), default=0)
        if matching == "fuzzy":
            self._process, self._fuzz = (
                optional(f"rapidfuzz.{module}", "fuzzy matching of names", "rapidfuzz",
                         "knowledge") for module in ("process", "fuzz"))
            self._common = _common_words(pool)
            self._forms = _forms(named, self._common)

    def entities(self, dialogue: Dialogue) -> list[Entity]:
        """The mentioned entities, each once; the entity mentioned last comes first."""
        order = sorted(self.mentions(dialogue), key=lambda m: (-m.turn, -m.end, -m.strength))
        return list(dict.fromkeys(mention.entity for mention in order))

    def mentions(self, dialogue: Dialogue) -> list[NameMention]:
        """In the order of the dialogue, without names inside a longer one."""
        mentions: list[NameMention] = []
        for i, turn in enumerate(dialogue.turns):
            of_turn = [NameMention(entity, i, start, start + len(part), 1.0, 1.0)
                       for start, part in _parts(spoken_words(turn.text), self._longest)
                       for entity in self._exact.get(tuple(part), ())]
            if self.matching == "fuzzy":
                of_turn += self._fuzzy_mentions(i, turn)
            mentions += _outermost(of_turn)
        return mentions

    def _fuzzy_mentions(self, i: int, turn: Turn) -> list[NameMention]:
        places: dict[str, tuple[int, int, str]] = {}
        for reading in turn.readings[:READINGS]:
            for start, part in _parts(spoken_words(reading), self._longest + 2):
                joined = "".join(part)
                if len(joined) > 2:
                    rare = "".join(word for word in part if word not in self._common)
                    places[joined] = (start, start + len(part), rare)
        best: dict[tuple[Entity, int, int], NameMention] = {}
        for said, name, close in self._near(list(places)):
            start, end, rare = places[said]
            # "a motel" resembles "Ram's Hotel", but not the word that distinguishes the name.
            name_rare, entities = self._forms[name]
            if close < 1:
                if not name_rare or (len(name_rare) <= SURE_LENGTH and rare != name_rare):
                    continue
                close = min(close, self._fuzz.ratio(rare, name_rare) / 100)
                if close < CLOSE:
                    continue
            for entity, share in entities:
                mention = NameMention(entity, i, start, end, close, share)
                key = (entity, start, end)
                if key not in best or best[key].strength < mention.strength:
                    best[key] = mention
        return list(best.values())

    def _near(self, heard: Sequence[str]) -> Iterator[tuple[str, str, float]]:
        """Yields (words, name, similarity) for words, without blanks, that resemble a name."""
        names = list(self._forms)
        for first in range(0, len(heard), SLAB):
            part = heard[first : first + SLAB]
            closeness = self._process.cdist(
                part, names, scorer=self._fuzz.ratio, score_cutoff=100 * CLOSE)
            for row, column in zip(*closeness.nonzero(), strict=True):
                yield part[row], names[column], float(closeness[row, column]) / 100


def _parts(words: Sequence[str], longest: int) -> Iterator[tuple[int, Sequence[str]]]:
    """Yields the sequences of up to ``longest`` words, shorter ones first, and where they start."""
    for size in range(1, longest + 1):
        for start in range(len(words) - size + 1):
            yield start, words[start : start + size]


def _outermost(mentions: Sequence[NameMention]) -> list[NameMention]:
    """Leaves out mentions that overlap a longer or closer one of another name."""
    order = sorted(mentions, key=lambda m: (-(m.end - m.start) * m.strength**8, m.start, m.end))
    kept: list[NameMention] = []
    for mention in order:
        same = [k for k in kept if k.start < mention.end and mention.start < k.end]
        # Entities with one name are mentioned at one place. So are entities with equally close
        # names.
        tied = all((k.start, k.end) == (mention.start, mention.end)
                   and k.strength == mention.strength for k in same)
        if tied and mention.entity not in {k.entity for k in same}:
            kept.append(mention)
    return sorted(kept, key=lambda m: (m.start, m.end))


def _common_words(pool: Pool) -> frozenset[str]:
    texts: dict[Entity, set[str]] = defaultdict(set)
    for snippet in pool:
        texts[snippet.domain, snippet.entity_id].update(spoken_words(snippet.text))
    entities = Counter(word for words in texts.values() for word in words)
    most = max(1.0, COMMON * len(texts))
    return STOP_WORDS | {word for word, count in entities.items() if count > most}


def _forms(named: dict[Entity, str], common: frozenset[str]) -> _Forms:
    """The full and the short form of each name, without blanks ("yalehotel", "yale"): the letters
    of its words that are not common, and the entities with the share of the name that it has."""
    forms: _Forms = {}
    for entity, name in named.items():
        words = spoken_words(name)
        rare = [word for word in words if word not in common]
        full, short = "".join(words), "".join(rare)
        if full:
            forms.setdefault(full, (short, []))[1].append((entity, 1.0))
        if SURE_LENGTH <= len(short) < len(full):
            share = (len(rare) + 1) / (len(words) + 1)
            forms.setdefault(short, (short, []))[1].append((entity, share))
    return forms
