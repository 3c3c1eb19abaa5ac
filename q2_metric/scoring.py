"""Flat keywords in, a flat dictionary of numbers out: what the Hugging Face shells share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from q2_metric.errors import InputError
from q2_metric.metrics import load_metrics, score_rows
from q2_metric.metrics.calibration import Calibration, calibrate
from q2_metric.metrics.registry import METRICS, check_names, columns, entry, of_column
from q2_metric.metrics.system import system_score
from q2_metric.rows.fields import output_row
from q2_metric.rows.read import BadRow
from q2_metric.rows.texts import encodable, is_blank, kind
from q2_metric.types import Example, Metric, Score

NOTHING = "response or knowledge is empty"
"""Why a row has no score."""


def load(
    metrics: Iterable[str] | str, settings: Mapping[str, Any], calibration: Any = None
) -> list[Metric]:
    """The metrics, from the keywords of one flat call.

    Args:
        metrics: names out of ``METRICS``, as a sequence or as "q2,scale".
        settings: ``preset``, and the keywords of :func:`q2_metric.metrics.load_metrics`.
        calibration: a file of ``q2 calibrate`` or a ``Calibration``, or several of them.

    Raises:
        InputError: an unknown metric, keyword, preset or value; a calibration that does not
            fit the metrics.
        MissingExtra, ModelError: as ``load_metrics``.
    """
    names = check_names(metrics)
    if not names:
        raise InputError(f"no metric is named; there are {', '.join(METRICS)}")
    keywords = dict(settings)
    preset = keywords.pop("preset", None) or "bundled"
    loaded = load_metrics(names, preset, **keywords)
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
        InputError: it is neither, or empty.
    """
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        return [check_text(value, where)]
    return [check_text(item, f"{where}[{i}]") for i, item in enumerate(value)]


def example(response: str, knowledge: Sequence[str], history: Sequence[str] = ()) -> Example | None:
    """The example, or ``None`` where response or knowledge holds nothing to read."""
    text = "\n".join(knowledge)
    if is_blank(response) or is_blank(text):
        return None
    return Example(response, text, tuple(turn for turn in history if turn.strip()))


@dataclass(frozen=True, slots=True)
class Run:
    """Metrics over rows: the numbers of the system and of each row.

    Args:
        metrics: as they were loaded.
        rows: one for each response, ``None`` for one that has nothing to score.
        scores: by metric name for each row, empty for a ``None`` row; a metric that could
            not score a row is left out.
    """

    metrics: Sequence[Metric]
    rows: Sequence[Example | None]
    scores: Sequence[Mapping[str, Score]]

    @classmethod
    def over(
        cls,
        metrics: Sequence[Metric],
        rows: Sequence[Example | None],
        *,
        evidence: bool = False,
        on_fault: Callable[[int, str], None] | None = None,
    ) -> Run:
        """Scores all rows, each stage of a metric in batches over all of them.

        ``on_fault`` as for :func:`q2_metric.metrics.score_rows`.
        """
        return cls(metrics, rows, score_rows(metrics, rows, evidence=evidence, on_fault=on_fault))

    def column(self, name: str) -> list[float | None]:
        """A number of each row by the name of its column, ``None`` where it has none."""
        metric, column = of_column(name)
        return [
            column.of(row[metric.name]) if metric.name in row else None for row in self.scores
        ]

    def columns(self) -> list[str]:
        """The names of :meth:`column`, in order."""
        return list(columns(metric.name for metric in self.metrics))

    def system(self) -> dict[str, float | None]:
        """Means over the rows that have a score, in [0, 1], and what they rest on.

        Keys: each name of :meth:`columns`; with a metric that asks questions also
        ``coverage``, the share of responses with a valid question, and ``no_answer_rate``,
        the share of questions that the knowledge does not answer. ``None`` where there is
        nothing to average.
        """
        found: dict[str, float | None] = {}
        for metric in self.metrics:
            scores = [row[metric.name] for row in self.scores if metric.name in row]
            for name in columns([metric.name]):
                whole = system_score(name, scores, metric.signature, n_bootstrap=0)
                found[name] = whole.value
            if entry(metric.name).details == "questions":
                found |= {"coverage": whole.coverage, "no_answer_rate": whole.no_answer_rate}
        return found

    def explanations(self) -> list[dict[str, Any]]:
        """What each row's scores rest on, in the form of a row of ``q2 score --out``."""
        names = [metric.name for metric in self.metrics]
        return [
            output_row(i, row or BadRow(i, None, NOTHING), scores, names)
            for i, (row, scores) in enumerate(zip(self.rows, self.scores, strict=True))
        ]
