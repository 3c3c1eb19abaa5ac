"""Explains the numbers of a system, with the same words in the terminal, the page and the docs."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "mean": "of the responses that count",
    "95 % interval": "where the mean of other such responses would be (bootstrap)",
    "coverage": "share of responses with a valid question of Q²",
    "no answer": "share of questions that the knowledge does not answer",
    "fallback": "share of responses without a valid question, judged as a whole by NLI",
    "no claim": "share of responses that claim nothing",
    "n": "responses that count in the mean",
}
"""What each number means, by its title."""
