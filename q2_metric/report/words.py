"""The words for the numbers of a system, the same in the terminal, on the page and in the docs."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "mean": "of the responses that have a score",
    "95 % interval": "where the mean would be for other such responses (bootstrap)",
    "coverage": "responses about which Q² found something to ask",
    "no answer": "questions that the knowledge does not answer",
    "fallback": "responses about which nothing could be asked, judged as a whole",
    "no claim": "responses that claim nothing, so that there is nothing to check",
    "n": "responses that count in the mean",
}
"""What each number says, by its title."""
