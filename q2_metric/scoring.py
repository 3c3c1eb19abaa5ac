"""From responses to numbers: the one scorer of all plug-ins.

What becomes of a response that has no score is the same in all of them:

========================  =================  ==============================================
response                  reason             in a mean
========================  =================  ==============================================
claims nothing            ``no_claim``       0 with ``no_claim="zero"``, else left out
is blank                  ``empty``          the same; in the share ``no_claim`` too
has blank knowledge       ``no_knowledge``   left out
a metric fails on it      ``fault``          left out, and reported
========================  =================  ==============================================

Claims are what neural metrics judge; the others score any response that is not blank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeGuard, get_args

from q2_metric import metrics
from q2_metric.errors import InputError
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.overlap import corpus_bleu
from q2_metric.metrics.registry import METRICS, check_names, columns, entry, of_column
from q2_metric.metrics.registry import keywords as known_keywords
from q2_metric.metrics.settings import refuse_unknown
from q2_metric.metrics.system import CLAIMLESS, NOT_TRIED, NoClaim, counted, system_score
from q2_metric.rows.fields import output_row
from q2_metric.text.given import encodable, kind
from q2_metric.text.normalise import token_f1
from q2_metric.types import Comparison, Example, Metric, Score

SHARES = ("coverage", "fallback", "no_claim")
"""Shares of all responses that have knowledge and that no metric failed on: asked a valid
question, scored by end-to-end NLI instead, without a claim."""

LOWER_IS_BETTER = frozenset({"empty", "fallback", "no_claim"})
"""Numbers of a system that should be low; of all others more is better."""


def load(
    names: Iterable[str] | str, settings: Mapping[str, Any], calibration: Any = None
) -> list[Metric]:
    """The metrics, from the keywords of one flat call.

    Args:
        names: out of ``METRICS``, as a sequence or as "q2,scale".
        settings: ``preset``, and the keywords of :func:`q2_metric.metrics.load_metrics`.
        calibration: a file of ``q2 calibrate`` or a ``Calibration``, or several of them.

    Raises:
        InputError: an unknown metric, keyword, preset or value; a calibration that does not
            fit the metrics.
        MissingExtra, ModelError: as ``load_metrics``.
    """
    names = check_names(names)
    if not names:
        raise InputError(f"no metric is named; there are {', '.join(METRICS)}")
    refuse_unknown(settings, ["preset", *known_keywords()], "keyword")
    keywords = dict(settings)
    preset = keywords.pop("preset", None) or "bundled"
    loaded = metrics.load_metrics(names, preset, **keywords)
    return loaded if calibration is None else calibrate(loaded, _calibrations(calibration))


def _calibrations(given: Any) -> list[Calibration]:
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [one if isinstance(one, Calibration) else Calibration.load(one) for one in several]


def check_text(value: object, where: str) -> str:
    """The text itself.

    Raises:
        InputError: it is no string, or not valid Unicode.
    """
    if not isinstance(value, str):
        raise InputError(f"{where} is {kind(value)}, not a string")
    return encodable(value, where)


def check_texts(value: object, where: str) -> list[str]:
    """A text or a list of texts, as a list.

    Raises:
        InputError: it is neither.
    """
    if not _several(value):
        return [check_text(value, where)]
    return [check_text(item, f"{where}[{i}]") for i, item in enumerate(value)]


def check_column(values: object, where: str) -> list[Any]:
    """A value for each row, as a list.

    Raises:
        InputError: it is one text, or has no order (a mapping, a set), or several columns.
    """
    if not _several(values) or getattr(values, "ndim", 1) != 1:
        raise InputError(f"{where} is {kind(values)}, not a list with an item for each response")
    return list(values)


def _several(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether it is values in an order, and not one text, a mapping or a set."""
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping, Set))


def check_no_claim(value: object) -> NoClaim:
    """A setting ``no_claim``.

    Raises:
        InputError: it is neither "zero" nor "exclude".
    """
    if value not in get_args(NoClaim):
        raise InputError(f"no_claim must be {' or '.join(get_args(NoClaim))}, not {value!r}")
    return value  # type: ignore[return-value]


def example(response: str, knowledge: Sequence[str], history: Sequence[str] = ()) -> Example:
    """The example; several passages of knowledge are one text, blank turns are left out."""
    return Example(response, "\n".join(knowledge), tuple(turn for turn in history if turn.strip()))


def score(
    loaded: Sequence[Metric],
    rows: Sequence[Example],
    *,
    evidence: bool = False,
    on_fault: Callable[[int, str], None] | None = None,
) -> list[dict[str, Score]]:
    """A score of each row by each metric; those without a value have a ``reason``.

    Args:
        loaded: the metrics; each stage of one runs in batches over all rows.
        rows: responses with their knowledge; either may be blank.
        evidence: metrics that can also find each sentence's support.
        on_fault: told (place in ``rows``, what happened) of a row that a metric fails on;
            without it the first such error is raised.
    """
    found = metrics.score_rows(loaded, rows, evidence=evidence, on_fault=on_fault)
    return [
        {metric.name: by_name.get(metric.name) or Score(row, None, reason="fault")
         for metric in loaded}
        for row, by_name in zip(rows, found, strict=True)
    ]


