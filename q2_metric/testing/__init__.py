"""Checks in a test suite that sources support an answer.

>>> from q2_metric.testing import assert_grounded
>>> assert_grounded("It opened in 1889.", ["The tower opened in 1889."])  # doctest: +SKIP

If this package is installed, pytest also offers the fixture ``grounded`` and the marker
``groundedness`` (:mod:`q2_metric.testing.plugin`).
"""

from collections.abc import Sequence
from functools import lru_cache
from inspect import signature
from typing import Any

from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import keywords
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.scoring.judge import Judge
from q2_metric.text.given import is_blank

THRESHOLD = 0.5
"""Suits groundedness, whose scores are calibrated probabilities."""


def assert_grounded(
    answer: str, sources: str | Sequence[str], *, question: str | None = None,
    threshold: float = THRESHOLD, metric: str = "groundedness", **settings: Any,
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
    refuse_unknown(settings, [*signature(assert_grounded).parameters, "preset", *keywords()],
                   "keyword")
    threshold = scoring.check_threshold(threshold)
    row = scoring.given(answer, sources, None, "the answer", question)
    if is_blank(row.knowledge):
        raise InputError("the sources are blank: pass the passages that must support the answer")
    [judged] = _judge(metric, tuple(sorted(settings.items())))([row])
    value = judged.numbers[metric]
    if value is None:
        raise AssertionError(f"the answer {answer!r} has no score\n{judged.why}")
    if value < threshold:
        raise AssertionError(f"{metric} is {value:.2f}, below {threshold:g}\n{judged.why}")


@lru_cache(maxsize=4)
def _judge(metric: str, settings: tuple[tuple[str, Any], ...]) -> Judge:
    return Judge([metric], "exclude", dict(settings), evidence=True)
