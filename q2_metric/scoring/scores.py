"""Decides which responses a metric scores, and scores them, for every metric and integration.

A response that is blank, has no knowledge or claims nothing is not passed to the metric: its score
has a reason instead of a value. So authors of metrics need not handle such responses. Only measures
of word overlap score any text, because papers report them over all responses."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

from q2_metric import metrics
from q2_metric.errors import InputError, ModelError
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.claims import FOREIGN, check_examples, language, why_not
from q2_metric.metrics.registry import METRICS, check_names, entry, keywords
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.scoring.faults import Slices, score_each
from q2_metric.text.given import kind
from q2_metric.types import Example, Metric, Score

_LOG = logging.getLogger(__name__)

OnFault = Callable[[int, str], None]
"""Is called with (index of the row, error message) if a metric fails on a row."""

OnBreak = Callable[[str, Exception], None]
"""Is called with (name of the metric, error) if a metric fails on all rows."""


def load(
    names: Iterable[str] | str | None, settings: Mapping[str, Any], calibration: Any = None,
    own: Iterable[str] = (),
) -> list[Metric]:
    """Loads metrics by their names, and applies calibrations to them.

    Args:
        names: a sequence, or "q2,scale"; ``None`` for the default metrics.
        settings: ``preset``, and the keywords of :func:`q2_metric.metrics.load_metrics`.
        calibration: one or several, as files of ``q2 calibrate`` or ``Calibration`` objects.
        own: keywords of the caller, which an error names beside those of the metrics.

    InputError: a metric, keyword or preset is unknown, a value is wrong, or a calibration does not
    fit the metrics. MissingExtra, ModelError: as ``load_metrics``."""
    refuse_unknown(settings, [*own, "preset", *keywords()], "keyword")
    chosen = dict(settings)
    preset = chosen.pop("preset", None) or "bundled"
    names = check_names(metrics.default_names(preset) if names is None else names)
    if not names:
        raise InputError(f"no metric is named; the metrics are {', '.join(METRICS)}")
    loaded = metrics.load_metrics(names, preset, **chosen)
    if calibration is None:
        return loaded
    one = isinstance(calibration, str) or not isinstance(calibration, Sequence)
    return calibrate(loaded, [item if isinstance(item, Calibration) else Calibration.load(item)
                              for item in ([calibration] if one else calibration)])


def score(
    loaded: Sequence[Metric], rows: Sequence[Example], *, evidence: bool = False,
    on_fault: OnFault | None = None, on_break: OnBreak | None = None,
) -> list[dict[str, Score]]:
    """Scores each row by each metric (:func:`score_rows`), with a score for every metric.
    A score without a value has a ``reason``, such as "fault" if the metric failed."""
    by_row = score_rows(loaded, rows, evidence=evidence, on_fault=on_fault, on_break=on_break)
    foreign = Counter(
        language(row) or "" for row, by_name in zip(rows, by_row, strict=True)
        if any(score.reason in FOREIGN for score in by_name.values()))
    if foreign and not _SAID:
        _SAID.append(not_scored(foreign, "the setting any_language=True scores"))
        _LOG.warning("%s (said once)", _SAID[0])
    return [{metric.name: by_name.get(metric.name) or Score(row, None, reason="fault")
             for metric in loaded}
            for row, by_name in zip(rows, by_row, strict=True)]


_SAID: list[str] = []
"""What this process has said about other languages: many frameworks score row by row."""


def not_scored(languages: Mapping[str, int], how: str) -> str:
    """Says how many responses have no score because of their language. ``how`` begins the advice.

    >>> not_scored({"de": 2, "fr": 1}, "it scores")
    '3 responses, or their knowledge, are not in English (de, fr) and have no score; it scores them'
    """
    count = sum(languages.values())
    whose = "1 response, or its knowledge, is" if count == 1 else (
        f"{count:,} responses, or their knowledge, are")
    return (f"{whose} not in English ({', '.join(sorted(languages))}) and "
            f"{'has' if count == 1 else 'have'} no score; {how} {'it' if count == 1 else 'them'}")


def score_with(
    metric: Metric, examples: Sequence[Example], *, evidence: bool = False
) -> list[Score]:
    """Scores examples by one metric. There is one score for each example, in order (ModelError: the
    metric returned something else). With ``evidence``, a metric that supports it adds the sentence
    that decided each claim."""
    asked = {"evidence": True} if evidence and entry(metric.name).evidence else {}
    given: object = metric.score(examples, **asked)
    scores = list(given) if isinstance(given, Iterable) else None
    if scores is None or len(scores) != len(examples):
        returned = kind(given) if scores is None else f"{len(scores)} scores"
        raise ModelError(f"{metric.name} returned {returned} for {len(examples)} responses")
    return [_as_score(metric.name, score) for score in scores]


def _as_score(name: str, result: object) -> Score:
    if not isinstance(result, Score):
        raise ModelError(f"{name} returned {kind(result)}, not a Score")
    value: Any = result.value
    if value is None or type(value) is float:
        return result
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"{name} returned a Score whose value is {kind(value)}, not a number")
    return replace(result, value=float(value))


def score_rows(
    loaded: Sequence[Metric], rows: Sequence[Example | None], *, evidence: bool = False,
    on_fault: OnFault | None = None, on_break: OnBreak | None = None,
    slices: Slices = lambda rows: [rows],
) -> list[dict[str, Score]]:
    """Scores each row by each metric. For each row, returns its scores by the metric's name.

    Args:
        loaded: the metrics. A row on which a metric failed has no score by this metric.
        rows: responses with their knowledge. A row that is ``None`` has no scores.
        evidence: as in :func:`score_with`.
        on_fault: called if a metric fails on a row. With ``None``, the first error is raised.
        on_break: called if a metric fails on all rows. With ``None``, the error is raised.
        slices: with ``on_fault``, cuts the rows of a metric into slices, scored in turn.

    InputError: a row is not an example, or one of its texts is not a string."""
    given_rows = {place: row for place, row in enumerate(rows) if row is not None}
    check_examples(list(given_rows.values()))
    scores: list[dict[str, Score]] = [{} for _ in rows]
    for metric in sorted(loaded, key=lambda metric: hasattr(metric, "computed_from")):
        asked: dict[int, Example] = {}
        for place, row in given_rows.items():
            if reason := why_not(metric, row):
                scores[place][metric.name] = Score(row, None, reason=reason)
            else:
                asked[place] = row
        if not asked:
            continue
        examples, score = list(asked.values()), partial(score_with, metric, evidence=evidence)
        try:
            results: Sequence[Score | str] = _computed(
                metric, loaded, [scores[place] for place in asked]) or (
                score_each(metric.name, score, examples, slices) if on_fault else score(examples))
        except Exception as error:
            if on_break is None:
                raise
            on_break(metric.name, error)
            for by_name in scores:  # a metric without any value has no mean
                by_name.pop(metric.name, None)
            continue
        for place, given in zip(asked, results, strict=True):
            if not isinstance(given, str):
                scores[place][metric.name] = given
            elif on_fault is not None:
                on_fault(place, f"{metric.name}: {given}")
    return scores


def _computed(
    metric: Any, loaded: Sequence[Metric], scored: Sequence[dict[str, Score]]
) -> list[Score] | None:
    """The scores of a metric such as groundedness: its ``of`` computes them from those of the
    metric with the signature ``computed_from`` (``scored``, by row). ``None`` for other metrics, or
    if that metric is not ``loaded`` or has not scored every row."""
    wanted = getattr(metric, "computed_from", None)
    name = next((one.name for one in loaded if one.signature == wanted), "")
    if not all(name in by_name for by_name in scored):
        return None
    scores: list[Score] = metric.of([by_name[name] for by_name in scored])
    return scores
