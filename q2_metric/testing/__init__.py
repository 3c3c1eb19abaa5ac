"""Checks in a test suite that sources support an answer.

>>> from q2_metric.testing import assert_grounded
>>> assert_grounded("It opened in 1889.", ["The tower opened in 1889."])  # doctest: +SKIP

If this package is installed, pytest also offers the fixture ``grounded`` and the marker
``groundedness`` (:mod:`q2_metric.testing.plugin`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.types import Example, Metric, Score

THRESHOLD = 0.5
"""Suits groundedness, whose scores are calibrated probabilities."""


def assert_grounded(
    answer: str,
    sources: str | Sequence[str],
    *,
    question: str | None = None,
    threshold: float = THRESHOLD,
    metric: str = "groundedness",
    **settings: Any,
) -> None:
    """Raises an AssertionError unless the sources (a text, or passages) support the answer.

    The message contains each unsupported claim, its place in the answer, and the nearest passage.
    The models stay loaded until the process ends. ``threshold`` is the lowest score that passes, in
    [0, 1]. ``settings`` are keywords of the metric: ``preset``, ``dtype``, ``device``, ….

    Raises:
        AssertionError: the score is below the threshold, or the answer is blank or claims nothing.
        InputError: a text is not a string, the sources are blank, or the threshold is wrong.
        MissingExtra, ModelError: a model cannot be loaded.
    """
    __tracebackhide__ = True  # pytest then shows the line of the caller
    threshold = scoring.check_threshold(threshold)
    row = scoring.given(answer, sources, None, "the answer", question)
    [scores] = scoring.score(_loaded(metric, tuple(sorted(settings.items()))), [row], evidence=True)
    score = scores[metric]
    if score.reason == "no_knowledge":
        raise InputError("the sources are blank: pass the passages that must support the answer")
    if score.value is None:
        raise AssertionError(f"{metric} has no score: the answer is blank or claims nothing\n"
                             f"  answer: {answer!r}")
    if score.value < threshold:
        raise AssertionError(_message(row, metric, score.value, threshold, scores))


@lru_cache(maxsize=4)
def _loaded(metric: str, settings: tuple[tuple[str, Any], ...]) -> Sequence[Metric]:
    """Also loads SCALE, whose claims explain a failure."""
    return scoring.load(dict.fromkeys(["scale", metric]), dict(settings))


def _message(
    row: Example, metric: str, value: float, threshold: float, scores: dict[str, Score]
) -> str:
    lines = [f"{metric} is {value:.2f}, below {threshold:g}"]
    for claim in scoring.unsupported(scoring.claims(row, scores)):
        start, end = claim["start"], claim["end"]
        lines.append(f"  {claim['verdict']}: {row.response[start:end]!r} "
                     f"(characters {start} to {end})")
        if claim["passage"] is not None:
            number = "" if claim["passage_number"] is None else f" {claim['passage_number']}"
            lines.append(f"    nearest, passage{number}: {claim['passage']!r}")
    if len(lines) == 1:
        lines.append(f"  answer: {row.response!r}")
    return "\n".join(lines)
