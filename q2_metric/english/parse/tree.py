"""Dependency trees of sentences. A set of words is stored as a bit mask over word positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from q2_metric.english.lexicon import CAUSATIVE, REPORTING

if TYPE_CHECKING:
    from spacy.tokens import Doc

@dataclass(frozen=True, slots=True)
class Word:
    """``tag`` is the part of speech, ``head`` the index of the head, ``label`` the entity type or
    "". ``goes_on``: in an entity, but not its first word. ``blank``: a blank follows."""

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
    """A dependency tree. ``below`` has each word's subtree as a bit mask. ``asks``: it ends with a
    question mark. ``raised``: the repair of the text added the first word's capital."""

    def __init__(self, doc: Doc, raised: bool = False) -> None:
        self.raised = raised
        self.words = [
            Word(token.i, token.text, token.lower_.replace("’", "'"), token.lemma_, token.tag_,
                 token.dep_, token.head.i, token.ent_type_, token.ent_iob_ == "I",
                 bool(token.whitespace_)) for token in doc]
        for word in self.words[1:]:
            if (word.lower == "that" and word.dep == "det"
                    and self.words[word.i - 1].lemma in REPORTING):
                # The parser takes "that" in "i know that veganism is …" for a determiner.
                head = self.words[self.words[word.head].head]
                self.words[word.i] = replace(word, dep="mark", head=head.i)
            elif word.tag == "VB" and self.is_bare(word):
                self.words[word.i] = replace(word, tag="VBP")
        self.children: list[list[Word]] = [[] for _ in self.words]
        for word in self.words:
            if word.head != word.i:
                self.children[word.head].append(word)
        # No cached_property: Python 3.11 guards it with a lock, which can stay held after a fork.
        self.below = [0] * len(self.words)
        for word in self.words:
            for ancestor in self.up(word):
                self.below[ancestor.i] |= 1 << word.i
        self.asks = any(word.text.endswith("?") for word in self.words[-2:])

    def is_bare(self, verb: Word) -> bool:
        """The parser takes "have" in "i know that orcs have swords" for an infinitive."""
        own = [word.dep for word in self.words[: verb.i] if word.head == verb.i]
        return "nsubj" in own and "aux" not in own and self.words[verb.head].lemma not in CAUSATIVE

    def child(self, word: Word, deps: Iterable[str]) -> Word | None:
        return next((child for child in self.children[word.i] if child.dep in deps), None)

    def members(self, bits: int) -> list[Word]:
        return [word for word in self.words if bits >> word.i & 1]

    def under(self, tops: Iterable[Word]) -> int:
        """The words of several subtrees, as in :attr:`below`."""
        return reduce(or_, (self.below[top.i] for top in tops), 0)

    def up(self, word: Word) -> Iterator[Word]:
        yield word
        while word.head != word.i:
            word = self.words[word.head]
            yield word


def bits_of(members: Iterable[Word]) -> int:
    return reduce(or_, (1 << word.i for word in members), 0)


def first(bits: int) -> int:
    """The position of the first word; -1 without words."""
    return (bits & -bits).bit_length() - 1


def is_verb(word: Word) -> bool:
    return word.tag[:2] in ("VB", "MD")


def is_plural(tree: Tree, noun: Word) -> bool:
    """Coordinated nouns are plural."""
    return noun.tag in ("NNS", "NNPS") or tree.child(noun, ("conj",)) is not None or (
        noun.lower in ("they", "we", "you", "these", "those", "people", "them", "police"))
