"""A ParlAI metric that scores nothing until its value is read, and then scores all its responses.

ParlAI adds up metrics one example at a time. A :class:`LazyMean` only remembers its responses. When
the first value is read, all waiting responses of this process are scored in one call: those of all
tasks and batches, by all requested metrics.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai.core.metrics import ALL_METRICS, Metric
from parlai.utils import logging

from parlai_plugin.options import keywords_of
from q2_metric import scoring
from q2_metric.errors import InputError
from q2_metric.metrics.registry import METRICS
from q2_metric.rows.fields import OutputRow, output_row
from q2_metric.scoring import NO_CLAIM, Mean, NoClaim
from q2_metric.types import Example, Score
from q2_metric.types import Metric as Q2Metric

PARLAI_NAMES = ALL_METRICS | {"bleu", "knowledge_f1"}
"""Names of ParlAI's own metrics. They compare with the human's reply; ``knowledge_f1`` compares
with the sentence that the human used."""


def reported() -> dict[str, list[str]]:
    """The names of the values that each metric adds to a report, by metric.

    The keys are the metrics that ``--metrics`` accepts.
    """
    nothing = Score(Example("", ""), None)
    return {
        name: list(scoring.numbers(nothing, name, NO_CLAIM))
        for name in METRICS if name not in PARLAI_NAMES
    }


def names(metrics: Collection[str] | None = None) -> dict[str, str]:
    """The metric that computes each reported value, by the name of the value.

    A share that several metrics report is assigned to the first of these metrics. ``--metrics``
    accepts all these names.

    Args:
        metrics: the metrics whose values are listed; ``None`` for all metrics.
    """
    by_name: dict[str, str] = {}
    for metric, all_ in reported().items():
        if metrics is None or metric in metrics:
            by_name |= {name: metric for name in all_ if name not in by_name}
    return by_name


@dataclass(frozen=True)
class ScoringOptions:
    """The scoring options ``--q2-…``."""

    preset: str = "bundled"
    keywords: tuple[tuple[str, Any], ...] = ()
    no_claim: NoClaim = NO_CLAIM
    explain: bool = False
    strict: bool = False

    @classmethod
    def of(cls, opt: Mapping[str, Any]) -> ScoringOptions:
        """Reads the settings from ParlAI's options. Explanations are kept only for world logs."""
        batch_size = opt.get("q2_batch_size")
        if batch_size is not None and batch_size < 1:
            raise InputError(f"--q2-batch-size is {batch_size}; it must be at least 1")
        return cls(
            preset=opt.get("q2_preset") or "bundled",
            keywords=tuple(keywords_of(opt).items()),
            no_claim=scoring.check_no_claim(opt.get("q2_no_claim")),
            explain=bool(opt.get("world_logs")),
            strict=bool(opt.get("q2_strict")),
        )


class Response:
    """A response that waits for its scores. Once scored, it holds its values by name."""

    __slots__ = ("__weakref__", "_scorer", "example", "scores", "values")

    def __init__(self, example: Example, scorer: Scorer) -> None:
        self.example: Example | None = example
        self.values: Mapping[str, float | None] | None = None
        self.scores: Mapping[str, Score] = {}
        self._scorer = scorer

    def value(self, name: str) -> float | None:
        """The value of this response for a reported name; ``None`` if it has none."""
        return self.scored()[name]

    def scored(self) -> Mapping[str, float | None]:
        """The values of this response by name.

        If the response is not scored yet, all waiting responses are scored first.
        """
        if self.values is None:
            self._scorer.score_waiting()
        assert self.values is not None
        return self.values


