"""Finds spans and personal questions as q-squared, the program of Q²'s authors, does: texts are
parsed as a whole and without repairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from q2_metric.english.parse.parser import DROPPED_SPANS, is_personal, load
from q2_metric.types import Example, Span

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.tokens import Span as Tokens


class AuthorsSpans:
    """Finds named entities, and each noun chunk with another text than these (ignoring case)."""

    name = "spacy"

    def find(self, examples: Sequence[Example]) -> list[list[Span]]:
        """Entities first, then noun chunks."""
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
    """Recognises "What do I like?" and "Who is your boss?" by "I", "you", "my" and "your"."""

    def personal(self, questions: Sequence[str]) -> list[bool]:
        return [is_personal(doc, ("nsubj",)) for doc in load().pipe(questions)]
