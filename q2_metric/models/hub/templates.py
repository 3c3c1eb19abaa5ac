"""Input formats of question generators. They differ in how they mark the answer in the text."""

from __future__ import annotations

from functools import partial

HIGHLIGHT = "<hl>"


def _filled(form: str, text: str, start: int, end: int) -> str:
    """The model's input, by which it writes a question with the answer ``text[start:end]``.

    >>> TEMPLATES["highlight"]("A red dog.", 2, 5)
    'generate question: A <hl> red <hl> dog.'
    """
    return form.format(text=text, before=text[:start], answer=text[start:end], after=text[end:])


TEMPLATES = {name: partial(_filled, form) for name, form in {
    # mrm8488/t5-base-finetuned-question-generation-ap, the model of the Q² paper
    "answer-context": "answer: {answer}  context: {text}",
    # lmqg's question generators
    "highlight": "generate question: {before}<hl> {answer} <hl>{after}",
    # valhalla's question generators, with one more blank outside each mark
    "highlight-spaced": "generate question: {before} <hl> {answer} <hl> {after}",
}.items()}
