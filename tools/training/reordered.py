"""Makes training pairs whose hypothesis has the words of its premise in another order.

In supported pairs, the new order keeps the meaning: "A and B" becomes "B and A", or "in 1889" moves
to the front. In the other pairs, two parts are swapped, such as subject and object, so that the
meaning changes. Both are needed: a network that has seen a new order only in unsupported pairs
takes every new order for an error, and one that has never seen a swap ignores the order of words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tools.training.examples import ExampleSource, TrainingExample
from tools.training.synthetic import SYNONYMS

Words = list[str]
"""The text of each token of a sentence. The text "" marks a removed token."""
Change = Callable[[Any, Words, random.Random], bool]
"""A function ``change(doc, words, rng)`` that changes the words of a parsed sentence in place.

It returns ``False`` if it found nothing to change."""


def reordered(docs: Iterable[Any], rng: random.Random) -> ExampleSource:
    """Makes at most two pairs from each sentence, one supported and one not.

    Args:
        docs: sentences that spaCy has parsed.
    """
    rows = [example for doc in docs for example in _pairs(doc, rng)]
    return ExampleSource("reordered", 1.0, rows)


def _pairs(doc: Any, rng: random.Random) -> list[TrainingExample]:
    found = []
    for label, change in (("supported", None), ("not_supported", _exchange)):
        words: Words = [token.text for token in doc]
        if change is not None and not change(doc, words, rng):
            continue
        moved = any([_turn_list(doc, words, rng), _front(doc, words, rng)])
        if label == "supported" and not (moved or rng.random() < 0.35):
            continue
        for token in doc:
            if words[token.i] == token.text and rng.random() < 0.3:
                words[token.i] = SYNONYMS.get(token.text, token.text)
        text = re.sub(r"\s+", " ", " ".join(words)).strip()
        found.append(TrainingExample(text.lower() if rng.random() < 0.5 else text, doc.text, label,
                                     f"reordered_{label}"))
    return found


def _put(words: Words, one: Any, two: Any) -> None:
    """Swaps two spans of a parsed sentence in ``words``, in place. The spans must not overlap."""
    first, second = ([words[t.i] for t in span] for span in (one, two))
    for span, text in ((one, second), (two, first)):
        for place, token in enumerate(span):
            words[token.i] = " ".join(w for w in text if w) if place == 0 else ""


def _exchange(doc: Any, words: Words, rng: random.Random) -> bool:
    """Swaps two parts of a sentence that play different roles, which changes its meaning.

    They are two names or numbers of one type, two adjectives, or a subject and an object. Returns
    ``False`` if the sentence has no such two parts.
    """
    kinds: list[Callable[[Any], Sequence[tuple[Any, Any]]]] = [_entities, _modifiers]
    rng.shuffle(kinds)
    # Most sentences have a subject and an object. Only some of them are used.
    for kind in [*kinds, _phrases] if rng.random() < 0.4 else kinds:
        choices = kind(doc)
        if choices:
            _put(words, *rng.choice(choices))
            return True
    return False


def _listed(one: Any, two: Any) -> bool:
    """Whether the heads of two spans depend on each other, as in the list "A and B"."""
    first, second = one.root, two.root
    listed = second.dep_ == "conj" and second in first.subtree
    return listed or first.head == second or second.head == first


def _apart(spans: Sequence[Any]) -> list[tuple[Any, Any]]:
    """All pairs of ``spans`` with different texts that neither overlap nor stand in one list."""
    return [(one, two) for i, one in enumerate(spans) for two in spans[i + 1 :]
            if one.text.lower() != two.text.lower() and not _listed(one, two)
            and one.end <= two.start]


def _entities(doc: Any) -> list[tuple[Any, Any]]:
    """Pairs of named entities of one spaCy type, such as two persons or two dates."""
    return [(one, two) for one, two in _apart(list(doc.ents)) if one.label_ == two.label_]


def _modifiers(doc: Any) -> list[tuple[Any, Any]]:
    """Pairs of adjectives that modify different nouns."""
    found = [doc[t.i : t.i + 1] for t in doc if t.dep_ == "amod" and t.tag_ == "JJ" and t.is_alpha]
    return [(one, two) for one, two in _apart(found) if one.root.head != two.root.head]


def _phrases(doc: Any) -> list[tuple[Any, Any]]:
    """Pairs of noun phrases of which exactly one is a subject; the other is an object."""
    found = [c for c in doc.noun_chunks if c.root.pos_ != "PRON"
             and c.root.dep_ in ("nsubj", "nsubjpass", "dobj", "pobj")]
    return [(one, two) for one, two in _apart(found) if one.root.lemma_ != two.root.lemma_
            and one.root.dep_.startswith("nsubj") != two.root.dep_.startswith("nsubj")]


def _turn_list(doc: Any, words: Words, rng: random.Random) -> bool:
    """Turns the first "A and B" of a sentence into "B and A". Returns whether there was one.

    Lists with modifiers are left as they are, and so are some lists at random.
    """
    for token in doc:
        members = [c for c in token.children if c.dep_ == "conj"]
        if (len(members) != 1 or token.pos_ not in ("NOUN", "PROPN") or rng.random() < 0.3
                or any(c.dep_ == "conj" for c in members[0].children)):
            continue
        links = [c for c in token.children if c.dep_ == "cc"]
        last = members[0]
        first = doc[token.left_edge.i : links[0].i] if len(links) == 1 else None
        second = doc[last.left_edge.i : last.right_edge.i + 1]
        # In "old men and women", the women may be old too. Such lists are not changed.
        if (first and links[0].i + 1 == second.start and first.end > token.i
                and len(first) <= 5 and len(second) <= 5
                and not any(t.dep_ in ("det", "amod", "poss", "compound", "prep")
                            for t in [*token.children, *last.children])):
            _put(words, first, second)
            return True
    return False


def _front(doc: Any, words: Words, rng: random.Random) -> bool:
    """Moves a final phrase such as "in 1889" to the front of a sentence.

    Returns ``False`` if there is no such phrase, and in 30 % of the sentences at random.
    """
    root = next((t for t in doc if t.dep_ == "ROOT"), None)
    if root is None or rng.random() < 0.3:
        return False
    ends = [c for c in root.children if c.dep_ == "prep" and c.i > root.i
            and c.text.lower() in ("in", "on", "at", "during", "after", "before", "since", "from")]
    for phrase in ends:
        span = doc[phrase.left_edge.i : phrase.right_edge.i + 1]
        last = all(t.is_punct for t in doc[span.end :])
        if last and 2 <= len(span) <= 8 and doc[0].text.lower() != span[0].text.lower():
            moved = [words[t.i] for t in span]
            for token in span:
                words[token.i] = ""
            words[0] = " ".join([w for w in moved if w] + [",", words[0]])
            return True
    return False
