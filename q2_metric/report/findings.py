"""The findings behind a score, and how often people agree with such findings.

A finding is the result of one question of Q² or one claim of SCALE, such as "contradiction, 0.60 to
0.80". For each kind of finding, ``reliability.json`` contains the share of the responses with such
a finding that people call supported. The shares were measured on human-labelled sets with the
bundled models (``python -m tools.training.reliability``). The marks on the page follow these
shares. For other models or settings there are no measured shares: the marks then follow the finding
itself, and the page says so.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.metrics.calibration import SETTING
from q2_metric.metrics.registry import METRICS, entry
from q2_metric.metrics.signature import of_metric, parse

State = Literal["supported", "differs", "open"]
"""What a finding suggests: the response is supported, it is not supported, or neither."""

SIGNS: Mapping[State, str] = {"supported": "✓", "differs": "✗", "open": "?"}
MEANINGS: Mapping[State, str] = {
    "supported": "speaks for support",
    "differs": "speaks against it",
    "open": "says little either way",
}
FILE = "reliability.json"
EDGES = (0.6, 0.8)
"""Limits between the bands of the probability that an entailment model gives its label."""

SENTENCE_EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)
"""Limits between the bands of a claim's support, or of a whole response's score."""

NO_SUPPORT = 0.5
"""A sentence of the knowledge supports a claim only if its score is at least this value."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of responses with a kind of finding that people call supported.

    A response with k findings counts as 1/k for each finding. ``low`` and ``high`` are the ends of
    the 95 % interval, ``n`` is the number of responses. All sets have the same weight. Within a
    set, supported and other responses have the same total weight, so that a share of 0.5 carries no
    information.
    """

    share: float
    low: float
    high: float
    n: int

    @property
    def state(self) -> State:
        """What the finding suggests about the response; "open" if the interval contains 0.5."""
        return "supported" if self.low > 0.5 else "differs" if self.high < 0.5 else "open"


@dataclass(frozen=True, slots=True)
class Reliability:
    """The shares by kind of finding, and the metrics for which they were measured.

    Attributes:
        signatures: signatures of the measured metrics.
        findings: shares by name of the kind.
        ranked: by column of a metric, how often a supported response scores higher than an
            unsupported one.
    """

    signatures: Mapping[str, str] = field(default_factory=dict)
    findings: Mapping[str, Share] = field(default_factory=dict)
    ranked: Mapping[str, float] = field(default_factory=dict)

    def of(self, signature: str) -> bool:
        """Whether shares were measured for scores with this signature.

        Models and settings must be the same; the version of the package may differ.
        """
        try:
            metric, settings = parse(of_metric(signature))
            _, measured = parse(self.signatures[metric])
        except (InputError, KeyError):
            return False
        settings.pop(SETTING, None)  # a calibration does not change findings
        return {**settings, "version": ""} == {**measured, "version": ""}

    def covers(self, signatures: Iterable[str]) -> set[str]:
        """The kinds of evidence ("questions", "sentences") of these scores for which shares were
        measured."""
        kinds = {entry(signature.partition("|")[0]).details
                 for signature in signatures if self.of(signature)}
        return {details for details in kinds if details is not None}


@cache
def shipped() -> Reliability:
    """The shares that were measured for the bundled preset."""
    content = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return Reliability(
        content["signatures"],
        {name: Share(*values) for name, values in content["findings"].items()},
        content["ranked"],
    )


# --- kinds ------------------------------------------------------------------------------


def of_question(question: Mapping[str, Any]) -> str:
    """The kind of finding that a question's result belongs to.

    Args:
        question: an item of ``questions`` of the output.

    >>> of_question({"how": "nli", "verdict": "contradiction", "verdict_p": 0.7})
    'contradiction, 0.60 to 0.80'
    """
    if question["how"] in ("equal", "no_answer", "contradicted"):
        return str(question["how"]).replace("_", " ")
    verdict = question["verdict"]
    if verdict is None:
        return _banded("word overlap", question["score"], SENTENCE_EDGES)
    if verdict == "neutral":
        return "neutral"
    return _banded(verdict, question["verdict_p"], EDGES)


def of_sentence(sentence: Mapping[str, Any]) -> str:
    """The kind of the finding about a claim. The claim's support determines the kind."""
    return _banded("sentence", sentence["support"], SENTENCE_EDGES)


def of_fallback(row: Mapping[str, Any]) -> str:
    """The kind of the finding about a response without questions.

    The score of the whole response determines the kind.
    """
    return _banded("fallback", whole(row), SENTENCE_EDGES)


def whole(row: Mapping[str, Any]) -> float | None:
    """The row's Q² score, which judges the whole response if the row has no questions."""
    columns = [column.name for metric in METRICS.values() if metric.details == "questions"
               for column in metric.columns]
    # A calibration does not change the last column, so it is tried first.
    return next((row[name] for name in reversed(columns) if row.get(name) is not None), None)


def state_of(kind: str) -> State:
    """What a kind of finding suggests by its name, if no shares were measured."""
    name, _, band = kind.partition(", ")
    if name in ("equal", "entailment"):
        return "supported"
    if name in ("contradiction", "contradicted"):
        return "differs"
    if name in ("sentence", "fallback", "word overlap") and band:
        ends = band.replace("below", "0 to").replace("from", "").split(" to ")
        if float(ends[0]) >= 0.5:
            return "supported"
        return "differs" if float(ends[-1]) <= 0.5 else "open"
    return "open"


def _banded(name: str, value: float | None, edges: tuple[float, ...]) -> str:
    if value is None:
        return name
    place = bisect_right(edges, value)
    if place == 0:
        return f"{name}, below {edges[0]:.2f}"
    if place == len(edges):
        return f"{name}, from {edges[-1]:.2f}"
    return f"{name}, {edges[place - 1]:.2f} to {edges[place]:.2f}"


def kinds_of(row: Mapping[str, Any]) -> dict[str, float]:
    """The kinds of a row's findings.

    Each kind has its share of all findings of the same metric.
    """
    asked = Counter(map(of_question, row.get("questions") or ()))
    if row.get("fallback"):
        asked[of_fallback(row)] += 1
    judged = Counter(map(of_sentence, row.get("claims") or ()))
    return {kind: n / some.total() for some in (asked, judged) for kind, n in some.items()}
