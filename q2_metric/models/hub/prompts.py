"""Yes/No prompts that ask an encoder-decoder model about entailment."""

import re
from typing import NamedTuple

from q2_metric.errors import InputError


class Prompt(NamedTuple):
    """``text`` contains ``{chunk}``, then ``{sentence}``. P(``yes``) and P(``no``) are compared."""

    text: str
    yes: str
    no: str

    def parts(self) -> tuple[str, str, str]:
        """The text before, between and after the two placeholders."""
        before, between, after = re.split("{chunk}|{sentence}", self.text)
        return before, between, after

    def fill(self, chunk: str, sentence: str) -> str:
        """The prompt with both texts, whose own braces are kept.

        >>> PROMPTS["minicheck"].fill("a {sentence}", "b")
        'predict: a {sentence}</s>b'
        """
        before, between, after = self.parts()
        return before + chunk + between + sentence + after


PROMPTS: dict[str, Prompt] = {
    # The prompt of SCALE (arXiv 2310.13189).
    "scale": Prompt(
        '{chunk} Question: does this imply "{sentence}"? Yes or no?', yes="Yes", no="No"),
    # The prompt of the authors' package scale-score.
    "scale-score": Prompt(
        '{chunk} Question: Does this imply that "{sentence}"? Yes or No?', yes="Yes", no="No"),
    # The prompt of MiniCheck's published inference.py. The answers are the first tokens of "1"
    # (209) and of "0" (3, the blank before "0").
    "minicheck": Prompt("predict: {chunk}</s>{sentence}", yes="1", no="0"),
}


def prompt_of(name: str) -> Prompt:
    """The prompt with this name. InputError: it is unknown."""
    if name not in PROMPTS:
        raise InputError(f"unknown prompt {name!r}: use {', '.join(PROMPTS)}")
    return PROMPTS[name]
