"""Finds spans and personal questions as q-squared, the program of Q²'s authors, does.

Texts are parsed as a whole and without repairs, unlike in :mod:`q2_metric.english.parse.parser`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from q2_metric.english.parse.parser import DROPPED_SPANS, load
from q2_metric.types import Example, Span

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.tokens import Span as Tokens

_SUBJECTS, _POSSESSORS = frozenset({"i", "you"}), frozenset({"my", "your"})


class AuthorsSpans:
    """Finds spans as the program of Q²'s authors does.

    Spans are all named entities, and each noun chunk whose text is not yet a span (ignoring case).
    """

    name = "spacy"

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """The spans of each response: first the entities, then the noun chunks."""
        docs = load().pipe([example.response for example in examples])
        return [_spans(example, doc) for example, doc in zip(examples, docs, strict=True)]


def _spans(example: Example, doc: Doc) -> list[Span]:
    labelled: list[tuple[Tokens, str]] = [(entity, entity.label_) for entity in doc.ents]
    known = {entity.text.lower() for entity in doc.ents}
    for chunk in doc.noun_chunks:
        if chunk.text.lower() not in known:
            known.add(chunk.text.lower())
            labelled.append((chunk, ""))
    return [Span(example, tokens.text, tokens.start_char, label) for tokens, label in labelled
            if tokens.text.lower() not in DROPPED_SPANS]


class AuthorsPersonal:
    """Recognises questions about the speakers, such as "What do I like?" or "Who is your boss?".

    The subject is "I" or "you", or something is said to be "my" or "your".
    """

    def personal(self, questions: Sequence[str]) -> list[bool]:
        """For each question, true if it is about the speakers."""
        unique = list(dict.fromkeys(questions))
        by_question = dict(zip(unique, map(_is_personal, load().pipe(unique)), strict=True))
        return [by_question[question] for question in questions]


def _is_personal(doc: Doc) -> bool:
    return any((token.dep_ == "nsubj" and token.lower_ in _SUBJECTS)
               or (token.dep_ == "poss" and token.lower_ in _POSSESSORS) for token in doc)
