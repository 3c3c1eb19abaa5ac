"""The metrics, and the one place that makes them by name.

Everything that scores (the command line, the plug-ins) gets its metrics from
:func:`load_metrics` and runs them through :func:`score_with`; tests replace these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

from q2_metric.metrics.claims import blank
from q2_metric.metrics.faults import score_each
from q2_metric.metrics.registry import METRICS as METRICS
from q2_metric.metrics.registry import check_keywords, check_names, entry, warn_of_unused
from q2_metric.types import Example, Metric, Score


class _WithEvidence(Protocol):
    def score(self, examples: Sequence[Example], *, evidence: bool) -> list[Score]: ...


@runtime_checkable
class _Computed(Protocol):
    """A metric that can be had from the scores of the one with the signature ``computed_from``."""

    @property
    def computed_from(self) -> str: ...

    def of(self, judged: Sequence[Score]) -> list[Score]: ...


def load_metrics(
    names: Sequence[str], preset: str = "bundled", **keywords: Any
) -> list[Metric]:
    """The metrics of these names, ready to score.

    Args:
        names: out of :data:`METRICS`.
        preset: which models: "bundled", "bundled-small", "paper", "paper-small" or "modern".
        keywords: the fields of :class:`~q2_metric.running.Running` and of the metrics'
            settings, and Hub names or local folders in place of the preset's models
            (``reader_model=...``). Each metric takes those that it has; ``None`` is left out. A
            warning is logged of one that none of these metrics takes.

    Raises:
        InputError: an unknown name, preset or keyword, or a value that cannot be.
        MissingExtra: a metric or the preset needs a package that is not installed.
        ModelError: a model cannot be loaded.
    """
    check_keywords(keywords)
    names = check_names(names)
    warn_of_unused(keywords, names)
    check_models(names, preset, keywords)
    return [METRICS[name].load(preset, keywords) for name in names]


def check_models(names: Sequence[str], preset: str, keywords: Mapping[str, Any]) -> None:
    """Check the models of all these metrics, before the weights of one are downloaded.

    Arguments and errors are those of :func:`load_metrics`.
    """
    from q2_metric.models import presets, stages

    used = {key: keywords.get(key) for name in names for key in METRICS[name].models
            if key in presets.STAGES}
    stages.check(preset, used)


def score_with(
    metric: Metric, examples: Sequence[Example], *, evidence: bool = False
) -> list[Score]:
    """The metric's scores; with ``evidence``, where it can, with each sentence's support."""
    if evidence and entry(metric.name).evidence:
        return cast(_WithEvidence, metric).score(examples, evidence=True)
    return metric.score(examples)


def score_rows(
    metrics: Sequence[Metric],
    rows: Sequence[Example | None],
    *,
    evidence: bool = False,
    on_fault: Callable[[int, str], None] | None = None,
) -> list[dict[str, Score]]:
    """The scores of each row by metric name; ``None`` rows keep their place, without scores.

    A row with a blank text has scores without a value, with the reason, whatever the metric.

    Args:
        metrics: each scores all rows.
        rows: ``None`` where there is nothing to score.
        evidence: metrics that can also find each sentence's support.
        on_fault: told (place in ``rows``, what happened) of a row that a metric cannot
            score, and the others are scored (:func:`q2_metric.metrics.faults.score_each`);
            without it the first error is raised.
    """
    scores: list[dict[str, Score]] = [{} for _ in rows]
    places: list[int] = []
    examples: list[Example] = []
    for i, row in enumerate(rows):
        if row is None:
            continue
        if reason := blank(row):
            scores[i] = {metric.name: Score(row, None, reason=reason) for metric in metrics}
        else:
            places.append(i)
            examples.append(row)
    if not examples:
        return scores
    for metric in metrics:
        score = partial(score_with, metric, evidence=evidence)
        found: Sequence[Score | str] | None = _computed(
            metric, metrics, [scores[place] for place in places])
        if found is None:
            found = score(examples) if on_fault is None else score_each(
                metric.name, score, examples)
        for place, one in zip(places, found, strict=True):
            if not isinstance(one, str):
                scores[place][metric.name] = one
            elif on_fault is not None:
                on_fault(place, f"{metric.name}: {one}")
    return scores


def _computed(
    metric: Metric, metrics: Sequence[Metric], scored: Sequence[dict[str, Score]]
) -> list[Score] | None:
    """The metric's scores out of another's that is among ``metrics`` and has scored every row;
    ``None`` where there is none."""
    if isinstance(metric, _Computed):
        for other in metrics:
            if other.signature == metric.computed_from and all(other.name in one for one in scored):
                return metric.of([one[other.name] for one in scored])
    return None
