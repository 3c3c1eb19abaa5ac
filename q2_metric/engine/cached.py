"""A metric that looks up each score in the score cache before it computes the score.

All commands share one cache file, so no command computes a score that another command computed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from q2_metric.engine.blocks import characters, cut
from q2_metric.engine.cache import Cache
from q2_metric.engine.identity import digest, identity
from q2_metric.errors import MachineFault, Q2Error, machine_fault
from q2_metric.metrics.registry import entry
from q2_metric.scoring.codec import from_json, readable, to_json
from q2_metric.scoring.scores import score_with
from q2_metric.types import Example, Metric, Score

BLOCK = 256
"""Number of responses that are scored together and then put into the cache."""

WITH_EVIDENCE = "score with evidence"
"""The ``kind`` in the cache keys of scores with evidence. Other scores have "score"."""

Progress = Callable[[int], None]
"""Is called with the number of responses that were just scored."""


class CachedMetric:
    """A metric that takes its scores from a cache. It is loaded only if a score is missing.

    ``inner``, of SCALE within groundedness for example: scores with evidence serve it too."""

    def __init__(
        self, name: str, load: Callable[[], Metric], store: Cache,
        request: Mapping[str, Any] | None = None, *, inner: bool = False,
    ) -> None:
        self.name, self._inner = name, inner
        self._load, self._store, self._request = load, store, request
        self._metric: Metric | None = None
        self.looked_up = 0
        """Number of scores so far that were in the cache before it was opened."""
        entry(name).evidence_class()  # the cache can then read it
        self._made_by = digest(name, identity(name, request or {}))
        if about := store.get([self._made_by]).get(self._made_by):
            self._describe(*about)
        else:
            _ = self.metric  # loading also stores the metric's properties

    @property
    def metric(self) -> Metric:
        if self._metric is None:
            try:
                self._metric = self._load()
            except Q2Error as error:
                error.fails_every_row = True
                raise
            except Exception as error:  # no row is loaded, so no row is the cause
                why = machine_fault(error) or f"{type(error).__name__}: {error}"
                raise MachineFault(f"{self.name} cannot be loaded: {why}") from error
            for base in entry(self.name).bases:
                setattr(self._metric, base, self._shared(base, getattr(self._metric, base)))
            flags = ("scores_all", "reads_question", "any_language")
            about: list[Any] = [self._metric.signature]
            about += [bool(getattr(self._metric, flag, False)) for flag in flags]
            self._describe(*about)
            self._store.put({self._made_by: about})  # for later processes
        return self._metric

    def _describe(
        self, signature: str, scores_all: bool, reads_question: bool, any_language: bool
    ) -> None:
        self.signature, self.scores_all = signature, scores_all
        self.reads_question, self.any_language = reads_question, any_language

    def _shared(self, base: str, inner: Metric) -> Metric:
        """Wraps a metric that this one is computed from, to cache it under its own name."""
        takes = {"preset", *entry(base).keywords()}
        request = {key: value for key, value in (self._request or {}).items() if key in takes}
        return CachedMetric(base, lambda: inner, self._store, request, inner=True)

    def score(
        self, examples: Sequence[Example], *, evidence: bool = False,
        progress: Progress = lambda _rows: None,
    ) -> list[Score]:
        """One score for each example, in order. Equal examples are scored only once."""
        evidence = evidence and entry(self.name).evidence
        keys = self.keys(WITH_EVIDENCE if evidence else "score", examples)
        values = self._known(keys, examples)
        progress(sum(key in values for key in keys))
        missing = {key: e for key, e in zip(keys, examples, strict=True) if key not in values}
        for block in cut(missing.items(), BLOCK, size=lambda item: characters(item[1])):
            rows = [example for _, example in block]
            scores = score_with(self.metric, rows, evidence=evidence)
            new = {key: to_json(score) for (key, _), score in zip(block, scores, strict=True)}
            values |= new
            self._store.put(new)  # at once, so that an interrupted run can resume
            progress(len(block))
        return [from_json(e, values[key]) for e, key in zip(examples, keys, strict=True)]

    def _known(self, keys: Sequence[str], examples: Sequence[Example]) -> dict[str, Any]:
        """The cached values by key. One that cannot be read is computed again."""
        values = dict[str, Any]()
        if self._inner:
            whole = self.keys(WITH_EVIDENCE, examples)
            kept = self._store.get(whole)
            values |= {key: kept[rich] for key, rich in zip(keys, whole, strict=True)
                       if readable(kept.get(rich))}
        earlier = set[str]()
        kept = self._store.get(keys, earlier)
        values |= {key: value for key, value in kept.items() if readable(value)}
        self.looked_up += sum(key in earlier and key in values for key in keys)
        return values

    def keys(self, kind: str, examples: Sequence[Example]) -> list[str]:
        # The history changes scores: a response that only repeats the history claims nothing.
        return [digest(kind, self._made_by, self.signature, e.response, e.knowledge, e.history,
                       *([] if e.question is None else [e.question])) for e in examples]
