"""Reads Topical-Chat responses that people rated (USR: Mehri and Eskenazi, ACL 2020).

``tc_usr_data.json`` has 60 contexts with six responses each. Ratings of "Uses Knowledge" are 0 or
1. http://shikib.com/usr
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from q2_metric.data.set_rows import SetRow, read_rows
from q2_metric.types import Example

QUALITY = "Uses Knowledge"

NO_FACT = "_nofact"
"""The ``fact`` of contexts without a fact (8 of the 60)."""

REFERENCE = "Original Ground Truth"
"""The ``model`` of the reference response, which is not a model's."""


class Rated(NamedTuple):
    """``rating`` is the mean of people's ratings."""

    example: Example
    rating: float


def read_usr(path: str | Path, *, leave_out: Sequence[str] = (REFERENCE,)) -> list[Rated]:
    """Reads the rated responses to those contexts that have a fact, which is the knowledge.

    The id "3-1" means the second response to the fourth context.
    """
    rated = []
    for row in read_rows(path, "json"):
        fact, turns = row.text("fact").strip(), row.text("context").splitlines()
        if not isinstance(row["responses"], list):
            raise row.wrong("'responses' is not a list")
        if fact == NO_FACT or not fact:
            continue
        for place, response in enumerate(row["responses"]):
            text, model, rating = _rated(row, response)
            if model not in leave_out:
                history = tuple(turn for turn in turns if turn.strip())
                example = Example(text, fact, history, id=f"{row.number - 1}-{place}")
                rated.append(Rated(example, rating))
    return rated


def _rated(row: SetRow, response: Any) -> tuple[str, str, float]:
    fields = response if isinstance(response, dict) else {}
    text, given = fields.get("response"), fields.get(QUALITY)
    ratings = given if isinstance(given, list) else [given]
    numbers = [rating for rating in ratings if isinstance(rating, (int, float))]
    if not isinstance(text, str) or not numbers or len(numbers) < len(ratings):
        raise row.wrong(f"a response has no text or no {QUALITY!r} ratings")
    return text.strip(), str(fields.get("model", "")), sum(numbers) / len(numbers)
