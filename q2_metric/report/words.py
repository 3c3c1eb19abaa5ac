"""Explains the columns of the table of scores, in the same words on the page and in the docs."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "mean": "the mean score of the responses that count",
    "95 % interval":
        "the range in which the mean of other such responses would probably be (bootstrap)",
    "coverage": "the share of responses with a valid question of Q²",
    "no answer": "the share of questions that the knowledge does not answer",
    "fallback": "the share of responses without a valid question. NLI judges each of these "
                "responses as a whole",
    "no claim": "the share of responses that claim nothing",
    "n": "the number of responses that count in the mean",
}
