"""A response that claims nothing has no score by any metric that judges claims.

The rule is :func:`q2_metric.text.claims.has_claim`; here is the one place that applies it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from q2_metric.text.claims import has_claim
from q2_metric.types import Example, Score

Scoring = TypeVar("Scoring", bound=Callable[..., list[Score]])


def claims_only(score: Scoring) -> Scoring:
    """For the method ``score`` of a metric: it is given only responses that claim something.

    The others have the value ``None`` and the reason "no_claim".
    """

    @functools.wraps(score)
    def scored(self: Any, examples: Sequence[Example], **keywords: Any) -> list[Score]:
        claims = [has_claim(example.response, example.history) for example in examples]
        checked = [example for example, claim in zip(examples, claims, strict=True) if claim]
        found = iter(score(self, checked, **keywords) if checked else ())
        return [
            next(found) if claim else Score(example, None, reason="no_claim")
            for example, claim in zip(examples, claims, strict=True)
        ]

    return cast(Scoring, scored)
