"""Classifies the findings behind a score, and says how often people agree with each kind.

A finding is the result of one question of Q² or of one claim of SCALE. The shares in
``reliability.json`` were measured with the bundled models (``python -m
tools.training.reliability``). For others, the marks (✓, ✗, ?) depend only on the finding itself,
and the page says so.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

from q2_metric.errors import InputError
from q2_metric.metrics.calibration import SETTING
from q2_metric.metrics.registry import METRICS, entry
from q2_metric.metrics.signature import of_metric, parse

State = Literal["supported", "differs", "open"]
"""What a finding suggests about the response; "differs": it is not supported."""

SIGNS: Mapping[State, str] = {"supported": "✓", "differs": "✗", "open": "?"}
MEANINGS: Mapping[State, str] = {
    "supported": "speaks for support", "differs": "speaks against support",
    "open": "says little either way"}
FILE = "reliability.json"
EDGES = (0.6, 0.8)
"""Bands of the NLI model's probability of its label."""

SENTENCE_EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)
"""Bands of the support of a claim, or of the score of a whole response."""

NO_SUPPORT = 0.5
"""A sentence of the knowledge is shown as support from this score on."""


@dataclass(frozen=True, slots=True)
class Share:
    """Among the responses with a kind of finding, the share that people judged supported.

    ``low`` and ``high`` are its 95 % interval. A response with k findings counts as 1/k for each.
    All data sets have the same weight, and so have supported and unsupported responses within a
    set: 0.5 does not tell whether a response is supported.
    """

    share: float
    low: float
    high: float
    n: int

    @property
    def state(self) -> State:
        """The state is "open" if the interval contains 0.5."""
        return "supported" if self.low > 0.5 else "differs" if self.high < 0.5 else "open"


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often people agree with findings, measured with the models and settings of
    ``signatures``. ``signatures`` are by metric, ``findings`` by kind. ``ranked`` says, by score
    column, how often a supported response has a higher score than an unsupported one."""

    signatures: Mapping[str, str] = field(default_factory=dict)
    findings: Mapping[str, Share] = field(default_factory=dict)
    ranked: Mapping[str, float] = field(default_factory=dict)

    def of(self, signature: str) -> bool:
        """Whether a signature names what was measured; the version may differ."""
        try:
            metric, settings = parse(of_metric(signature))
            _, measured = parse(self.signatures[metric])
        except (InputError, KeyError):
            return False
        settings.pop(SETTING, None)  # a calibration does not change findings
        return {**settings, "version": ""} == {**measured, "version": ""}

    def covers(self, signatures: Iterable[str]) -> set[str]:
        """The kinds of evidence ("questions", "sentences", "parts") that these signatures cover."""
        return {details for signature in signatures if self.of(signature)
                if (details := entry(signature.partition("|")[0]).details) is not None}


@cache
def shipped() -> Reliability:
    """The reliability that was measured with the preset "bundled"."""
    content = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return Reliability(
        content["signatures"],
        {name: Share(*values) for name, values in content["findings"].items()}, content["ranked"])


def of_question(question: Mapping[str, Any]) -> str:
    """The kind of finding for an item of the field ``questions`` of an output row.

    >>> of_question({"how": "nli", "verdict": "contradiction", "verdict_p": 0.7})
    'contradiction, 0.60 to 0.80'
    """
    verdict = question["verdict"]
    if question["how"] in ("equal", "contradicted") or (
            question["how"] == "no_answer" and verdict is None):
        return str(question["how"]).replace("_", " ")
    if verdict is None:
        return _banded("word overlap", question["score"], SENTENCE_EDGES)
    return _banded(verdict, None if verdict == "neutral" else question["verdict_p"], EDGES)


def of_sentence(sentence: Mapping[str, Any]) -> str:
    """The band of a claim's support, as in "sentence, 0.20 to 0.50"."""
    return _banded("sentence", sentence["support"], SENTENCE_EDGES)


def of_fallback(row: Mapping[str, Any]) -> str:
    """The band of the score of a response without questions, as in "fallback, 0.20 to 0.50"."""
    return _banded("fallback", whole(row), SENTENCE_EDGES)


def whole(row: Mapping[str, Any]) -> float | None:
    """The Q² score of a row without questions, which judges the response as a whole."""
    columns = [column.name for metric in METRICS.values() if metric.details == "questions"
               for column in metric.columns]
    # The last column is tried first, because calibration does not change it.
    return next((row[name] for name in reversed(columns) if row.get(name) is not None), None)


def state_of(kind: str) -> State:
    """What a kind of finding suggests, if its reliability was not measured with these models."""
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
    between = (f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges))
    bands = [f"below {edges[0]:.2f}", *between, f"from {edges[-1]:.2f}"]
    return f"{name}, {bands[bisect_right(edges, value)]}"
