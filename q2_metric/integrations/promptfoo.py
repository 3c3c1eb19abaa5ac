"""Groundedness, Q² or SCALE as a Python assertion of promptfoo.

Write a file ``grounded.py`` with the first line below, and name this file in an assertion of
``promptfooconfig.yaml`` as in the second line::

    from q2_metric.integrations.promptfoo import get_assert    # grounded.py

    assert: [{type: python, value: file://grounded.py}]        # promptfooconfig.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from q2_metric.errors import InputError
from q2_metric.integrations.judge import Judge
from q2_metric.scoring import check_threshold, given

_OWN = {"metric": "groundedness", "threshold": 0.5, "knowledge": "context", "question": "query"}
"""Defaults of the assertion's ``config``. ``knowledge`` and ``question`` are names of variables of
the test, by default those of promptfoo's own ``context-faithfulness``. ``config`` may also contain
``preset`` and settings of the metric."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Measures whether the sources in a test's variables support the output.

    Args:
        output: the answer of the provider. An output that is empty or claims nothing fails.
        context: promptfoo's context of the test. The variable ``context`` contains the sources (a
            text or a list of passages), and ``query`` the question, if there is one. The
            assertion's ``config`` can name other variables.

    Returns:
        A dictionary with ``pass``, ``score`` in [0, 1], ``reason`` (which begins with the
            unsupported claims) and ``named_scores``, all numbers that the metric computes.

    Raises:
        InputError: there are no sources, or ``config`` has a wrong value.
    """
    config = {**_OWN, **(context.get("config") or {})}
    own = {name: config.pop(name) for name in _OWN}
    threshold, variables = check_threshold(own["threshold"]), context.get("vars") or {}
    if own["knowledge"] not in variables:
        raise InputError(f"the test has no variable {own['knowledge']!r} with the sources of the "
                         f"answer; its variables are {', '.join(variables) or 'none'}")
    row = given(output, variables[own["knowledge"]], None, "the test",
                variables.get(own["question"]))
    (judged,) = _judge(own["metric"], json.dumps(config, sort_keys=True))([row])
    value = judged.numbers[own["metric"]]
    if value is None:
        raise InputError(f"the test has no score: {judged.why}")
    return {
        "pass": value >= threshold,
        "score": value,
        "reason": judged.why,
        "named_scores": {name: one for name, one in judged.numbers.items() if one is not None},
    }


@lru_cache(maxsize=4)
def _judge(metric: str, settings: str) -> Judge:
    return Judge([metric], settings=json.loads(settings), evidence=True)
