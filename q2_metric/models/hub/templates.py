"""Input formats of question generators. They differ in how they mark the answer in the text.

In each function, ``text[start:end]`` is the answer to the question that the model should write.
"""

from __future__ import annotations

from collections.abc import Callable

HIGHLIGHT = "<hl>"


def answer_context(text: str, start: int, end: int) -> str:
    """The input of mrm8488/t5-base-finetuned-question-generation-ap, the model of the Q² paper.

    ``text[start:end]`` is the answer to the question that the model should write.

    >>> answer_context("A red dog.", 2, 5)
    'answer: red  context: A red dog.'
    """
    return f"answer: {text[start:end]}  context: {text}"


def highlight(text: str, start: int, end: int) -> str:
    """The input of lmqg's question generators: the text with the answer between ``<hl>`` marks.

    ``text[start:end]`` is the answer to the question that the model should write.

    >>> highlight("A red dog.", 2, 5)
    'generate question: A <hl> red <hl> dog.'
    """
    return f"generate question: {text[:start]}{HIGHLIGHT} {text[start:end]} {HIGHLIGHT}{text[end:]}"


def highlight_spaced(text: str, start: int, end: int) -> str:
    """The input of valhalla's question generators.

    It is that of :func:`highlight`, but with one more blank outside each ``<hl>`` mark.

    >>> highlight_spaced("A red dog.", 2, 5)
    'generate question: A  <hl> red <hl>  dog.'
    """
    before, after = text[:start], text[end:]
    return f"generate question: {before} {HIGHLIGHT} {text[start:end]} {HIGHLIGHT} {after}"


Template = Callable[[str, int, int], str]
TEMPLATES: dict[str, Template] = {
    "answer-context": answer_context,
    "highlight": highlight,
    "highlight-spaced": highlight_spaced,
}
"""Input formats by name. Each takes a text and the start and end of the answer in it."""
