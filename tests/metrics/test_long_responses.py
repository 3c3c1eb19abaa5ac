"""A response with hundreds of claims takes time in proportion to its length.

The time of the networks is in proportion to the tokens that they read, so tokens are counted. The
time of everything else is measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from q2_metric import Example, scoring
from q2_metric.models.bundled.encoding import QueryWindow
from q2_metric.models.bundled.models import _Bundled

NAMES = "Anna Ben Clara David Elena Felix Greta Hugo Irene Jonas Karla Leo Mara Nils Olga".split()
TOWNS = "Lisbon Oslo Vienna Prague Madrid Dublin Warsaw Athens Rome Turin Graz Brno Cork".split()
KNOWLEDGE = ("Anna from Graz sold the lamp for 33 euros in 1917, and it was 12 cm wide. Hugo from "
             "Oslo sold the chair for 46 euros. Their shop in Vienna opened in 1962.")

_SHAPES: dict[str, Callable[[int, str, str], str]] = {
    "a table":
        lambda i, name, town: f"| {name} {i} | {town} | {i % 97} euros | {1900 + i % 99} |\n",
    "key: value": lambda i, name, town: f"Price of lamp {i} in {town}: {i % 97} euros\n",
    "a list of names": lambda i, name, town: f"- {name} {town}\n",
    "a list in a list":
        lambda i, name, town: f"{'  ' * (i % 30)}- lamp {i} of {name} from {town}\n",
    "sentences": lambda i, name, town: f"{name} sold lamp {i} in {town} for {i % 97} euros. ",
}
TOKENS = 4.6
TIME = 7
"""How many times as much a response of four times the length may take: 4 if it grows in proportion,
16 if with the square. A busy machine nearly doubles a time, but no count."""
_serial = count()


def response(shape: str, size: int) -> str:
    """A text of about ``size`` characters in this shape. No two of them are equal."""
    made = "| Name | Town | Price | Year |\n|---|---|---|---|\n" if shape == "a table" else ""
    for i in count(10_000 * next(_serial)):
        if len(made) >= size:
            return made
        made += _SHAPES[shape](i, NAMES[i % len(NAMES)], TOWNS[i * 7 % len(TOWNS)])
    raise AssertionError


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens that the networks read. The networks themselves are replaced by a formula."""
    tokens: list[int] = []

    def logits(self: _Bundled, rows: Sequence[QueryWindow], _: Any) -> list[NDArray[np.float32]]:
        tokens.extend(len(row.ids) for row in rows)
        if self.network == "statement":
            return [np.array([9, 0, 0], np.float32) for _ in rows]
        if self.network != "reader":
            return [np.array([sum(row.ids) % 7, sum(row.ids) % 5, 2], np.float32) for row in rows]
        found = [np.zeros((len(row.ids), 2), np.float32) for row in rows]
        for one, row in zip(found, rows, strict=True):
            one[row.text_start + sum(row.ids) % len(row.offsets)] = 5
        return found

    monkeypatch.setattr(_Bundled, "_logits", logits)
    return tokens


@pytest.mark.slow
@pytest.mark.parametrize("shape", _SHAPES)
def test_time_grows_with_the_response(shape: str, read: list[int]) -> None:
    metrics = scoring.load("groundedness,q2,scale", {})

    def measured(size: int) -> tuple[int, float]:
        read.clear()
        started = time.thread_time()
        asked = [Example(response(shape, size), KNOWLEDGE)]
        [scores] = scoring.score(metrics, asked, evidence=True)
        assert len(scores["scale"].evidence) > size / 100
        return sum(read), time.thread_time() - started

    measured(1000)  # loads what is loaded once
    soonest, latest = math.inf, math.inf
    for _ in range(4):  # others may be busy
        (few, soon), (many, late) = measured(2500), measured(10_000)
        assert many / few < TOKENS
        soonest, latest = min(soonest, soon), min(latest, late)
        if latest / soonest < TIME:
            return
    pytest.fail(f"at best, it took {latest / soonest:.1f} times as long")