class Scorer:
    """Scores the waiting responses of this process with a fixed list of metrics.

    Waiting responses are held by weak references. If ParlAI drops the report that contains a
    response, the response is never scored.

    Args:
        metrics: the metrics that score.
        settings: how responses count in means, and what happens if a metric fails.
    """

    def __init__(self, metrics: Sequence[Q2Metric], settings: ScoringOptions | None = None) -> None:
        self.metrics = metrics
        self.settings = settings or ScoringOptions()
        self._waiting: list[weakref.ref[Response]] = []

    def add(self, example: Example) -> Response:
        """Adds a response to the waiting ones and returns it."""
        response = Response(example, self)
        self._waiting.append(weakref.ref(response))
        return response

    def signatures(self, names: Collection[str]) -> dict[str, str]:
        """The signature of each metric's mean, by metric."""
        return scoring.signatures(
            [metric for metric in self.metrics if metric.name in names], self.settings.no_claim)

    def score_waiting(self) -> None:
        """Scores all waiting responses in one batch.

        If the models cannot score a response, a warning names the response, and the means leave it
        out. If a metric fails on all responses, an error names the metric, and the metric has no
        mean.

        Raises:
            Exception: a metric failed, and the setting ``strict`` is on.
        """
        how = self.settings
        alive = [response for ref in self._waiting if (response := ref()) is not None]
        examples = [response.example for response in alive if response.example is not None]

        def warn(place: int, words: str) -> None:
            metric, _, problem = words.partition(": ")
            said = examples[place].response[:60]
            logging.warning(f"q2-metric: {metric} left out {said!r}: {problem}")

        scores = scoring.score(
            self.metrics, examples, evidence=how.explain,
            on_fault=None if how.strict else warn, on_break=None if how.strict else _report_broken)
        self._waiting.clear()
        for response, by_metric in zip(alive, scores, strict=True):
            response.values = scoring.row_numbers(by_metric, how.no_claim)
            response.scores = by_metric if how.explain else {}
            response.example = None  # frees the texts: a report may hold millions


broken: set[str] = set()
"""Metrics that failed on all responses of a report. The lines after a run name them."""


def _report_broken(name: str, error: Exception) -> None:
    """Logs that a metric failed on all responses. The run continues without its values."""
    broken.add(name)
    words = " ".join(str(error).split())
    logging.error(f"q2-metric: {name} failed and has no numbers here: "
                  f"{type(error).__name__}: {words} (--q2-strict true stops the run instead)")


_scorers: dict[tuple[tuple[str, ...], ScoringOptions], Scorer] = {}


def scorer(metrics: Sequence[str], settings: ScoringOptions) -> Scorer:
    """This process's scorer for these metrics. The first call loads their models.

    Raises:
        InputError: the preset is unknown.
        MissingExtra, ModelError: as ``load_metrics``.
    """
    key = (tuple(metrics), settings)
    if key not in _scorers:
        loaded = scoring.load(metrics, {"preset": settings.preset, **dict(settings.keywords)})
        _scorers[key] = Scorer(loaded, settings)
    return _scorers[key]


class LazyMean(Metric):  # type: ignore[misc]  # ParlAI has no types
    """The mean of one reported value over responses. Responses are scored when the mean is read.

    A LazyMean is immutable, like every ParlAI metric. ``a + b`` takes the same time however many
    responses ``a`` holds: the sum shares the list of ``a`` and appends to it. Each object knows its
    own length. When a worker process pickles a report, the responses of this process are scored,
    and only the mean is sent.
    """

    __slots__ = ("_length", "_name", "_responses", "_settled")

    is_global = False
    macro_average = True

    def __init__(
        self,
        name: str,
        responses: list[Response] | None = None,
        *,
        length: int | None = None,
        settled: Mean | None = None,
    ) -> None:
        self._name = name
        self._responses = responses if responses is not None else []
        self._length = len(self._responses) if length is None else length
        self._settled = settled or Mean()

    def __add__(self, other: LazyMean | None) -> LazyMean:
        if other is None:
            return self
        responses = self._responses
        if len(responses) != self._length:  # another sum has extended the shared list
            responses = responses[: self._length]
        responses.extend(other._responses[: other._length])
        return LazyMean(
            self._name,
            responses,
            length=self._length + other._length,
            settled=self._settled + other._settled,
        )

    def mean(self) -> Mean:
        """The mean over all responses of this metric. Waiting responses are scored first."""
        return self._settled + Mean.of(
            response.value(self._name) for response in self._responses[: self._length])

    def value(self) -> float:
        """The mean, in [0, 1]; nan if no response has a value."""
        return self.mean().number

    def __reduce__(self) -> tuple[Any, ...]:
        return _settled, (self._name, self.mean())

    def __copy__(self) -> LazyMean:
        return self

    def __deepcopy__(self, memo: object) -> LazyMean:
        return self


def _settled(name: str, mean: Mean) -> LazyMean:
    return LazyMean(name, settled=mean)


class Explanation:
    """The explanation of one response in a world log. It is computed when the log is written."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def row(self) -> OutputRow:
        """The output row of the response, with the field names of ``q2 score``.

        It contains the scores, questions and evidence.
        """
        self._response.scored()
        scores = self._response.scores
        example = next((score.example for score in scores.values()), Example("", ""))
        row = output_row(0, example, scores, list(scores))
        return {key: value for key, value in row.items() if key not in ("id", "error")}