def numbers(score: Score, name: str, no_claim: NoClaim) -> dict[str, float | None]:
    """What a response adds to each mean of a metric, ``None`` where nothing.

    Keys: the metric's columns; ``coverage`` (1 with a valid question, else 0) and ``fallback``
    (1 where end-to-end NLI scored it) of a metric that asks questions; ``no_claim`` (1 for a
    response that claims nothing) of one that judges claims. The means of the three are the
    shares of :class:`~q2_metric.types.SystemScore`.
    """
    one = entry(name)
    found = {
        column.name: counted(column.of(score), score.reason, no_claim)
        for column in one.columns
    }
    shares: dict[str, bool] = {}
    if one.details == "questions":
        shares["coverage"] = any(isinstance(item, Comparison) for item in score.because)
        shares["fallback"] = score.fallback and found[name] is not None
    if one.neural:
        shares["no_claim"] = score.reason in CLAIMLESS
    tried = score.reason not in NOT_TRIED
    return found | {key: float(value) if tried else None for key, value in shares.items()}


def row_numbers(scores: Mapping[str, Score], no_claim: NoClaim) -> dict[str, float | None]:
    """:func:`numbers` of a response by all its metrics.

    A share that several metrics have is that of the first that scored the response.
    """
    found: dict[str, float | None] = {}
    for name, score in scores.items():
        for key, value in numbers(score, name, no_claim).items():
            if found.get(key) is None:
                found[key] = value
    return found


def against_gold(
    responses: Sequence[str], golds: Sequence[Sequence[str]]
) -> dict[str, float]:
    """``f1`` and ``bleu`` of responses against people's, in [0, 1]; all responses count.

    Args:
        responses: of the system; there is one at least.
        golds: of each, one or several; the best counts for ``f1`` (token F1, a mean), all for
            ``bleu`` (sacrebleu, of the corpus).
    """
    best = [max(token_f1(said, gold) for gold in of_it)
            for said, of_it in zip(responses, golds, strict=True)]
    return {"f1": sum(best) / len(best), "bleu": corpus_bleu(responses, golds)}


def share_names(names: Iterable[str]) -> list[str]:
    """The keys of :func:`numbers` that are shares, for these metrics."""
    nothing = Score(Example("", ""), None)
    found = (key for name in names for key in numbers(nothing, name, "zero"))
    return [key for key in dict.fromkeys(found) if key in SHARES]


@dataclass(frozen=True, slots=True)
class Run:
    """Metrics over rows: the numbers of the system and of each row.

    Args:
        metrics: as they were loaded.
        rows: one for each response.
        scores: by metric name for each row.
        no_claim: how responses that claim nothing count in means.
    """

    metrics: Sequence[Metric]
    rows: Sequence[Example]
    scores: Sequence[Mapping[str, Score]]
    no_claim: NoClaim

    @classmethod
    def over(
        cls,
        metrics: Sequence[Metric],
        rows: Sequence[Example],
        *,
        no_claim: NoClaim,
        evidence: bool = False,
        on_fault: Callable[[int, str], None] | None = None,
    ) -> Run:
        """Scores all rows; arguments as for :func:`score`."""
        scores = score(metrics, rows, evidence=evidence, on_fault=on_fault)
        return cls(metrics, rows, scores, no_claim)

    def column(self, name: str) -> list[float | None]:
        """A number of each row by the name of its column, ``None`` where it has none."""
        metric, column = of_column(name)
        return [column.of(row[metric.name]) for row in self.scores]

    def columns(self) -> list[str]:
        """The names of :meth:`column`, in order."""
        return list(columns(metric.name for metric in self.metrics))

    def n(self) -> int:
        """Responses that count in the mean of the first metric."""
        first = self.metrics[0].name
        return sum(numbers(row[first], first, self.no_claim)[first] is not None
                   for row in self.scores)

    def system(self) -> dict[str, float | None]:
        """Means in [0, 1], and what they rest on.

        Keys: each name of :meth:`columns`; with a metric that asks questions ``coverage``,
        ``no_answer_rate`` and ``fallback``, with one that judges claims ``no_claim``, all as
        in :class:`~q2_metric.types.SystemScore`. ``None`` where there is nothing to average.
        """
        found: dict[str, float | None] = {}
        rates: dict[str, float | None] = {}
        rows = [row_numbers(row, self.no_claim) for row in self.scores]
        for metric in self.metrics:
            one, scores = entry(metric.name), [row[metric.name] for row in self.scores]
            systems = {
                column.name: system_score(
                    column.name, scores, metric.signature, no_claim=self.no_claim, n_bootstrap=0)
                for column in one.columns
            }
            found |= {name: system.value for name, system in systems.items()}
            if one.details == "questions":
                rates["no_answer_rate"] = systems[metric.name].no_answer_rate
        shares = {name: _mean([row.get(name) for row in rows])
                  for name in share_names(metric.name for metric in self.metrics)}
        return found | shares | rates

    def explanations(self) -> list[dict[str, Any]]:
        """What each row's scores rest on, in the form of a row of ``q2 score --out``."""
        names = [metric.name for metric in self.metrics]
        return [
            output_row(i, row, scores, names)
            for i, (row, scores) in enumerate(zip(self.rows, self.scores, strict=True))
        ]


def _mean(values: Iterable[float | None]) -> float | None:
    """Of those that there are."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
