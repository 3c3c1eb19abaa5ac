"""Input formats of question generators. They differ in how the input marks the answer."""

from __future__ import annotations

from collections.abc import Callable

HIGHLIGHT = "<hl>"


def answer_context(text: str, start: int, end: int) -> str:
    """The format of mrm8488/t5-base-finetuned-question-generation-ap, the paper's model.

    >>> answer_context("A red dog.", 2, 5)
    'answer: red  context: A red dog.'
    """
    return f"answer: {text[start:end]}  context: {text}"


def highlight(text: str, start: int, end: int) -> str:
    """The format of lmqg's models: the text with the answer between ``<hl>`` marks.

    >>> highlight("A red dog.", 2, 5)
    'generate question: A <hl> red <hl> dog.'
    """
    return f"generate question: {text[:start]}{HIGHLIGHT} {text[start:end]} {HIGHLIGHT}{text[end:]}"


def highlight_spaced(text: str, start: int, end: int) -> str:
    """The format of valhalla's models: like :func:`highlight`, with a blank on both sides of each
    mark.

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
