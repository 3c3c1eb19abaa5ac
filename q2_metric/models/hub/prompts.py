"""Yes/No prompts, by which an encoder-decoder model is asked about entailment."""

from __future__ import annotations

from dataclasses import dataclass

from q2_metric.errors import InputError


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to an encoder-decoder model, and its two answers.

    ``text`` holds ``{chunk}`` and then ``{sentence}``, once each.
    """

    text: str
    yes: str
    no: str

    def parts(self) -> tuple[str, str, str]:
        """The prompt before, between and after its two places.

        Raises:
            InputError: a place is missing, repeated, or they are the other way round.
        """
        before, *rest = self.text.split("{chunk}")
        between, *after = "".join(rest).split("{sentence}") if len(rest) == 1 else [""]
        if len(after) != 1 or "{sentence}" in before:
            raise InputError("a prompt must contain {chunk} and then {sentence}, once each")
        return before, between, after[0]

    def fill(self, chunk: str, sentence: str) -> str:
        """The prompt with its places filled; braces in the texts mean nothing.

        >>> PROMPTS["minicheck"].fill("a {sentence}", "b")
        'predict: a {sentence}</s>b'
        """
        before, between, after = self.parts()
        return before + chunk + between + sentence + after


PROMPTS: dict[str, Prompt] = {
    # SCALE (arXiv 2310.13189).
    "scale": Prompt(
        '{chunk} Question: does this imply "{sentence}"? Yes or no?', yes="Yes", no="No"
    ),
    # The package scale-score, the authors' own.
    "scale-score": Prompt(
        '{chunk} Question: Does this imply that "{sentence}"? Yes or No?', yes="Yes", no="No"
    ),
    # MiniCheck's published inference.py; it reads the logits of tokens 209 ("1") and
    # 3 (the blank that begins "0"), the first tokens of these two words.
    "minicheck": Prompt("predict: {chunk}</s>{sentence}", yes="1", no="0"),
}
"""Prompts by name."""
