"""Groundedness, Q² or SCALE as a Python assertion of promptfoo (docs/promptfoo.md)."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from q2_metric.errors import InputError
from q2_metric.scoring import check_threshold, field_of
from q2_metric.scoring.judge import Judge

_OWN = {"metric": "groundedness", "threshold": 0.5, "knowledge": "context", "question": "query"}
"""Of the assertion's ``config``. The variables are those of promptfoo's own assertion."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Measures whether the sources in a test's variables support the output.

    ``context`` is promptfoo's, of the test: its ``vars`` and the assertion's ``config``. Returns
    ``pass``, ``score`` in [0, 1], ``reason`` and ``named_scores``. An output that is empty or
    claims nothing fails. InputError: there are no sources, or ``config`` has a wrong value."""
    config = {**_OWN, **(context.get("config") or {})}
    own = {name: config.pop(name) for name in _OWN}
    threshold, variables = check_threshold(own["threshold"]), context.get("vars") or {}
    sources = field_of(variables, own["knowledge"], "the object vars of the test")
    judged = _judge(own["metric"], json.dumps(config, sort_keys=True)).one(
        output, sources, None, "the test", variables.get(own["question"]))
    value = judged.numbers[own["metric"]]
    if value is None:
        raise InputError(f"the test has no score: {judged.why}")
    named = {name: one for name, one in judged.numbers.items() if one is not None}
    return {"pass": value >= threshold, "score": value, "reason": judged.why,
            "named_scores": named}


@lru_cache(maxsize=4)
def _judge(metric: str, settings: str) -> Judge:
    return Judge([metric], settings=json.loads(settings), evidence=True)
