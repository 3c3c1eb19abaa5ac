"""Is a generated response supported by the text it was grounded in?

>>> from q2_metric import Example, Groundedness
>>> example = Example("it was founded in 1903 .", "Harley was founded in Milwaukee in 1903.")
>>> [score] = Groundedness.from_preset().score([example])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from q2_metric._version import __version__
from q2_metric.registration import path, register_quietly

if TYPE_CHECKING:
    from q2_metric.errors import DataError as DataError
    from q2_metric.errors import InputError as InputError
    from q2_metric.errors import MissingExtra as MissingExtra
    from q2_metric.errors import ModelError as ModelError
    from q2_metric.errors import Q2Error as Q2Error
    from q2_metric.metrics import load_metrics as load_metrics
    from q2_metric.metrics.groundedness import Groundedness as Groundedness
    from q2_metric.metrics.q2 import Q2 as Q2
    from q2_metric.metrics.scale import Scale as Scale
    from q2_metric.scoring.aggregate import system_score as system_score
    from q2_metric.types import Claim as Claim
    from q2_metric.types import Comparison as Comparison
    from q2_metric.types import Example as Example
    from q2_metric.types import Judgement as Judgement
    from q2_metric.types import Question as Question
    from q2_metric.types import Score as Score
    from q2_metric.types import Span as Span
    from q2_metric.types import SystemScore as SystemScore
    from q2_metric.types import Verdict as Verdict

_HOME = {
    "Q2": "metrics.q2", "Groundedness": "metrics.groundedness", "Scale": "metrics.scale",
    "load_metrics": "metrics", "system_score": "scoring.aggregate",
    **dict.fromkeys(("Claim", "Comparison", "Example", "Judgement", "Question", "Score",
                     "Span", "SystemScore", "Verdict"), "types"),
    **dict.fromkeys(("DataError", "InputError", "MissingExtra", "ModelError", "Q2Error"),
                    "errors"),
}

__all__ = ["__version__", "path", *_HOME]

register_quietly()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported at the first use, so that "import q2_metric" is fast.
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"q2_metric.{_HOME[name]}"), name)
    raise AttributeError(f"module 'q2_metric' has no attribute {name!r}")
