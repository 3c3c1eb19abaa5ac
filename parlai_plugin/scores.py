"""A ParlAI metric, :class:`LazyMean`, that scores its responses when its value is read.

ParlAI adds up metrics one example at a time, but the models score many responses at once much
faster. So a ``LazyMean`` only remembers its responses. When a value is first read, all responses of
this process that wait for their scores are scored in one call by all requested metrics.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from parlai.core.metrics import ALL_METRICS, Metric
from parlai.utils import logging

from parlai_plugin.options import keywords_of
from q2_metric import scoring
from q2_metric.metrics.registry import METRICS
from q2_metric.rows.fields import OutputRow, output_row
from q2_metric.scoring import NO_CLAIM, Mean, NoClaim
from q2_metric.types import Example, Score
from q2_metric.types import Metric as Q2Metric

PARLAI_NAMES = ALL_METRICS | {"bleu", "knowledge_f1"}
"""Names of ParlAI's own metrics. They compare a response with the human's reply. Only
``knowledge_f1`` compares it with the sentence of the knowledge that the human used."""


def reported() -> dict[str, list[str]]:
    """For each metric of this package that ``--metrics`` accepts, the names of the numbers that it
    adds to ParlAI's report, such as "coverage"."""
    nothing = Score(Example("", ""), None)
    return {
        name: list(scoring.row_numbers({name: nothing}, NO_CLAIM))
        for name in METRICS if name not in PARLAI_NAMES
    }


def names(metrics: Collection[str] | None = None) -> dict[str, str]:
    """Maps each name of a number in ParlAI's report, such as "coverage", to the first of
    ``metrics`` (``None``: all) that computes it. ``--metrics`` accepts all these names."""
    by_name: dict[str, str] = {}
    for metric, all_ in reported().items():
        if metrics is None or metric in metrics:
            by_name |= {name: metric for name in all_ if name not in by_name}
    return by_name


class ScoringOptions(NamedTuple):
    """The options ``--q2-…`` that control scoring. ``keywords`` are those of
    :func:`q2_metric.scoring.load`. ``no_claim`` says how responses without a claim are averaged: as
    0 ("zero"), or not at all ("exclude"). ``explain`` keeps the evidence of scores, for world logs.
    With ``strict``, the run stops if a metric fails."""

    keywords: tuple[tuple[str, Any], ...] = ()
    no_claim: NoClaim = NO_CLAIM
    explain: bool = False
    strict: bool = False

    @classmethod
    def of(cls, opt: Mapping[str, Any]) -> ScoringOptions:
        """Reads the options from ParlAI's ``opt``. InputError: an option has a wrong value."""
        return cls(
            tuple(keywords_of(opt).items()), scoring.check_no_claim(opt.get("q2_no_claim")),
            explain=bool(opt.get("world_logs")), strict=bool(opt.get("q2_strict")))


class Response:
    """A response that is scored later. ``values`` are its numbers by name; ``None`` until then."""

    __slots__ = ("__weakref__", "_scorer", "example", "scores", "values")

    def __init__(self, example: Example, scorer: Scorer) -> None:
        self.example: Example | None = example
        self.values: Mapping[str, float | None] | None = None
        self.scores: Mapping[str, Score] = {}
        self._scorer = scorer

    def scored(self) -> Mapping[str, float | None]:
        """The numbers of this response, by name. If it is not scored yet, all responses that wait
        for their scores are scored now."""
        if self.values is None:
            self._scorer.score_waiting()
        assert self.values is not None
        return self.values

    def explanation(self) -> OutputRow:
        """The scores, questions and claims for a world log, with the field names that ``q2 score``
        uses. They are computed when the log is written."""
        self.scored()
        example = next((score.example for score in self.scores.values()), Example("", ""))
        row = output_row(0, example, self.scores, list(self.scores))
        return {key: value for key, value in row.items() if key not in ("id", "error")}


class Scorer:
    """Collects the responses of this process, and scores all of them at once. A response that
    ParlAI no longer needs, because it dropped the report, is not scored: only weak references to
    the responses are held."""

    def __init__(self, metrics: Sequence[Q2Metric], settings: ScoringOptions | None = None) -> None:
        self.metrics = metrics
        self.settings = settings or ScoringOptions()
        self._waiting: list[weakref.ref[Response]] = []

    def add(self, example: Example) -> Response:
        response = Response(example, self)
        self._waiting.append(weakref.ref(response))
        return response

    def signatures(self, names: Collection[str]) -> dict[str, str]:
        """Of the metrics in ``names``."""
        return scoring.signatures(
            [metric for metric in self.metrics if metric.name in names], self.settings.no_claim)

    def score_waiting(self) -> None:
        """Scores all responses that are not scored yet, in one batch. A warning says which cannot
        be scored; they do not count in means. If a metric fails on all responses, an error is
        logged, and it has no mean. With ``strict``, its exception is raised instead."""
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
            response.example = None  # frees memory: a report may hold millions of texts


broken: set[str] = set()
"""Names of the metrics that failed on all responses. The lines after a run mention them."""


def _report_broken(name: str, error: Exception) -> None:
    broken.add(name)
    words = " ".join(str(error).split())
    logging.error(f"q2-metric: {name} failed and has no numbers here: "
                  f"{type(error).__name__}: {words} (--q2-strict true stops the run instead)")


_scorers: dict[tuple[tuple[str, ...], ScoringOptions], Scorer] = {}


def scorer(metrics: Sequence[str], settings: ScoringOptions) -> Scorer:
    """The scorer of this process for these metrics and options; the first call loads the models.
    InputError: an option has a wrong value. MissingExtra, ModelError: a model cannot be loaded."""
    key = (tuple(metrics), settings)
    if key not in _scorers:
        _scorers[key] = Scorer(scoring.load(metrics, dict(settings.keywords)), settings)
    return _scorers[key]


class LazyMean(Metric):  # type: ignore[misc]  # ParlAI has no types
    """A ParlAI metric: the mean of a number, such as "q2", over responses. The responses are scored
    when the mean is read.

    Like every ParlAI metric, a LazyMean behaves as immutable. To be fast, ``a + b`` appends the
    responses of ``b`` to the list of ``a``, and the sum uses the same list. ``a`` stores how many
    items are its own, so ``a`` ignores the items that were appended. If another sum has already
    extended the list, ``a + b`` copies the items of ``a`` first.

    Pickling a LazyMean scores its responses and keeps only the mean. So a worker process of ParlAI
    sends means, not responses.
    """

    __slots__ = ("_length", "_name", "_responses", "_settled")

    is_global = False
    macro_average = True

    def __init__(
        self, name: str, responses: list[Response] | None = None, length: int | None = None,
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
            self._name, responses, length=self._length + other._length,
            settled=self._settled + other._settled)

    def mean(self) -> Mean:
        """The mean over all responses. Responses that are not scored yet are scored first."""
        return self._settled + Mean.of(
            response.scored()[self._name] for response in self._responses[: self._length])

    def value(self) -> float:
        """The mean, in [0, 1]. NaN if no response has this number."""
        return self.mean().number

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyMean, (self._name, None, None, self.mean())

    def __copy__(self) -> LazyMean:
        return self

    def __deepcopy__(self, memo: object) -> LazyMean:
        return self
