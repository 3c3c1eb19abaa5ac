"""Where a dialogue mentions the entities of a pool: exactly, or as a recogniser heard them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from q2_metric.errors import InputError, MissingExtra
from q2_metric.knowledge.types import Dialogue, Pool, Turn
from q2_metric.text.alignment import FUNCTION_WORDS

Entity = tuple[str, str]
"""(domain, entity id)."""

Matching = Literal["exact", "fuzzy"]

CLOSE = 0.8
"""Similarity (rapidfuzz's ratio, blanks left out) from which a stretch of words is a name."""
SURE_LENGTH = 5
"""Letters up to which a name must be met exactly: short words are close to many."""
READINGS = 3
"""Hypotheses of a turn that are looked at."""
SLAB = 4096
"""Stretches of words that are compared at a time, for memory."""
COMMON = 0.04
"""Share of the entities whose names or texts have a word, from which it is a common word."""

_DIGITS = "zero one two three four five six seven eight nine".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_TEENS = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a turn: words [start, end) of :func:`spoken_words`, and how close, in (0, 1].

    ``share`` is how much of the name was said, in (0, 1].
    """

    entity: Entity
    turn: int
    start: int
    end: int
    closeness: float
    share: float


def plain_words(text: str) -> list[str]:
    """Lower-case words without accents and punctuation; "&" is "and".

    >>> plain_words("Café B&B's")
    ['cafe', 'b', 'and', 'bs']
    """
    text = unicodedata.normalize("NFKD", text.lower().replace("&", " and "))
    text = "".join(c for c in text if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", re.sub(r"['’`]", "", text))


def spoken_words(text: str) -> list[str]:
    """As :func:`plain_words`, with numbers as they are said.

    >>> spoken_words("Nineteen 06, 7D, 24 Hour")
    ['nineteen', 'zero', 'six', 'seven', 'd', 'twenty', 'four', 'hour']
    """
    words: list[str] = []
    for word in plain_words(text):
        for part in re.findall(r"\d+|\D+", word):
            words += _said(part) if part.isdigit() else [part]
    return words


def _said(digits: str) -> list[str]:
    if len(digits) == 2 and digits[0] == "1":
        return [_TEENS[int(digits[1])]]
    if len(digits) == 2 and digits[0] > "1":
        ten = [_TENS[int(digits[0])]]
        return ten if digits[1] == "0" else [*ten, _DIGITS[int(digits[1])]]
    return [_DIGITS[int(digit)] for digit in digits]


def entities_of(pool: Pool) -> dict[Entity, str]:
    """What each entity of the pool is called in a dialogue; bare passages have none."""
    named = {(s.domain, s.entity_id): s.subject for s in pool}
    return {entity: name for entity, name in named.items() if name}


def latest_first(mentions: Iterable[Mention]) -> list[Entity]:
    """The entities, the most recently mentioned first, each once."""
    order = sorted(mentions, key=lambda m: (-m.turn, -m.end, -m.closeness * m.share))
    return list(dict.fromkeys(mention.entity for mention in order))


class MentionFinder:
    """Finds the entities of one pool in dialogues.

    Args:
        pool: whose entities.
        matching: "exact": a name's words stand in the turn as they are (case, accents,
            punctuation and "06" for "zero six" aside). "fuzzy": also names that were misheard,
            split or said without their common words ("the yale" for "Yale Hotel"), in the
            turn or in a recogniser's other hypotheses.

    Raises:
        InputError: another matching.
        MissingExtra: fuzzy without rapidfuzz.
    """

    def __init__(self, pool: Pool, matching: Matching = "exact") -> None:
        if matching not in ("exact", "fuzzy"):
            raise InputError(f"names are matched 'exact' or 'fuzzy', not {matching!r}")
        self.matching = matching
        named = entities_of(pool)
        self._exact: dict[tuple[str, ...], list[Entity]] = defaultdict(list)
        for entity, name in named.items():
            if words := tuple(spoken_words(name)):
                self._exact[words].append(entity)
        self._longest = max((len(words) for words in self._exact), default=0)
        if matching == "fuzzy":
            self._process, self._fuzz = _rapidfuzz()
            self._common = _common_words(pool)
            self._variants, self._rare = _variants(named, self._common)
            self._names = list(self._variants)

    @staticmethod
    def cached(matching: Matching) -> Callable[[Pool], MentionFinder]:
        """A finder for each pool, made once (of the last few pools)."""
        return lru_cache(maxsize=4)(lambda pool: MentionFinder(pool, matching))

    def entities(self, dialogue: Dialogue) -> list[Entity]:
        """The mentioned entities, the most recent first."""
        return latest_first(self.mentions(dialogue))

    def mentions(self, dialogue: Dialogue) -> list[Mention]:
        """The mentions in dialogue order; within a turn a name inside a longer one is none."""
        found: list[Mention] = []
        for i, turn in enumerate(dialogue.turns):
            of_turn = self._exact_mentions(i, turn)
            if self.matching == "fuzzy":
                of_turn += self._fuzzy_mentions(i, turn)
            found += _outermost(of_turn)
        return found

    def _exact_mentions(self, i: int, turn: Turn) -> list[Mention]:
        words = spoken_words(turn.text)
        return [
            Mention(entity, i, start, start + size, 1.0, 1.0)
            for size in range(1, self._longest + 1)
            for start in range(len(words) - size + 1)
            for entity in self._exact.get(tuple(words[start : start + size]), ())
        ]

    def _fuzzy_mentions(self, i: int, turn: Turn) -> list[Mention]:
        places: dict[str, tuple[int, int, str]] = {}
        for reading in turn.readings[:READINGS]:
            words = spoken_words(reading)
            for size in range(1, self._longest + 3):
                for start in range(len(words) - size + 1):
                    part = words[start : start + size]
                    joined = "".join(part)
                    if len(joined) > 2:
                        rare = "".join(word for word in part if word not in self._common)
                        places[joined] = (start, start + size, rare)
        if not places or not self._names:
            return []
        best: dict[tuple[Entity, int, int], Mention] = {}
        for said, name, close in self._near(list(places)):
            start, end, rare = places[said]
            # "a motel" is close to "Ram's Hotel", but not in the word that makes the name.
            name_rare = self._rare[name]
            if close < 1:
                if not name_rare or (len(name_rare) <= SURE_LENGTH and rare != name_rare):
                    continue
                close = min(close, self._fuzz.ratio(rare, name_rare) / 100)
                if close < CLOSE:
                    continue
            for entity, share in self._variants[name]:
                mention = Mention(entity, i, start, end, close, share)
                key = (entity, start, end)
                if key not in best or _strength(best[key]) < _strength(mention):
                    best[key] = mention
        return list(best.values())

    def _near(self, heard: Sequence[str]) -> Iterator[tuple[str, str, float]]:
        """The stretches of words that are close to a name, with the name and how close."""
        for first in range(0, len(heard), SLAB):
            part = heard[first : first + SLAB]
            closeness = self._process.cdist(
                part, self._names, scorer=self._fuzz.ratio, score_cutoff=100 * CLOSE
            )
            for row, column in zip(*closeness.nonzero(), strict=True):
                yield part[row], self._names[column], float(closeness[row, column]) / 100


def _strength(mention: Mention) -> float:
    return mention.closeness * mention.share


def _outermost(mentions: Sequence[Mention]) -> list[Mention]:
    """Without the mentions that overlap a longer or closer one of another name."""
    order = sorted(
        mentions, key=lambda m: (-(m.end - m.start) * _strength(m) ** 8, m.start, m.end)
    )
    kept: list[Mention] = []
    for mention in order:
        same = [k for k in kept if k.start < mention.end and mention.start < k.end]
        # Entities of one name share a place; so does what is just as close.
        tied = all((k.start, k.end) == (mention.start, mention.end)
                   and _strength(k) == _strength(mention) for k in same)
        if tied and mention.entity not in {k.entity for k in same}:
            kept.append(mention)
    return sorted(kept, key=lambda m: (m.start, m.end))


def _common_words(pool: Pool) -> frozenset[str]:
    """Words that many entities have in their names or texts: they tell nobody apart."""
    texts: dict[Entity, set[str]] = defaultdict(set)
    for snippet in pool:
        texts[snippet.domain, snippet.entity_id].update(spoken_words(snippet.text))
    entities = Counter(word for words in texts.values() for word in words)
    most = max(1.0, COMMON * len(texts))
    return FUNCTION_WORDS | {word for word, count in entities.items() if count > most}


def _variants(
    named: dict[Entity, str], common: frozenset[str]
) -> tuple[dict[str, list[tuple[Entity, float]]], dict[str, str]]:
    """Ways to say the names, blanks left out, with the entities and the share that is said.

    The second result are the letters of each way that are of its rare words.
    """
    variants: dict[str, list[tuple[Entity, float]]] = defaultdict(list)
    rare_of: dict[str, str] = {}
    for entity, name in named.items():
        words = spoken_words(name)
        rare = [word for word in words if word not in common]
        full, short = "".join(words), "".join(rare)
        if full:
            variants[full].append((entity, 1.0))
            rare_of[full] = short
        if SURE_LENGTH <= len(short) < len(full):
            variants[short].append((entity, (len(rare) + 1) / (len(words) + 1)))
            rare_of[short] = short
    return dict(variants), rare_of


def _rapidfuzz() -> tuple[Any, Any]:
    try:
        return import_module("rapidfuzz.process"), import_module("rapidfuzz.fuzz")
    except ImportError as error:
        raise MissingExtra("fuzzy matching of names", "rapidfuzz", "knowledge") from error
