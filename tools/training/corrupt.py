"""Changes a clause of a sentence so that the sentence no longer supports it.

A change replaces a name, number or word, swaps phrases, negates the clause, or adds a phrase.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Change = tuple[dict[int, str], str, str]
"""A change of a clause, with three parts: the new words by index of the replaced token, a text to
add at the end, and the label of the changed clause."""


@dataclass
class Replacements:
    """Material for changes: named entities by type, words by part-of-speech tag, and prepositional
    phrases."""

    entities: dict[str, list[str]]
    words: dict[str, list[str]]
    phrases: list[str]


def collect(docs: Iterable[Any]) -> Replacements:
    """Collects the entities, words and prepositional phrases of parsed sentences."""
    pool = Replacements(defaultdict(list), defaultdict(list), [])
    for doc in docs:
        for entity in doc.ents:
            pool.entities[entity.label_].append(entity.text)
        for token in doc:
            if token.tag_ in ("NN", "NNS", "VBD", "VBN", "VBZ", "JJ", "JJS") and token.is_alpha:
                pool.words[token.tag_].append(token.text.lower())
            if token.dep_ == "prep" and token.head.pos_ == "VERB":
                words = list(token.subtree)
                if 2 <= len(words) <= 7 and words[-1].i - words[0].i + 1 == len(words):
                    pool.phrases.append("".join(w.text_with_ws for w in words).strip())
    return pool


@dataclass
class ParsedClause:
    """A clause of a parsed sentence: the tokens of its subject, and its other tokens."""

    doc: Any
    subject: Sequence[Any]
    rest: Sequence[Any]

    @cached_property
    def chosen(self) -> set[int]:
        """The indices of the clause's tokens."""
        return {t.i for t in [*self.subject, *self.rest]}

    @cached_property
    def entities(self) -> list[Any]:
        """The named entities that lie inside the clause."""
        return [e for e in self.doc.ents if all(t.i in self.chosen for t in e)]

    @cached_property
    def premise(self) -> str:
        return str(self.doc.text.lower())


def corrupt(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """A random change of the clause; ``None`` if no kind of change is possible.

    ``pool`` contains names, words and phrases that can be inserted.
    """
    kinds = [_entity, _entity, _other_entity, _word, _word, _word, _word, _own_noun, _own_noun,
             _negation, _suffix, _suffix, _subject, _repeat, _swap, _swap, _swap, _swap]
    rng.shuffle(kinds)
    found = (kind(clause, pool, rng) for kind in kinds)
    return next((change for change in found if change is not None), None)


def _in_place(group: Any, text: str, label: str) -> Change:
    """The change that replaces a group of tokens by ``text``. ``label`` is the new label."""
    return {t.i: (text if n == 0 else "") for n, t in enumerate(group)}, "", label


def _entity(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces an entity by another entity of its type, or its number by another number."""
    if not clause.entities:
        return None
    entity = rng.choice(clause.entities)
    new = other_number(entity.text, rng) if rng.random() < 0.5 else None
    new = new or rng.choice(pool.entities[entity.label_])
    return None if new.lower() in clause.premise else _in_place(entity, new, "refuted")


def _other_entity(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces an entity by another entity of the same type from the sentence."""
    if not clause.entities or len(clause.doc.ents) < 2:
        return None
    entity = rng.choice(clause.entities)
    others = [e for e in clause.doc.ents
              if e.text.lower() != entity.text.lower() and e.label_ == entity.label_]
    return _in_place(entity, rng.choice(others).text, "not_supported") if others else None


def _word(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces a word by another word with the same part-of-speech tag."""
    places = [t for t in clause.rest if t.tag_ in pool.words and t.is_alpha and not t.ent_type_
              and t.lemma_ not in ("be", "have", "do") and t.dep_ not in ("aux", "auxpass")]
    if not places:
        return None
    place = rng.choice(places)
    new = rng.choice(pool.words[place.tag_])
    if new in clause.premise or new[:4] == place.text.lower()[:4]:
        return None
    return {place.i: new}, "", "not_supported"


def _own_noun(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces a noun by another noun of the sentence."""
    nouns = ("NOUN", "PROPN")
    places = [t for t in clause.rest if t.pos_ in nouns and not t.ent_type_]
    others = [t for t in clause.doc if t.pos_ in nouns]
    if not places:
        return None
    place = rng.choice(places)
    other = rng.choice(others)
    if other.lemma_ == place.lemma_ or abs(other.i - place.i) <= 1:
        return None
    return {place.i: other.text}, "", "not_supported"


def _negation(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Adds "not" after the auxiliary verb."""
    helper = next((t for t in clause.rest if t.dep_ in ("aux", "auxpass", "ROOT", "conj")
                   and t.pos_ == "AUX"), None)
    if helper is None or any(t.dep_ == "neg" for t in clause.rest):
        return None
    return {helper.i: f"{helper.text} not"}, "", "refuted"


def _suffix(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Adds a prepositional phrase from another sentence at the end."""
    phrase = rng.choice(pool.phrases)
    if phrase.lower() in clause.premise:
        return None
    joined = rng.choice((f" {phrase}", f" and it was made {phrase}", f" {phrase}"))
    return {}, joined, "not_supported"


def _subject(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces the subject by another noun phrase of the sentence."""
    own = {t.i for t in clause.subject}
    others = [c for c in clause.doc.noun_chunks
              if all(t.i not in own for t in c) and c.root.pos_ != "PRON" and len(c) <= 5]
    if not others or rng.random() < 0.5:
        return None
    return _in_place(clause.subject, rng.choice(others).text, "not_supported")


def _swap(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Swaps two noun phrases of the clause."""
    phrases = [c for c in clause.doc.noun_chunks if all(t.i in clause.chosen for t in c)
               and c.root.pos_ != "PRON" and c.root.dep_ != "conj"]
    if len(phrases) < 2:
        return None
    one, two = rng.sample(phrases, 2)
    if one.root.lemma_ == two.root.lemma_:
        return None
    swapped = {t.i: "" for phrase in (one, two) for t in phrase}
    swapped |= {one.start: two.text, two.start: one.text}
    return swapped, "", "not_supported"


def _repeat(clause: ParsedClause, pool: Replacements, rng: random.Random) -> Change | None:
    """Replaces a noun of the clause by another noun of the clause, which then occurs twice."""
    nouns = [t for t in clause.rest if t.pos_ == "NOUN"]
    if len(nouns) < 2:
        return None
    first, second = rng.sample(nouns, 2)
    return {second.i: first.text}, "", "not_supported"


def other_number(text: str, rng: random.Random) -> str | None:
    """The text with its first or its last digit changed; ``None`` if it has no digit."""
    for at, character in enumerate(text):
        if character.isdigit():
            new = rng.choice([d for d in "123456789" if d != character])
            place = at if rng.random() < 0.5 else max(
                i for i, c in enumerate(text) if c.isdigit())
            if text[place] == new:
                new = "7" if text[place] != "7" else "4"
            return text[:place] + new + text[place + 1 :]
    return None
