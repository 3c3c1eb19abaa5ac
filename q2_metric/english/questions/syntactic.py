"""Writes questions from the dependency parse by rules. A span is removed from its clause, and the
rest of the clause becomes a question about the span: "it was created by matt groening" → "Who was
it created by?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from q2_metric.english.lexicon import IDIOMS, LIGHT_NOUNS, NOT_ASKED
from q2_metric.english.parse.clauses import clause_of, clause_verb, is_askable
from q2_metric.english.parse.parser import ParsedSentence, parse_responses
from q2_metric.english.parse.phrases import has_complement
from q2_metric.english.parse.tree import Tree
from q2_metric.english.questions.asking import ask
from q2_metric.english.questions.gaps import gaps
from q2_metric.text.normalise import normalise
from q2_metric.types import Span

if TYPE_CHECKING:
    from spacy.tokens import Span as Tokens

MAX_QUESTIONS = 5
"""The Q² paper's beam search also returns 5."""
MAX_WORDS = 30
"""The parser is rarely right about longer clauses."""
_STUTTER = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)


def is_sound(question: str, span: str) -> bool:
    asked, answer = normalise(question), normalise(span)
    length = len(question.split())
    return (2 < length <= MAX_WORDS and f" {answer} " not in f" {asked} "
            and not _STUTTER.search(question))


def questions(tree: Tree, tokens: Tokens, label: str) -> list[str]:
    """The candidate questions about some words of a sentence, best first."""
    members, text = tree.words[tokens.start : tokens.end], tokens.text
    inside = range(tokens.start, tokens.end)
    root = next(w for w in members if w.head not in inside or w.head == w.i)
    if text.lower() in NOT_ASKED - ({"us"} if label else set()) or root.tag in ("WP", "WDT"):
        return []
    cut = members[0].goes_on or any(
        word.goes_on or (word.text == "-" and not members[-1].blank)
        for word in tree.words[tokens.end : tokens.end + 1])
    idiom = root.dep == "pobj" and root.lemma in IDIOMS and len(members) < 4
    light = root.lemma in LIGHT_NOUNS or root.dep != "attr"
    # An unknown word, a piece of an entity, an idiom, or a noun that says little alone.
    if "__" in text or cut or (idiom and "long" not in text) or (
            not label and light and has_complement(tree, root)):
        return []
    verb = clause_verb(tree, root)
    clause = clause_of(tree, verb) if verb is not None else None
    if clause is None or not is_askable(tree, clause):
        return []
    if not label and root.label not in ("CARDINAL", "ORDINAL"):
        label = root.label  # "the us" is a place, like "us"
    asked: dict[str, None] = {}
    for full in (False, True):
        for gap in gaps(tree, clause, members, root, label):
            question = ask(tree, clause, gap, full)
            if question and is_sound(question, text):
                asked.setdefault(question)
    return list(asked)[:MAX_QUESTIONS]


class SyntacticQuestions:
    """The bundled question generator. A pronoun gets no question, nor does a span inside a
    question, condition, denial or fragment."""

    name = "syntactic"
    decoding = "none"

    def generate(self, spans: Sequence[Span]) -> list[list[str]]:
        tree_of = cache(ParsedSentence.tree)
        parses = parse_responses([span.example for span in spans])
        located = [parsed.tokens(span.start, span.start + len(span.text))
                   for span, parsed in zip(spans, parses, strict=True)]
        return [questions(tree_of(place[0]), place[1], span.label) if place else []
                for span, place in zip(spans, located, strict=True)]
