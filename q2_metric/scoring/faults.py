"""Finds rows that make a metric fail: a block that fails is halved until such a row is found."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

from q2_metric.errors import ModelError, Q2Error
from q2_metric.types import Example, Score

SYSTEMIC = 8
"""If at least this many different responses were tried and all fail, the model is broken."""

Scorer = Callable[[Sequence[Example]], Sequence[Score]]


def score_each(name: str, score: Scorer, examples: Sequence[Example]) -> list[Score | str]:
    """A score for each example, or a text that says why the example has no score.

    If scoring all examples raises an error, each half is scored separately, and so on. So a batch
    that is too large succeeds in parts, and a row that fails alone is reported. A score that is not
    a number is reported too.

    Args:
        name: name of the metric, for messages.
        score: scores examples, in order.
        examples: the examples.

    Raises:
        Q2Error: an error that :attr:`~q2_metric.errors.Q2Error.fails_every_row`, such as a model
            that cannot be opened.
        ModelError: at least :data:`SYSTEMIC` different examples were tried and all failed, or the
            device is lost. In these cases no row caused the error, so no row counts as finished.
    """
    results: list[Score | str] = []
    waiting = [examples] if examples else []
    while waiting:
        part = waiting.pop()
        try:
            results += list(score(part))
            continue
        except Exception as error:
            words = _fault(error)
        # After the except clause, so that the memory of the failed call can be freed.
        _free_memory()
        if len(part) == 1:
            results.append(words)
        else:
            half = len(part) // 2
            waiting += [part[half:], part[:half]]
    problems = [result for result in results if isinstance(result, str)]
    if problems and len(problems) == len(results) and len(set(examples)) >= SYSTEMIC:
        raise ModelError(
            f"{name} failed on all {len(examples)} responses: {problems[0]}"
        )
    return [result if isinstance(result, str) else _number(result) for result in results]


def _fault(error: Exception) -> str:
    """Says in words why a row has no score. An error that would fail every row is raised."""
    if isinstance(error, Q2Error) and error.fails_every_row:
        raise error
    words = _words(error)
    if _device_lost(error):
        raise ModelError(f"the device failed: {words}") from error
    return words


def _number(score: Score) -> Score | str:
    for value in (score.value, score.no_nli):
        if value is not None and not math.isfinite(value):
            return f"the score is {value}, not a number"
    return score


def _words(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _device_lost(error: Exception) -> bool:
    """Whether all further calls to the GPU will fail after this error."""
    memory = "out of memory" in str(error).lower()
    return not memory and (
        type(error).__name__ == "AcceleratorError" or "CUDA error" in str(error)
        or (isinstance(error, NotImplementedError) and "MPS device" in str(error))
    )


def _free_memory() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
