"""Finds the rows on which a metric fails. Rows are scored together; if that fails, they are halved
until the rows are found. A fault of the machine is never blamed on a row."""

import math
from collections.abc import Callable, Iterable, Sequence

from q2_metric.errors import MachineFault, ModelError, Q2Error, is_out_of_memory, machine_fault
from q2_metric.memory import free_gpu_memory
from q2_metric.types import Example, Score

SYSTEMIC = 8
"""If all responses fail, and at least this many are different, the model is broken."""

Scorer = Callable[[Sequence[Example]], Sequence[Score]]
Slices = Callable[[Sequence[Example]], Iterable[Sequence[Example]]]
"""Cuts examples into slices that are scored together, in order."""


def score_each(
    name: str, score: Scorer, examples: Sequence[Example], slices: Slices = lambda rows: [rows]
) -> list[Score | str]:
    """Scores examples. The result for an example is its score, or an error message.

    If a slice raises an error, each half is scored separately, and so on, so that a batch that is
    too large for the memory succeeds in parts. NaN and infinite scores also become messages.

    Q2Error: an error of every row (:attr:`~q2_metric.errors.Q2Error.fails_every_row`).
    MachineFault: there is not enough memory for a single example, or the machine has another fault
    (:func:`~q2_metric.errors.machine_fault`). ModelError: all examples failed, and at least
    :data:`SYSTEMIC` of them are different; or the GPU no longer works."""
    results: list[Score | str] = []
    for each in slices(examples):
        waiting = [each] if each else []
        while waiting:
            part = waiting.pop()
            try:
                results += list(score(part))
                continue
            except Exception as error:
                words = _fault(name, error, part)
            # After the except clause, so that the memory of the failed call can be freed.
            free_gpu_memory()
            if len(part) == 1:
                results.append(words)
            else:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
    problems = [result for result in results if isinstance(result, str)]
    if problems and len(problems) == len(results) and len(set(examples)) >= SYSTEMIC:
        raise ModelError(f"{name} failed on all {len(examples)} responses: {problems[0]}")
    return [result if isinstance(result, str) else _number(result) for result in results]


def _fault(name: str, error: Exception, part: Sequence[Example]) -> str:
    """The message about an error of a row. An error of which no row is the cause is raised. If
    memory ran out for several examples (``part``), fewer of them may still be scored."""
    if isinstance(error, Q2Error) and error.fails_every_row:
        raise error
    words = ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    if _device_lost(error):
        raise ModelError(f"the device failed: {words}") from error
    fault = machine_fault(error)
    if fault is not None and (len(part) == 1 or not is_out_of_memory(error)):
        why = str(error) if isinstance(error, Q2Error) else fault
        raise MachineFault(f"{name}{_about(part)}: {why}") from error
    return words


def _about(part: Sequence[Example]) -> str:
    if len(part) > 1:
        return ""
    [example] = part
    which = "a response" if example.id is None else f"the response of the row {example.id!r}"
    return (f" cannot score {which} ({len(example.response):,} characters, knowledge of "
            f"{len(example.knowledge):,})")


def _number(score: Score) -> Score | str:
    for value in (score.value, score.no_nli):
        if value is not None and not math.isfinite(value):
            return f"the score is {value}, not a number"
    return score


def _device_lost(error: Exception) -> bool:
    """Whether the GPU will fail in all further calls after this error."""
    words = str(error)
    return "out of memory" not in words.lower() and (
        type(error).__name__ == "AcceleratorError" or "CUDA error" in words
        or (isinstance(error, NotImplementedError) and "MPS device" in words))
